"""Recordings within recordings: one command of the outer one runs all commands of the nested one.

The nested recording is taken over as a copy whose commands use the ids of the outer resource table, so that one table
holds everything that has to be there, and what both touch has one id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hipgraph_cb.errors import (
    HipGraphError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    ResourceExhaustedError,
)
from hipgraph_cb.recording.binding_table import BoundRange
from hipgraph_cb.recording.bindings import check_bound, check_complete, check_number, entries_by_index
from hipgraph_cb.recording.commands import Constant, ExecuteCommands, Place, Range, SlotRange
from hipgraph_cb.recording.number_types import bits_of
from hipgraph_cb.recording.recording import Recording
from hipgraph_cb.recording.resource_builder import ResourceBuilder, is_transient
from hipgraph_cb.recording.resources import Slot
from hipgraph_cb.recording.validation import check_list, text

if TYPE_CHECKING:
    from hipgraph_cb.code_object.limits import DeviceLimits

DEEPEST_NESTING = 16
"""Recordings within recordings: the drivers below recurse, and nobody has come near."""


def make_execute(
    resources: ResourceBuilder, recording: object, bindings: Any, label: str | None
) -> ExecuteCommands | None:
    """See `CommandBuffer.execute_commands`."""
    text(label)
    if not isinstance(recording, Recording):
        raise InvalidArgumentError(
            "execute_commands: not a recording",
            found=type(recording).__name__,
            allowed="a Recording, or a command buffer that has ended",
        )
    if not len(recording):
        return None
    if recording.depth >= DEEPEST_NESTING:
        raise ResourceExhaustedError(
            "execute_commands: recordings are nested too deep",
            found=f"{recording.depth + 1} levels",
            allowed=f"{DEEPEST_NESTING} levels",
        )
    entry = resources.recording(recording, lambda nested: _adopt(resources, nested))
    return ExecuteCommands(entry.id, _bind(resources, entry.recording, bindings), label)


def _bind(resources: ResourceBuilder, nested: Recording, bindings: Any) -> tuple[Place | None, ...]:
    """The places and numbers in the slots of the nested recording, checked as far as they are known."""
    uses = nested.slots
    if isinstance(bindings, Mapping):
        found = entries_by_index(nested, bindings)
        check_complete(nested, found)
        given: Sequence[object] = [found.get(slot) for slot in range(len(uses))]
    else:
        if bindings is not None:
            check_list(bindings, "bindings", "buffers, views and slots")
        given = () if bindings is None else bindings
    if len(given) < len(uses):
        raise (OutOfRangeError if given else InvalidArgumentError)(
            "execute_commands: the nested recording uses more slots than are bound",
            found=f"{len(given)} bindings",
            allowed=f"{len(uses)} or more",
            next_step="pass bindings=[...], with buffers, views or slots of this command buffer",
        )
    places = [
        _place_in(resources, nested, slot, value) if use.commands else None
        for slot, (use, value) in enumerate(zip(uses, given, strict=False))
    ]
    if resources.validate:
        check_places(nested, places, resources.entries, resources.limits)
    return tuple(places)


def _place_in(resources: ResourceBuilder, nested: Recording, slot: int, value: object) -> Place:
    """What a slot of the nested recording is given."""
    use = nested.slots[slot]
    if use.type is None:
        return resources.locate(value, f"the binding of slot {slot}")
    if isinstance(value, Slot) and value.type == use.type:
        return resources.number(value)
    found = f"a slot of type {value.type or 'memory'}" if isinstance(value, Slot) else None
    try:
        return Constant(bits_of(value, use.type), use.type)
    except HipGraphError as error:
        error.found = found or error.found
        raise error.located(f"the binding of {nested.describe_slot(slot)}, as {use.role}") from None


def check_places(nested: Recording, places: Sequence[Place | None], entries: Any, limits: DeviceLimits | None) -> None:
    """Refuse places and numbers that cannot be in the slots of a nested recording, as far as they are known.

    Args:
        entries: the resources of the outer recording, by id; the nested one has the same entries.
        limits: what the device can run, where it is known.
    """
    known = {
        slot: BoundRange(entries[place.resource], place.offset, place.length)
        for slot, place in enumerate(places)
        if isinstance(place, Range)
    }
    check_bound(nested, known, nested.resources.buffers)
    for slot, place in enumerate(places):
        if isinstance(place, SlotRange):
            _check_slot(nested, slot, place)
        elif isinstance(place, Constant):
            check_number(nested, nested.slots[slot], place, limits)


def _check_slot(nested: Recording, slot: int, place: SlotRange) -> None:
    """What is known now of a slot that is bound to a slot: its length, if it states one, and its offset."""
    use = nested.slots[slot]
    if place.length is not None and place.length < use.end:
        raise OutOfRangeError(
            f"the binding of slot {slot} of the nested recording is too small",
            found=f"{place.length} bytes of slot {place.slot}",
            allowed=f"{use.end} bytes or more, the end of the largest range used",
        )
    if place.offset % use.alignment:
        raise InvalidArgumentError(
            f"the binding of slot {slot} of the nested recording is misaligned",
            found=f"offset {place.offset} of slot {place.slot}",
            allowed=f"a multiple of {use.alignment}",
        )


def _adopt(resources: ResourceBuilder, nested: Recording) -> Recording:
    """The nested recording with ids of the outer table, which gets an entry for everything that it uses."""
    table = nested.resources
    ids: dict[int, int] = {}
    for key in sorted({*table.buffers, *table.executables, *table.events, *table.functions, *table.channels}):
        entry = table.buffers.get(key)
        if entry is not None and is_transient(entry):
            place = resources.locate(resources.transient(entry.size, entry.label, entry.device), "a transient buffer")
            ids[key] = place[0]
            continue
        live = table.bound.get(key)
        if live is None:
            raise NotFoundError(
                f"execute_commands: nothing is given for resource {key} of the nested recording",
                found="a recording without live objects, as one that was loaded from a file",
                next_step="record it with a command buffer of this device",
            )
        ids[key] = _collect(resources, key, live, nested)
    return _with_ids(resources, nested, ids)


def _collect(resources: ResourceBuilder, key: int, live: Any, nested: Recording) -> int:
    try:
        if key in nested.resources.buffers:
            place = resources.locate(live, "a buffer")
            return place[0]
        if key in nested.resources.executables:
            return resources.executable(live)
        if key in nested.resources.functions:
            return resources.function(live)
        if key in nested.resources.channels:
            return resources.channel(live).id
        return resources.event(live)
    except HipGraphError as error:
        name = "the nested recording" if nested.label is None else f"the nested recording {nested.label!r}"
        raise error.located(f"resource {key} of {name}") from None


def _with_ids(resources: ResourceBuilder, nested: Recording, ids: dict[int, int]) -> Recording:
    ids = dict(ids)
    for key, entry in nested.resources.recordings.items():
        inner = entry.recording
        ids[key] = resources.recording(inner, lambda each: _with_ids(resources, each, ids)).id
    return Recording(
        nested.table.with_ids(ids),
        layer_starts=nested.layer_starts,
        resources=resources.part(sorted(set(ids.values()))),
        binding_capacity=nested.binding_capacity,
        label=nested.label,
        groups=nested.groups,
        dependencies=nested.dependencies,
        slot_names=nested.slot_names,
        one_shot=nested.one_shot,
        categories=nested.categories,
    )
