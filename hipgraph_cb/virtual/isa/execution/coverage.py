"""Which instructions of a target the virtual GPU executes, and which it leaves out on purpose.

It is compared with the list of every opcode that there is (`Target.opcodes`).
"""

from __future__ import annotations

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.virtual.isa.core.fidelity import is_approximate
from hipgraph_cb.virtual.isa.core.registry import implemented
from hipgraph_cb.virtual.isa.core.target import Target
from hipgraph_cb.virtual.isa.execution import instruction_set as _instruction_set  # registers every meaning
from hipgraph_cb.virtual.isa.targets.families import PROCESSORS, target_of

__all__ = ["DONE", "coverage", "known_target"]

DONE, APPROXIMATE, EXCLUDED, ABSENT = "done", "approximate", "excluded", "absent"
_REGISTERED = _instruction_set.MODULES


def known_target(processor: str) -> Target:
    """The target of a processor.

    Raises:
        InvalidArgumentError: there are no tables for it.
    """
    target = target_of(processor)
    if target is None:
        raise InvalidArgumentError(
            "the virtual GPU has no instruction table for this target",
            found=repr(processor),
            allowed=", ".join(PROCESSORS),
        )
    return target


def coverage(processor: str) -> dict[str, dict[str, str]]:
    """Format -> mnemonic -> "done", "approximate", "excluded" or "absent".

    Raises:
        InvalidArgumentError: there is no table for the processor.
    """
    target = known_target(processor)
    known = implemented()
    excluded = frozenset(mnemonic for group in target.exclusions.values() for mnemonic in group)
    return {
        name: {mnemonic: _state(mnemonic, known, excluded) for mnemonic in sorted(set(opcodes.values()))}
        for name, opcodes in target.opcodes.items()
    }


def _state(mnemonic: str, known: frozenset[str], excluded: frozenset[str]) -> str:
    if mnemonic not in known:
        return EXCLUDED if mnemonic in excluded else ABSENT
    return APPROXIMATE if is_approximate(mnemonic) else DONE
