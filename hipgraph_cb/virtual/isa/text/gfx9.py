"""Text of the instructions of gfx90a and gfx950."""

from __future__ import annotations

from collections.abc import Mapping

from hipgraph_cb.virtual.isa.core.instruction import Instruction
from hipgraph_cb.virtual.isa.targets.gfx90a import tables_generated as gfx90a
from hipgraph_cb.virtual.isa.targets.gfx950 import tables_generated as gfx950
from hipgraph_cb.virtual.isa.text import forms
from hipgraph_cb.virtual.isa.text.names import Names, by_mnemonic

_WAVE = 64
_SPECIAL = {
    102: "flat_scratch_lo",
    103: "flat_scratch_hi",
    104: "xnack_mask_lo",
    105: "xnack_mask_hi",
    106: "vcc_lo",
    107: "vcc_hi",
    124: "m0",
    125: "null",
    126: "exec_lo",
    127: "exec_hi",
    230: "src_flat_scratch_base_lo",
    231: "src_flat_scratch_base_hi",
    235: "src_shared_base",
    236: "src_shared_limit",
    237: "src_private_base",
    238: "src_private_limit",
    239: "src_pops_exiting_wave_id",
    248: "0.15915494",
    251: "src_vccz",
    252: "src_execz",
    253: "src_scc",
    254: "src_lds_direct",
}


def _names(
    tables: Mapping[str, Mapping[int, str]], halves: Mapping[str, tuple[str, ...]], cache: tuple[str, ...]
) -> Names:
    return Names(
        special=_SPECIAL,
        pairs={102: "flat_scratch", 104: "xnack_mask", 106: "vcc", 126: "exec"},
        first_trap=108,
        tables=tables,
        halves=by_mnemonic(halves),
        cache=cache,
        returns=cache[0],
        counters={"vmcnt": ((0, 4), (14, 2)), "expcnt": ((4, 3),), "lgkmcnt": ((8, 4),)},
        messages_have_operations=True,
        row_shared="row_newbcast",
        fetches_inactive=False,
    )


_GFX90A = _names(gfx90a.NAMES, gfx90a.HALVES, ("glc", "slc", "scc"))
_GFX950 = _names(gfx950.NAMES, gfx950.HALVES, ("sc0", "nt", "sc1"))


def text_of_gfx90a(instruction: Instruction, wave_size: int = _WAVE) -> str:
    """The instruction as text, such as "v_add_f32 v0, s2, v1"."""
    return forms.text_of(instruction, _GFX90A, wave_size)


def text_of_gfx950(instruction: Instruction, wave_size: int = _WAVE) -> str:
    """The instruction as text, such as "v_add_f32 v0, s2, v1"."""
    return forms.text_of(instruction, _GFX950, wave_size)
