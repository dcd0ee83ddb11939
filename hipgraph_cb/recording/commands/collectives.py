"""Collectives: what one rank does of operations between several, each of which has a device of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hipgraph_cb.collectives.operations import ELEMENT_SIZES, KINDS, PAIRED, REDUCING, REDUCTIONS, ROOTED, Collective
from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.recording.commands.fields import CHANNEL, LABEL, OPERATIONS
from hipgraph_cb.recording.commands.places import Access, Location, Range, SlotRange, same_type_only
from hipgraph_cb.recording.commands.types import CommandType, register

if TYPE_CHECKING:
    from hipgraph_cb.recording.accesses import AccessReader
    from hipgraph_cb.recording.bindings import BoundMemory
    from hipgraph_cb.recording.checking import CommandChecker
    from hipgraph_cb.recording.recording import Recording
    from hipgraph_cb.recording.validation import OffsetAndLength


@same_type_only
class Operation(NamedTuple):
    """One operation, as one rank has it; the first fields are those of `collectives.operations.Collective`.

    Attributes:
        source, target: what is read and written of the rank's memory; None where the rank sends or receives nothing.
    """

    kind: str
    type: str
    elements: int
    reduction: str
    root: int
    source: Location | None
    target: Location | None

    @property
    def collective(self) -> Collective:
        """What all ranks must agree on."""
        return Collective(*self[:5])


@same_type_only
class Collectives(NamedTuple):
    """A rank's part of operations that take place together, over the channel with this resource id."""

    channel: int
    operations: tuple[Operation, ...]
    label: str | None = None


def check_operation(operation: Operation, rank: int, ranks: int) -> None:
    """Refuse what is no operation of this rank.

    Raises:
        InvalidArgumentError: it says why.
    """
    check_facts(operation.collective, rank, ranks)
    what = operation.collective
    for name, place, size in (
        ("source", operation.source, what.sent(rank, ranks)),
        ("target", operation.target, what.received(rank, ranks)),
    ):
        length = 0 if place is None else place.length
        if length != size or (place is None) != (size == 0):
            raise InvalidArgumentError(
                f"collective: the {name} of {what} is of another size",
                found="none" if place is None else f"{length} bytes",
                allowed=f"{size} bytes on rank {rank} of {ranks}" if size else "none: this rank has no part in it",
            )
        if place is not None and place.offset % ELEMENT_SIZES[what.type]:
            raise InvalidArgumentError(
                f"collective: the {name} of {what} is misaligned",
                found=f"offset {place.offset}",
                allowed=f"a multiple of {ELEMENT_SIZES[what.type]}, the size of an element",
            )
    source, target = operation.source, operation.target
    is_known = isinstance(source, Range) and isinstance(target, Range)
    if source is not None and target is not None and is_known and source[0] == target[0]:
        check_in_place(operation, rank, source, target)


def check_facts(what: Collective, rank: int, ranks: int) -> None:
    """Refuse what no rank could have called. Raises InvalidArgumentError."""
    allowed = {
        "operation": (what.kind, KINDS),
        "element type": (what.type, tuple(ELEMENT_SIZES)),
        "reduction": (what.reduction, REDUCTIONS if what.kind in REDUCING else ("",)),
    }
    for word, (value, names) in allowed.items():
        if value not in names:
            raise InvalidArgumentError(
                f"collective: no such {word}" if names != ("",) else f"collective: {what.kind} reduces nothing",
                found=repr(value)[:80],
                allowed=", ".join(names) or "reduction=None",
            )
    is_pair, is_rooted = what.kind in PAIRED, what.kind in ROOTED
    if what.root and not (is_pair or is_rooted):
        raise InvalidArgumentError(f"collective: {what.kind} has no root", found=f"rank {what.root}")
    if not 0 <= what.root < ranks or (is_pair and what.root == rank):
        raise InvalidArgumentError(
            f"collective: bad {'peer' if is_pair else 'root'}",
            found=f"rank {what.root}",
            allowed=f"a rank below {ranks}" + (f" other than {rank}" if is_pair else ""),
        )
    if what.elements < 1:
        raise InvalidArgumentError("an operation of no elements is not recorded", found=str(what.elements))


def check_in_place(operation: Operation, rank: int, source: OffsetAndLength, target: OffsetAndLength) -> None:
    """Refuse two ends within one memory that share bytes, unless the operation can be in place just so."""
    if source.length is None or target.length is None:
        return
    if source.offset >= target.offset + target.length or target.offset >= source.offset + source.length:
        return
    inner = operation.collective.in_place_offset(rank)
    larger, smaller = (source, target) if source.length > target.length else (target, source)
    if inner is None or smaller.offset != larger.offset + inner:
        raise InvalidArgumentError(
            f"collective: source and target of {operation.collective} overlap",
            found=f"bytes {source.offset} to {source.offset + source.length} and {target.offset} to "
            f"{target.offset + target.length} of one memory",
            allowed="memory apart"
            if inner is None
            else f"memory apart, or in place: the smaller one {inner} bytes behind the start of the larger one",
        )


def _accesses(command: Collectives, _reader: AccessReader) -> list[Access]:
    read = [Access(each.source, True, False) for each in command.operations if each.source is not None]
    return read + [Access(each.target, False, True) for each in command.operations if each.target is not None]


def _check(command: Collectives, checker: CommandChecker) -> None:
    entry = checker.channel(command.channel)
    if not command.operations:
        raise InvalidArgumentError("collectives without an operation", found="an empty list")
    for operation in command.operations:
        check_operation(operation, entry.rank, entry.ranks)
    for place in OPERATIONS.places(command.operations):
        checker.check_place(place)


def _check_bound(command: Collectives, memory: BoundMemory) -> None:
    rank = memory.recording.resources.channels[command.channel].rank
    for operation in command.operations:
        source, target = operation.source, operation.target
        if (
            source is not None
            and target is not None
            and (isinstance(source, SlotRange) or isinstance(target, SlotRange))
        ):
            memory.check_apart(
                memory.at(source),
                memory.at(target),
                lambda one, other, _name, each=operation: check_in_place(each, rank, one, other),  # type: ignore[misc]
            )


def _alignment(command: Collectives, place: Location) -> int:
    return max(ELEMENT_SIZES[each.type] for each in command.operations if place in (each.source, each.target))


def _details(command: Collectives, recording: Recording) -> list[str]:
    lines = [recording.resources.channels[command.channel].name]
    for operation in command.operations:
        lines.append(str(operation.collective))
        for word, place in (("from", operation.source), ("to", operation.target)):
            if place is not None:
                lines.append(f"{word} {recording.describe_place(place)}")
    return lines


COLLECTIVES = register(
    CommandType(
        Collectives,
        "collective",
        "collective",
        {"channel": CHANNEL, "operations": OPERATIONS, "label": LABEL},
        accesses=_accesses,
        check=_check,
        alignment=_alignment,
        check_bound=_check_bound,
        compares_places=True,
        details=_details,
    )
)
