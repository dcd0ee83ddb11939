"""From the arguments of a collective to the command: which memory, how many elements, of which type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from hipgraph_cb.collectives.operations import ELEMENT_SIZES, KINDS, PAIRED, REDUCING, Collective
from hipgraph_cb.errors import HipGraphError, InvalidArgumentError
from hipgraph_cb.recording.commands.collectives import Collectives, Operation, check_facts, check_operation
from hipgraph_cb.recording.number_types import NUMBER_TYPES
from hipgraph_cb.recording.validation import check_list, integer, text

if TYPE_CHECKING:
    from hipgraph_cb.recording.commands import Location
    from hipgraph_cb.recording.resource_builder import ResourceBuilder
    from hipgraph_cb.recording.resources import ChannelEntry

_BY_NUMPY_NAME = {row.numpy_name: name for name, row in NUMBER_TYPES.items()} | {"bfloat16": "bf16"}


@dataclass(frozen=True)
class Call:
    """The arguments of one operation; see `CommandBuffer.collective`."""

    op: str
    source: Any = None
    target: Any = None
    type: Any = None
    reduction: str | None = None
    root: int | None = None
    peer: int | None = None
    count: int | None = None


_NAMES = frozenset(each.name for each in fields(Call))


def make_collectives(resources: ResourceBuilder, channel: object, calls: Any, label: str | None) -> Collectives | None:
    """The command of some operations; None where none of them has elements."""
    text(label)
    check_list(calls, "calls", "the arguments of operations")
    entry = resources.channel(channel)
    made = []
    for number, given in enumerate(calls):
        try:
            made.append(_operation(resources, entry, _call(given)))
        except HipGraphError as error:
            if len(calls) > 1:
                error.located(f"operation {number}")
            raise
    operations = tuple(each for each in made if each is not None)
    return Collectives(entry.id, operations, label) if operations else None


def _call(given: object) -> Call:
    names = tuple(given) if isinstance(given, Mapping) else ()
    if not isinstance(given, Mapping) or "op" not in names or not _NAMES.issuperset(names):
        raise InvalidArgumentError(
            "collective_group: not the arguments of an operation",
            found=", ".join(map(repr, names)) if names else type(given).__name__,
            allowed=f"a mapping with 'op' and any of {', '.join(sorted(_NAMES - {'op'}))}",
        )
    return Call(**given)


def _operation(resources: ResourceBuilder, entry: ChannelEntry, call: Call) -> Operation | None:
    """The operation of one call; None where it has no elements."""
    one = _of_one_element(entry, call)
    source = target = None
    if one.sent(entry.rank, entry.ranks):
        source = resources.locate(call.source, "source")
    if one.received(entry.rank, entry.ranks):
        target = resources.locate(call.target, "target")
    elements = _elements(entry, call, one, source, target)
    if elements == 0:
        return None
    what = one._replace(elements=elements)
    operation = Operation(
        *what,
        source=_whole(source, what.sent(entry.rank, entry.ranks)),
        target=_whole(target, what.received(entry.rank, entry.ranks)),
    )
    check_operation(operation, entry.rank, entry.ranks)
    return operation


def _of_one_element(entry: ChannelEntry, call: Call) -> Collective:
    if not isinstance(call.op, str):
        raise InvalidArgumentError(
            "collective: an operation is named by a text", found=repr(call.op)[:80], allowed=", ".join(KINDS)
        )
    is_reduced = call.op in REDUCING
    reduction = "sum" if call.reduction is None and is_reduced else call.reduction or ""
    rank, word = (call.peer, "peer") if call.op in PAIRED else (call.root, "root")
    if call.op in PAIRED and rank is None:
        raise InvalidArgumentError(f"collective: {call.op} needs a peer", allowed=f"a rank below {entry.ranks}")
    if (call.root if call.op in PAIRED else call.peer) is not None:
        raise InvalidArgumentError(
            f"collective: {call.op} has no {'root' if call.op in PAIRED else 'peer'}", next_step=f"give {word} instead"
        )
    root = 0 if rank is None else integer(rank, word)
    one = Collective(call.op, _element_type(call), 1, reduction, root)
    check_facts(one, entry.rank, entry.ranks)
    return one


def _element_type(call: Call) -> str:
    """The name of the type: of one that is given, or of the elements of an array."""
    given = call.type
    for value in (call.source, call.target):
        given = getattr(value, "dtype", None) if given is None else given
    name = given if isinstance(given, str) else getattr(given, "__name__" if isinstance(given, type) else "name", None)
    found = _BY_NUMPY_NAME.get(name, name) if isinstance(name, str) else None
    if found is None or found not in ELEMENT_SIZES:
        raise InvalidArgumentError(
            "collective: the type of an element is not known" if given is None else "collective: no such element type",
            found="no type, and buffers of plain bytes" if given is None else repr(given)[:80],
            allowed=f"{', '.join(ELEMENT_SIZES)}, or a NumPy type such as numpy.float32",
            next_step='give type="f32" or another one, or arrays' if given is None else None,
        )
    return found


def _elements(
    entry: ChannelEntry, call: Call, one: Collective, source: Location | None, target: Location | None
) -> int:
    """How many elements a block has."""
    least = {
        "source": (source, one.sent(entry.rank, entry.ranks)),
        "target": (target, one.received(entry.rank, entry.ranks)),
    }
    if call.count is not None:
        count = integer(call.count, "count")
        for name, (place, size) in least.items():
            if place is not None and place.length is not None and place.length < count * size:
                raise InvalidArgumentError(
                    f"collective: the {name} is too small",
                    found=f"{place.length} bytes",
                    allowed=f"{count * size} bytes or more, for {one._replace(elements=count)}",
                )
        return count
    lengths = {name: (place.length, size) for name, (place, size) in least.items() if place is not None}
    counts = {length // size if length % size == 0 else None for length, size in lengths.values() if length is not None}
    if len(counts) != 1 or None in counts:
        shown = ", ".join(f"{name} {'open' if length is None else length}" for name, (length, _) in lengths.items())
        raise InvalidArgumentError(
            f"collective: how many elements {one.kind} is of cannot be told",
            found=f"bytes: {shown}" if shown else "no memory: this rank has no part in it",
            allowed=", ".join(f"{name} of a multiple of {size} bytes" for name, (_, size) in lengths.items())
            or "count=...",
            next_step="give count=..., or memory of fitting sizes",
        )
    return counts.pop() or 0


def _whole(place: Location | None, length: int) -> Location | None:
    return None if place is None else place._replace(length=length)
