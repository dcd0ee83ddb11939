"""Which instructions of a target the virtual GPU executes, which it leaves out on purpose, and which it only reads.

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

DONE, APPROXIMATE, EXCLUDED, ABSENT, READ = "done", "approximate", "excluded", "absent", "only read"
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
    """Format -> mnemonic -> "done", "approximate", "excluded" or "absent"; "only read" where nothing is executed.

    Raises:
        InvalidArgumentError: there is no table for the processor.
    """
    target = known_target(processor)
    if not target.executes:
        return {name: dict.fromkeys(sorted(opcodes.values()), READ) for name, opcodes in target.opcodes.items()}
    known = implemented()
    excluded = frozenset(mnemonic for group in target.exclusions.values() for mnemonic in group)

    def states(mnemonics: set[str]) -> dict[str, str]:
        return {name: _state(name, target.operation_name(name), known, excluded) for name in sorted(mnemonics)}

    return {name: states(set(opcodes.values())) for name, opcodes in target.opcodes.items()}


def _state(mnemonic: str, operation: str, known: frozenset[str], excluded: frozenset[str]) -> str:
    if mnemonic in excluded:
        return EXCLUDED
    if operation not in known:
        return ABSENT
    return APPROXIMATE if is_approximate(operation) else DONE
