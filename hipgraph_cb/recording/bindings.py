"""Whether a binding table has what the commands ask of each slot.

A replay costs what its table and the copies and fills through slots cost, not what the recording is long.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hipgraph_cb.closest import did_you_mean
from hipgraph_cb.errors import HipGraphError, InvalidArgumentError, NotFoundError, OutOfRangeError
from hipgraph_cb.recording.aliasing import check_slots_apart
from hipgraph_cb.recording.binding_table import Bound, BoundRange, Table, memory_in
from hipgraph_cb.recording.commands import Constant, ExecuteCommands, Location, Range, SlotRange
from hipgraph_cb.recording.commands.types import type_of, used_places
from hipgraph_cb.recording.number_types import bits_of, value_of
from hipgraph_cb.recording.resource_builder import imported
from hipgraph_cb.recording.shared_memory import is_imported, origins_of
from hipgraph_cb.recording.slot_uses import UNUSED, SlotUse
from hipgraph_cb.recording.validation import (
    OffsetAndLength,
    check_apart,
    check_list,
    check_open,
    check_owner,
    integer,
)
from hipgraph_cb.recording.workgroups import check_count, check_lds_amount
from hipgraph_cb.visible import visible

if TYPE_CHECKING:
    from hipgraph_cb.code_object.limits import DeviceLimits
    from hipgraph_cb.recording.recording import Recording


def resolve(
    recording: Recording,
    bindings: Sequence[Any] | Mapping[int | str, Any] | None,
    *,
    objects: Mapping[int, object] | None = None,
    owner: object = None,
    before: Table | None = None,
) -> dict[int, Bound]:
    """Check a binding table against a recording.

    Args:
        bindings: a buffer, a view, a number or None per slot. Entries beyond the last used slot are ignored, and so is
            the whole table when no command uses a slot. Or a mapping from slots, by index or name; what it leaves out
            stays as it was before.
        objects: what has the resource ids; None takes those the recording was made with.
        owner: the device that the buffers must belong to; None does not ask.
        before: the table of the replay before.

    Returns:
        For every slot that a command uses, what the table holds there.

    Raises:
        InvalidArgumentError: no table, or nothing in a used slot, something that is no memory or no number where one
            belongs, a buffer of another device, a misaligned binding, or a copy whose two ends differ in length or
            overlap.
        OutOfRangeError: a table that is too short, a binding smaller than what the commands use, or a number that its
            type cannot hold or the device cannot launch.
        NotFoundError: a slot that no command uses, in a mapping.
        FailedPreconditionError: a closed buffer.
    """
    uses = recording.slots
    if not uses:
        return {}
    if isinstance(bindings, Mapping):
        given = entries_by_index(recording, bindings)
        bound = dict(before or {})
        check_complete(recording, {*bound, *given})
    else:
        _check_table(bindings, len(uses))
        given = {
            slot: entry for slot, (use, entry) in enumerate(zip(uses, bindings or (), strict=False)) if use.commands
        }
        bound = {}
    limits = getattr(owner, "limits", None)
    for slot, entry in given.items():
        bound[slot] = _bind(recording, slot, uses[slot], entry, owner, limits)
    if any(isinstance(bound[slot], BoundRange) for slot in given):
        check_late(recording, memory_in(bound), recording.resources.bound if objects is None else objects)
    return bound


def entries_by_index(recording: Recording, bindings: Mapping[int | str, Any]) -> dict[int, Any]:
    """The entries of a mapping by the index of the slot.

    Raises:
        NotFoundError: a slot that no command uses.
        InvalidArgumentError: a key that is neither an index nor a name, or one slot twice.
    """
    names = {name: index for index, name in recording.slot_names.items()}
    uses, given = recording.slots, dict[int, Any]()
    for key, entry in bindings.items():
        index = names.get(key) if isinstance(key, str) else integer(key, "slot")
        if index is None or index >= len(uses) or not uses[index].commands:
            raise NotFoundError(
                "no command uses this slot of the binding table",
                found=f"`{visible(key)}`" if isinstance(key, str) else str(key),
                allowed=", ".join(_listed_slots(recording)),
                next_step=did_you_mean(key, names) if isinstance(key, str) else None,
            )
        if index in given:
            raise InvalidArgumentError("a slot is bound twice", found=f"{recording.describe_slot(index)}, by two keys")
        given[index] = entry
    return given


def _listed_slots(recording: Recording) -> Iterator[str]:
    for slot, use in enumerate(recording.slots):
        if use.commands:
            yield f"{recording.describe_slot(slot)}: {use.type or 'memory'}"


def check_complete(recording: Recording, known: Collection[int]) -> None:
    """Refuse a table in which a slot is missing."""
    for slot, use in enumerate(recording.slots):
        if use.commands and slot not in known:
            raise InvalidArgumentError(
                f"nothing is bound to {recording.describe_slot(slot)}",
                where=_first_use(recording, slot, use),
                allowed=f"a number of type {use.type}" if use.type else "a Buffer or a BufferView",
                next_step="a replay gives every slot once; those after it may give some",
            )


def _first_use(recording: Recording, slot: int, use: SlotUse) -> str:
    role = f", as {use.role}" if use.role else ""
    return f"{recording.describe_slot(slot)}, first used by {recording.where(use.commands[0])}{role}"


def still_fitting(
    recording: Recording, table: Table, objects: Mapping[int, object], limits: DeviceLimits | None
) -> Table:
    """What a table of a recording before has for the slots of this one.

    Raises:
        InvalidArgumentError: a copy whose two ends differ in length or overlap, or memory that is to lie apart.
    """
    kept = {}
    for slot, bound in table.items():
        use = recording.slots[slot] if slot < len(recording.slots) else UNUSED
        if use.commands and _is_fitting(recording, slot, use, bound, limits):
            kept[slot] = bound
    check_late(recording, memory_in(kept), objects)
    return kept


def _is_fitting(recording: Recording, slot: int, use: SlotUse, bound: Bound, limits: DeviceLimits | None) -> bool:
    if (use.type is None) != isinstance(bound, BoundRange):
        return False
    try:
        if isinstance(bound, Constant):
            check_number(recording, use, bound, limits)
        else:
            _check_use(slot, use, bound)
    except (InvalidArgumentError, OutOfRangeError):
        return False
    return True


def check_number(recording: Recording, use: SlotUse, constant: Constant, limits: DeviceLimits | None) -> None:
    """Check the number that a slot is given against every command that uses it.

    Raises:
        InvalidArgumentError: a number of another type.
        OutOfRangeError: a launch shape that the device cannot run.
    """
    if constant.type != use.type:
        raise InvalidArgumentError(
            "a number of another type than the slot's", found=constant.type, allowed=use.type or "memory"
        )
    number = value_of(*constant)
    for limited, index in use.limits:
        try:
            if limited.limit == "lds":
                check_lds_amount(limited.kernel, limited.weight, int(number), limits)
            else:
                check_count(limited.role, int(number), limited.weight, limits)
        except HipGraphError as error:
            raise error.located(f"{recording.where(index)}, {limited.role}") from None


def check_bound(recording: Recording, bound: Mapping[int, BoundRange], objects: Mapping[int, object]) -> None:
    """Check what is known of a table against a recording; slots that are not in `bound` are left for later.

    Raises what `resolve` raises.
    """
    for slot, use in enumerate(recording.slots):
        if slot in bound:
            try:
                _check_use(slot, use, bound[slot])
            except HipGraphError as error:
                raise error.located(_first_use(recording, slot, use)) from None
    check_late(recording, bound, objects)


def check_late(recording: Recording, bound: Mapping[int, BoundRange], objects: Mapping[int, object]) -> None:
    """The rules that wait for the bindings, for commands whose slots are all known."""
    if recording._needs_slots_apart:
        check_slots_apart(recording, bound, objects)
    memory = BoundMemory(recording, objects, bound)
    for index in sorted({index for use in recording.slots for index in use.late}):
        command = recording[index]
        if any(isinstance(place, SlotRange) and place.slot not in bound for place in used_places(command)):
            continue
        check = type_of(command).check_bound
        try:
            if check is not None:
                check(command, memory)
        except HipGraphError as error:
            raise error.located(recording.where(index)) from None


def _check_table(bindings: Sequence[Any] | None, used: int) -> None:
    if bindings is not None:
        check_list(bindings, "the binding table", "buffers and views")
    if not bindings:
        raise InvalidArgumentError(
            "the recording uses slots and no binding table was given",
            found="no bindings",
            allowed=f"{used} {'entry' if used == 1 else 'entries'} or more",
            next_step="pass replay(bindings=[...])",
        )
    if len(bindings) < used:
        raise OutOfRangeError(
            "the binding table is too short", found=f"{len(bindings)} entries", allowed=f"{used} entries or more"
        )


def _bind(
    recording: Recording, slot: int, use: SlotUse, entry: Any, owner: object, limits: DeviceLimits | None
) -> Bound:
    try:
        if use.type is not None:
            number = Constant(bits_of(entry, use.type), use.type)
            check_number(recording, use, number, limits)
            return number
        bound = _as_range(slot, entry, owner)
        _check_use(slot, use, bound)
    except HipGraphError as error:
        raise error.located(_first_use(recording, slot, use)) from None
    return bound


def _as_range(slot: int, entry: Any, owner: object) -> BoundRange:
    given = entry
    if not hasattr(entry, "buffer"):
        entry = imported(entry, owner)
    try:
        buffer, offset, length = entry.buffer, entry.offset, entry.length
    except AttributeError:
        raise InvalidArgumentError(
            f"slot {slot} of the binding table holds no device memory",
            found="None" if given is None else type(given).__name__,
            allowed="a Buffer or a BufferView",
        ) from None
    name = f"the buffer in slot {slot}"
    if getattr(buffer, "is_transient", False):
        raise InvalidArgumentError(
            f"slot {slot} of the binding table holds a transient buffer",
            found=repr(buffer),
            allowed="a Buffer or a BufferView",
            next_step="give it to a command of the command buffer that made it",
        )
    check_open("buffer", name, buffer)
    if owner is not None:
        check_owner("buffer", name, buffer, owner)
    bound = BoundRange(buffer, integer(offset, f"offset of {name}"), integer(length, f"length of {name}"))
    if bound.offset + bound.length > buffer.size:
        raise OutOfRangeError(
            f"the view in slot {slot} reaches past the end of its buffer",
            found=f"offset {bound.offset} + length {bound.length} = {bound.offset + bound.length}",
            allowed=f"offset + length <= {buffer.size}",
        )
    return bound


def _check_use(slot: int, use: SlotUse, bound: BoundRange) -> None:
    if bound.length < use.end:
        raise OutOfRangeError(
            f"the binding in slot {slot} is too small",
            found=f"{bound.length} bytes",
            allowed=f"{use.end} bytes or more, the end of the largest range used",
        )
    if bound.offset % use.alignment:
        raise InvalidArgumentError(
            f"the binding in slot {slot} is misaligned",
            found=f"offset {bound.offset}",
            allowed=f"a multiple of {use.alignment}, for the fills that use it",
        )


Comparison = Callable[[OffsetAndLength, OffsetAndLength, str], None]
"""Refuses two places of one memory, which it gets the name of."""


class BoundMemory(NamedTuple):
    """Where the bytes of commands are once the table is known."""

    recording: Recording
    objects: Mapping[int, object]
    bound: Mapping[int, BoundRange]

    def at(self, place: Location) -> BoundRange:
        """The bytes of a place."""
        if isinstance(place, Range):
            # Without a live object the id is its own memory: it is the same memory as no bound buffer.
            return BoundRange(self.objects.get(place.resource, place), place.offset, place.length)
        return self.bound[place.slot].part(place)

    def check_apart(self, source: BoundRange, target: BoundRange, check: Comparison = check_apart) -> None:
        """Refuse a copy between bytes that are the same; `check` compares places of one memory."""
        if source.buffer is target.buffer:
            check(source, target, "one buffer")
        elif is_imported(source.buffer) or is_imported(target.buffer):
            origins = origins_of([source.buffer, target.buffer])
            source, target = (
                each._replace(offset=each.offset + origins[id(each.buffer)][1]) for each in (source, target)
            )
            check(source, target, "one memory")

    def check_nested(self, command: ExecuteCommands) -> None:
        """The same for the commands of a nested recording."""
        nested = self.recording.resources.recordings[command.recording].recording
        places = ((slot, place) for slot, place in enumerate(command.bindings))
        bound = {slot: self.at(place) for slot, place in places if isinstance(place, (Range, SlotRange))}
        check_late(nested, bound, self.objects)
