"""Which instructions of a target the virtual GPU executes, and which it leaves out on purpose.

It is compared with the list in the decoder's tables: every opcode of gfx942 that LLVM 19 knows (its disassembler
was given every opcode of every format).
"""

from __future__ import annotations

from types import MappingProxyType

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.virtual.isa.core.fidelity import is_approximate
from hipgraph_cb.virtual.isa.core.registry import implemented
from hipgraph_cb.virtual.isa.execution import instruction_set as _instruction_set  # registers every meaning
from hipgraph_cb.virtual.isa.targets.gfx9.decode import TARGETS
from hipgraph_cb.virtual.isa.targets.gfx9.tables_generated import MNEMONICS

__all__ = ["DONE", "EXCLUSIONS", "SOURCE", "coverage"]

DONE, APPROXIMATE, EXCLUDED, ABSENT = "done", "approximate", "excluded", "absent"
SOURCE = "every opcode of gfx942 that LLVM 19's disassembler knows; CDNA3 ISA document for what they do"
# reason -> the instructions that are left out for it
EXCLUSIONS = MappingProxyType(
    {
        "not on gfx942": ("image (MIMG)", "export (EXP)", "interpolation (VINTRP)"),
        "graphics": ("s_endpgm_ordered_ps_done", "s_sendmsghalt", "s_setkill", "v_screen_partition_4se_b32"),
        "global wave sync, which the driver has to allot": (
            "ds_gws_barrier",
            "ds_gws_init",
            "ds_gws_sema_br",
            "ds_gws_sema_p",
            "ds_gws_sema_release_all",
            "ds_gws_sema_v",
        ),
        "there is no trap handler to return from": ("s_rfe_b64", "s_rfe_restore_b64"),
        "forks that compilers for compute do not emit": (
            "s_cbranch_g_fork",
            "s_cbranch_i_fork",
            "s_cbranch_join",
        ),
        "private memory through scalar registers, whose addresses are undocumented with architected scratch": (
            "s_scratch_load_dword",
            "s_scratch_load_dwordx2",
            "s_scratch_load_dwordx4",
            "s_scratch_store_dword",
            "s_scratch_store_dwordx2",
            "s_scratch_store_dwordx4",
        ),
    }
)
_EXCLUDED = frozenset(mnemonic for group in EXCLUSIONS.values() for mnemonic in group)
_REGISTERED = _instruction_set.MODULES


def coverage(target: str) -> dict[str, dict[str, str]]:
    """Format -> mnemonic -> "done", "approximate", "excluded" or "absent".

    Raises:
        InvalidArgumentError: there is no table for `target`.
    """
    if target not in TARGETS:
        raise InvalidArgumentError(
            "the virtual GPU has no instruction table for this target",
            found=repr(target),
            allowed=", ".join(sorted(TARGETS)),
        )
    known = implemented()
    return {
        name: {mnemonic: _state(mnemonic, known) for mnemonic in sorted(set(opcodes.values()))}
        for name, opcodes in MNEMONICS.items()
    }


def _state(mnemonic: str, known: frozenset[str]) -> str:
    if mnemonic not in known:
        return EXCLUDED if mnemonic in _EXCLUDED else ABSENT
    return APPROXIMATE if is_approximate(mnemonic) else DONE
