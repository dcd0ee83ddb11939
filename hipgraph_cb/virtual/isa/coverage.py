"""Which instructions of a target the virtual GPU executes.

The list it is held against is that of the decoder's tables: every opcode of gfx942, which has no image and no graphics
formats.
"""

from __future__ import annotations

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.virtual.isa import instruction_set as _instruction_set  # registers every meaning
from hipgraph_cb.virtual.isa.decode import TARGETS
from hipgraph_cb.virtual.isa.fidelity import is_approximate
from hipgraph_cb.virtual.isa.gfx9_tables_generated import MNEMONICS
from hipgraph_cb.virtual.isa.registry import implemented

__all__ = ["DONE", "coverage"]

DONE, APPROXIMATE, ABSENT = "done", "approximate", "absent"
_REGISTERED = _instruction_set.MODULES


def coverage(target: str) -> dict[str, dict[str, str]]:
    """Format -> mnemonic -> "done", "approximate" or "absent".

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
        return ABSENT
    return APPROXIMATE if is_approximate(mnemonic) else DONE
