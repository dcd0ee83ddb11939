"""The resource table while it grows: objects in, ids out, and back again when a call fails (R1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, get_args

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.recording.commands import Location, Place, Range, SlotNumber, SlotRange
from hipgraph_cb.recording.resources import (
    DEVICE,
    HOST,
    TRANSIENT,
    BufferEntry,
    ChannelEntry,
    Entry,
    EventEntry,
    ExecutableEntry,
    FunctionEntry,
    RecordingEntry,
    ResourceTable,
    Slot,
)
from hipgraph_cb.recording.slot_table import SlotTable
from hipgraph_cb.recording.transient import Transient
from hipgraph_cb.recording.validation import check_open, check_owner, check_within, integer

if TYPE_CHECKING:
    from hipgraph_cb.code_object.limits import DeviceLimits
    from hipgraph_cb.recording.command_table import CommandTable
    from hipgraph_cb.recording.recording import Recording

BUFFER_KINDS = "a Buffer, a BufferView or a Slot"


KINDS: tuple[type[Entry], ...] = get_args(Entry)
MOST_REMEMBERED = 1 << 14
"""Views and slots whose places are remembered; buffers are remembered all."""


class Cache(Protocol):
    """What somebody knows by the identities of objects."""

    def clear(self) -> None: ...


class ResourceBuilder(dict["object | None", int]):
    """Gives ids to buffers, executables, events and recordings in the order of first use and keeps the objects alive.

    Objects are told apart by identity. That is safe because every object with an id is held by a strong reference.

    It is a mapping, from objects that stand for memory to the words of their bytes, found or made; null pointers have
    the word 0.

    Attributes:
        owner: the device that everything must belong to, or None.
        validate: whether ranges are checked.
        places: what the words in blocks stand for.
        ids: of every known object, by its identity.
        entries: what was collected, by id.
        objects: the live object of each entry.
        token: what its transient buffers are known by.
        caches: what others know by the identities of collected objects; emptied when one is forgotten.
        slots: what the calls say of slots.
        limits: what the device can run; None where it is not known.
    """

    __slots__ = (
        "_has_imports",
        "_imports",
        "_mark",
        "_marked",
        "_rows",
        "_unused",
        "caches",
        "entries",
        "ids",
        "limits",
        "objects",
        "owner",
        "places",
        "slots",
        "token",
        "validate",
    )

    def __init__(
        self,
        table: CommandTable,
        *,
        owner: object = None,
        binding_capacity: int = 0,
        validate: bool = True,
        limits: DeviceLimits | None = None,
    ) -> None:
        self._rows = table.rows
        self.places = table.places
        self._forget_words()
        self.owner = owner
        self.slots = SlotTable(binding_capacity)
        self.limits = limits
        self.validate = validate
        self.entries: list[Entry] = []
        self.objects: list[Any] = []
        self.ids: dict[int, int] = {}
        self.caches: list[Cache] = []
        self.token = object()
        self._has_imports = False
        self._imports: dict[int, tuple[object, Range]] = {}
        self._marked = -1
        self._mark = 0, 0, 0
        self._unused: frozenset[int] = frozenset()

    @classmethod
    def resumed(
        cls,
        table: CommandTable,
        recording: Recording,
        objects: Mapping[int, Any],
        owner: object,
        limits: DeviceLimits | None,
    ) -> ResourceBuilder:
        """A builder that goes on where a recording has ended.

        Args:
            table: a copy of its commands.
            objects: what its resources are.
        """
        builder = cls(table, owner=owner, limits=limits)
        builder.slots = SlotTable.of(recording)
        resources = recording.resources
        known: dict[int, Entry] = {
            **resources.buffers,
            **resources.executables,
            **resources.events,
            **resources.recordings,
            **resources.functions,
            **resources.channels,
        }
        for number in range(max(known, default=-1) + 1):
            entry, value = known.get(number), objects.get(number)
            builder.entries.append(entry or EventEntry(number, None))
            builder.objects.append(value)
            if value is not None:
                builder.ids[id(value)] = number
            builder._has_imports = builder._has_imports or getattr(value, "is_imported", False)
        builder._unused = frozenset(range(len(builder.entries))) - known.keys()
        return builder

    @property
    def binding_capacity(self) -> int:
        """Slots are below it."""
        return self.slots.capacity

    def place(self, place: Place) -> int:
        """The word of a place or a number."""
        if self._marked != len(self._rows):
            self._before_adding()
        return self.places.add(place)

    def number_word(self, number: SlotNumber) -> int:
        """The word of a number in a slot, found or made."""
        word = self.get(number)
        if word is None:
            word = self.place(number)
            if len(self) < MOST_REMEMBERED:
                self[number] = word
        return word

    def _before_adding(self) -> None:
        """Remember what there was before the command that is being made now."""
        self._marked = len(self._rows)
        self._mark = len(self.entries), len(self.places), len(self.slots)

    def rollback(self) -> None:
        """Forget everything that was collected for a command that is not recorded."""
        if self._marked != len(self._rows):
            return
        entries, places, slots = self._mark
        self.slots.truncate(slots)
        if len(self.places) > places:
            self._forget_words()
            self.places.truncate(places)
        if len(self.entries) > entries:
            self._forget_words()
            for cache in (*self.caches, self._imports):
                cache.clear()
        while len(self.entries) > entries:
            self.entries.pop()
            del self.ids[id(self.objects.pop())]

    def __missing__(self, value: Any) -> int:
        if type(value) is int and value == 0:
            return 0
        if getattr(value, "buffer", None) is value:
            if self._marked != len(self._rows):
                self._before_adding()
            entry = self._buffer(value)
            word = self[value] = self.places.add_buffer(entry.id, entry.size)
            return word
        word = self.place(self.locate(value, "a pointer argument"))
        if len(self) < MOST_REMEMBERED:
            self[value] = word
        return word

    def _forget_words(self) -> None:
        self.clear()
        self[None] = 0

    def table(self) -> ResourceTable:
        """What was collected, as a value."""
        return self.part(each for each in range(len(self.entries)) if each not in self._unused)

    def part(self, ids: Iterable[int]) -> ResourceTable:
        """What was collected under some of the ids, as a value."""
        chosen: dict[type[Entry], dict[int, Any]] = {kind: {} for kind in KINDS}
        bound = {}
        for each in ids:
            entry = self.entries[each]
            chosen[type(entry)][each] = entry
            if self.objects[each] is not None and not is_transient(entry):
                bound[each] = self.objects[each]
        return ResourceTable(
            buffers=chosen[BufferEntry],
            executables=chosen[ExecutableEntry],
            bound=bound,
            events=chosen[EventEntry],
            recordings=chosen[RecordingEntry],
            functions=chosen[FunctionEntry],
            channels=chosen[ChannelEntry],
        )

    def name(self, resource: int) -> str:
        """How messages call a resource."""
        return self.entries[resource].name

    def describe(self, place: Range) -> str:
        """How messages call a range: the buffer's name, and for a part its bytes as well."""
        entry = self.entries[place.resource]
        if isinstance(entry, BufferEntry) and (place.offset, place.length) == (0, entry.size):
            return entry.name
        return f"{entry.name}[{place.offset}:{place.offset + place.length}]"

    def locate(self, value: Any, name: str) -> Location:
        """The bytes of a buffer, a view or a slot; `name` is what the message calls the argument.

        Raises:
            InvalidArgumentError: something else, or a buffer of another device.
            OutOfRangeError: a slot beyond the binding table, or a view that reaches beyond its buffer.
            FailedPreconditionError: a closed buffer.
        """
        if isinstance(value, Slot):
            if value.type is not None:
                raise InvalidArgumentError(
                    f"{name} is no device memory",
                    found=f"slot {value.index} for a number of type {value.type}",
                    allowed=BUFFER_KINDS,
                )
            self._enter(value)
            return SlotRange(value.index, value.offset, value.length)
        try:
            buffer = value.buffer
            if buffer is not value:
                offset, length = value.offset, value.length
        except AttributeError:
            place = self._foreign(value)
            if place is None:
                raise InvalidArgumentError(
                    f"{name} is no device memory",
                    found=f"{_short(value)} ({type(value).__name__})",
                    allowed=BUFFER_KINDS,
                ) from None
            return place
        entry = self._buffer(buffer)
        if buffer is value:
            return Range(entry.id, 0, entry.size)
        is_inside = offset.__class__ is length.__class__ is int and 0 <= offset <= offset + length <= entry.size
        if self.validate and not is_inside:
            offset, length = integer(offset, f"offset of {name}"), integer(length, f"length of {name}")
            check_within(offset, length, entry.size, entry.name)
        return Range(entry.id, offset, length)

    def number(self, slot: Slot) -> SlotNumber:
        """The number that a slot with a type is for. Raises what `SlotTable.enter` raises."""
        self._enter(slot)
        return SlotNumber(slot.index, slot.type)

    def _enter(self, slot: Slot) -> None:
        if self._marked != len(self._rows):
            self._before_adding()
        self.slots.enter(slot)

    def _foreign(self, value: Any) -> Range | None:
        """Where memory is that another library owns, imported at its first use; None where `value` is none."""
        known = self._imports.get(id(value))
        if known is not None:
            return known[1]
        buffer = imported(value, self.owner)
        if buffer is None:
            return None
        place = self._part_of_known(buffer) or Range(self._buffer(buffer).id, 0, buffer.size)
        self._imports[id(value)] = (value, place)
        return place

    def _part_of_known(self, buffer: Any) -> Range | None:
        """The bytes of an imported buffer as part of a buffer that is known already."""
        for entry in self.entries:
            other = self.objects[entry.id]
            start = buffer.address - getattr(other, "address", 0)
            if isinstance(entry, BufferEntry) and start >= 0 and start + buffer.size <= entry.size:
                return Range(entry.id, start, buffer.size)
        return None

    def _buffer(self, buffer: Any) -> BufferEntry:
        """The entry of a buffer."""
        known = self.ids.get(id(buffer))
        if known is not None:
            return self.entries[known]  # type: ignore[return-value]
        memory = HOST if getattr(buffer, "is_host", False) else DEVICE
        if getattr(buffer, "is_transient", False):
            memory = TRANSIENT
        size = integer(buffer.size, "size of a buffer")
        device = buffer.device_number if memory == TRANSIENT else self._number_of(buffer)
        entry = BufferEntry(len(self.entries), size, buffer.label, memory, device)
        if memory == TRANSIENT:
            self._check_maker(entry, buffer)
        self._check(entry, "buffer", buffer)
        if memory != TRANSIENT and (self._has_imports or getattr(buffer, "is_imported", False)):
            self._has_imports = True
            self._check_apart(entry.name, buffer)
        self._add(entry, buffer)
        return entry

    def transient(self, size: int, label: str | None, device: int = 0) -> Transient:
        """Memory of this recording alone; it gets an id when a command uses it."""
        return Transient(self.token, size, label, device)

    def _number_of(self, value: Any) -> int:
        """The number of the device of a resource, where the owner is a group."""
        owner: Any = self.owner
        is_member = hasattr(owner, "number_of") and owner.accepts(value)
        return owner.number_of(value.device) if is_member else 0

    def _check_maker(self, entry: BufferEntry, buffer: Transient) -> None:
        if not buffer.is_of(self.token):
            raise InvalidArgumentError(
                f"{entry.name} belongs to another command buffer",
                found=repr(buffer),
                allowed="what transient() of this command buffer gives",
            )

    def _check_apart(self, name: str, buffer: Any) -> None:
        """Two buffers of the same bytes would hide from every check that they are the same memory."""
        for entry in self.entries:
            other = self.objects[entry.id]
            if (
                isinstance(entry, BufferEntry)
                and not is_transient(entry)
                and (buffer.address < other.address + entry.size and other.address < buffer.address + buffer.size)
            ):
                raise InvalidArgumentError(
                    f"{name} shares memory with {entry.name}",
                    found=f"{buffer.size} bytes at {buffer.address:#x}, {entry.size} bytes at {other.address:#x}",
                    next_step="import the memory once and take views of it",
                )

    def executable(self, executable: Any) -> int:
        """The id of an executable."""
        known = self.ids.get(id(executable))
        if known is not None:
            return known
        verified = executable.verified
        device = self._number_of(executable)
        entry = ExecutableEntry(len(self.entries), executable.label, verified.content_hash, verified, device)
        self._check(entry, "executable", executable)
        self._add(entry, executable)
        return entry.id

    def event(self, event: Any, name: str = "event") -> int:
        """The id of an event; `name` is what the message calls the argument."""
        known = self.ids.get(id(event))
        if known is not None and isinstance(self.entries[known], EventEntry):
            return known
        if getattr(event, "kind", None) != "event":
            raise InvalidArgumentError(
                f"{name} is no event", found=f"{_short(event)} ({type(event).__name__})", allowed="device.event()"
            )
        entry = EventEntry(len(self.entries), event.label, self._number_of(event))
        self._check(entry, "event", event)
        self._add(entry, event)
        return entry.id

    def function(self, function: Any) -> int:
        """The id of a function of the host."""
        known = self.ids.get(id(function))
        if known is not None and isinstance(self.entries[known], FunctionEntry):
            return known
        if not callable(function):
            raise InvalidArgumentError(
                "host_call: not a function",
                found=f"{_short(function)} ({type(function).__name__})",
                allowed="what can be called without arguments",
            )
        name = getattr(function, "__name__", None)
        entry = FunctionEntry(len(self.entries), name if isinstance(name, str) else None)
        self._add(entry, function)
        return entry.id

    def channel(self, value: Any) -> ChannelEntry:
        """The entry of a rank; of a channel, of the rank on the device that everything belongs to."""
        rank = value.on(self.owner) if getattr(value, "kind", None) == "channel" else value
        known = self.ids.get(id(rank))
        if known is not None and isinstance(self.entries[known], ChannelEntry):
            return self.entries[known]  # type: ignore[return-value]
        if getattr(rank, "kind", None) != "rank":
            raise InvalidArgumentError(
                "collective: not a channel",
                found=f"{_short(value)} ({type(value).__name__})",
                allowed="device_group.channel(), or one of its ranks",
            )
        entry = ChannelEntry(len(self.entries), rank.label, rank.number, rank.size)
        self._check(entry, "rank", rank)
        self._add(entry, rank)
        return entry

    def recording(self, recording: Recording, make: Callable[[Recording], Recording]) -> RecordingEntry:
        """The entry of a nested recording; `make` gives it the ids of this table, which collects what it uses."""
        known = self.ids.get(id(recording))
        if known is not None:
            return self.entries[known]  # type: ignore[return-value]
        adopted = make(recording)
        entry = RecordingEntry(len(self.entries), recording.label, adopted)
        self._add(entry, recording)
        return entry

    def nested(self, resource: int) -> Recording | None:
        """The nested recording with an id, in the ids of this table."""
        entry = self.entries[resource]
        return entry.recording if isinstance(entry, RecordingEntry) else None

    def _check(self, entry: BufferEntry | ExecutableEntry | EventEntry | ChannelEntry, kind: str, value: Any) -> None:
        owner = self.owner
        device = getattr(value, "device", owner)
        if getattr(value, "closed", False) or (owner is not None and device is not owner):
            check_open(kind, entry.name, value)
            check_owner(kind, entry.name, value, owner)

    def _add(self, entry: Entry, value: object) -> None:
        if self._marked != len(self._rows):
            self._before_adding()
        self.objects.append(value)
        self.ids[id(value)] = entry.id
        self.entries.append(entry)


def is_transient(entry: Entry) -> bool:
    """Whether it is memory that a program allocates for itself."""
    return isinstance(entry, BufferEntry) and entry.memory == TRANSIENT


def imported(value: Any, device: Any) -> Any:
    """A buffer of `device` for memory that another library owns; None where `value` offers none or nobody takes it."""
    if hasattr(value, "__dlpack_device__") or hasattr(value, "__cuda_array_interface__"):
        take = getattr(device, "import_buffer", None)
        return None if take is None else take(value)
    return None


def _short(value: object) -> str:
    listing = repr(value)
    return listing if len(listing) <= 60 else listing[:57] + "..."
