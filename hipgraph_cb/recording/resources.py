"""The resource table: which buffers and executables the ids in the commands stand for.

The entries are plain facts (size, label, content hash), so a recording can be read, compared and saved without any
device. The live objects are kept beside them, by strong reference, until the recording itself goes (R5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from hipgraph_cb.closest import did_you_mean
from hipgraph_cb.errors import InvalidArgumentError, NotFoundError, OutOfRangeError
from hipgraph_cb.recording.number_types import type_name
from hipgraph_cb.recording.validation import integer, text
from hipgraph_cb.visible import visible

if TYPE_CHECKING:
    from hipgraph_cb.code_object.verify import VerifiedExecutable, VerifiedExport
    from hipgraph_cb.recording.recording import Recording


class BufferLike(Protocol):
    """Device memory of `size` bytes."""

    @property
    def size(self) -> int: ...
    @property
    def label(self) -> str | None: ...


class RangeLike(Protocol):
    """`length` bytes from byte `offset` on of `buffer`; a buffer is its own whole range."""

    @property
    def buffer(self) -> BufferLike: ...
    @property
    def offset(self) -> int: ...
    @property
    def length(self) -> int: ...


class ExecutableLike(Protocol):
    """A loaded code object."""

    @property
    def verified(self) -> VerifiedExecutable: ...
    @property
    def label(self) -> str | None: ...


class ExportLike(Protocol):
    """A kernel of a loaded code object."""

    @property
    def executable(self) -> ExecutableLike: ...
    @property
    def verified(self) -> VerifiedExport: ...
    @property
    def name(self) -> str: ...


@dataclass(frozen=True)
class Slot:
    """A place in the binding table, given where a command takes memory, or with a `type` where it takes a number.

    Attributes:
        index: position in the table that is given at replay.
        offset: bytes to skip in what the table holds there.
        length: bytes used; None is everything from `offset` on.
        type: of a number: "u8" to "u64", "i8" to "i64", "f16", "f32" or "f64"; also NumPy's types, such as
            `numpy.uint32`. None for memory. A number has neither offset nor length.
        name: what a replay may call it, instead of the index.

    Raises:
        InvalidArgumentError: a value that is not a whole number, no such type, or a part of a number.
        OutOfRangeError: a negative value.
    """

    index: int
    offset: int = 0
    length: int | None = None
    type: Any = None
    name: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", integer(self.index, "slot index"))
        object.__setattr__(self, "offset", integer(self.offset, "slot offset"))
        if self.length is not None:
            object.__setattr__(self, "length", integer(self.length, "slot length"))
        text(self.name, "slot name")
        if self.type is not None:
            object.__setattr__(self, "type", type_name(self.type))
            if self.offset or self.length is not None:
                raise InvalidArgumentError(
                    f"slot {self.index} holds a number, which has no parts",
                    found=f"type {self.type}, offset {self.offset}, length {self.length}",
                    next_step="leave offset and length out, or the type",
                )


class EventLike(Protocol):
    """Something to signal and to wait for; `kind` is "event"."""

    @property
    def kind(self) -> str: ...
    @property
    def label(self) -> str | None: ...


class RankLike(Protocol):
    """One rank of a channel; `kind` is "rank", `number` its own of `size` ranks."""

    @property
    def kind(self) -> str: ...
    @property
    def label(self) -> str | None: ...
    @property
    def number(self) -> int: ...
    @property
    def size(self) -> int: ...


DEVICE, HOST, TRANSIENT = "device", "host", "transient"
"""Where the memory of a buffer is: on the device, page-locked on the host, or in what a program has for itself."""


class BufferEntry(NamedTuple):
    """A buffer as the commands know it.

    Attributes:
        size: bytes.
        memory: `DEVICE`, `HOST` or `TRANSIENT`.
        device: the number of its device in a group; 0 for a single one.
    """

    id: int
    size: int
    label: str | None
    memory: str = DEVICE
    device: int = 0

    @property
    def name(self) -> str:
        """For messages and exports."""
        word = "" if self.memory == DEVICE else f"{self.memory} "
        return f"{word}buffer {self.id}" if self.label is None else f"{word}`{visible(self.label)}`"


class ExecutableEntry(NamedTuple):
    """An executable as the commands know it; two are the same code when their `content_hash` is.

    Attributes:
        device: the number of its device in a group, which runs its kernels.
    """

    id: int
    label: str | None
    content_hash: str
    verified: VerifiedExecutable
    device: int = 0

    @property
    def name(self) -> str:
        """For messages and exports."""
        return f"executable {self.id}" if self.label is None else f"`{visible(self.label)}`"


class EventEntry(NamedTuple):
    """An event as the commands know it; `device` is the number of its device in a group."""

    id: int
    label: str | None
    device: int = 0

    @property
    def name(self) -> str:
        """For messages and exports."""
        return f"event {self.id}" if self.label is None else f"`{visible(self.label)}`"


class FunctionEntry(NamedTuple):
    """A function of the host as the commands know it; its label is the name that it has."""

    id: int
    label: str | None

    @property
    def name(self) -> str:
        """For messages and exports."""
        return f"function {self.id}" if self.label is None else f"function `{visible(self.label)}`"


class ChannelEntry(NamedTuple):
    """One rank of a channel as the commands know it."""

    id: int
    label: str | None
    rank: int
    ranks: int

    @property
    def name(self) -> str:
        """For messages and exports."""
        name = f"channel {self.id}" if self.label is None else f"channel `{visible(self.label)}`"
        return f"{name}, rank {self.rank} of {self.ranks}"


class RecordingEntry(NamedTuple):
    """A nested recording. Its commands use the ids of the table that this entry stands in."""

    id: int
    label: str | None
    recording: Recording

    @property
    def name(self) -> str:
        """For messages and exports."""
        return f"recording {self.id}" if self.label is None else f"`{visible(self.label)}`"


BoundEntry = BufferEntry | ExecutableEntry | EventEntry | FunctionEntry | ChannelEntry
"""What an object of a recording may be bound to."""
Entry = BufferEntry | ExecutableEntry | EventEntry | RecordingEntry | FunctionEntry | ChannelEntry


@dataclass(frozen=True, eq=False)
class ResourceTable:
    """What the ids of a recording stand for.

    Ids are given in the order of first use, all kinds from one sequence, so equal sequences of calls give equal ids.

    Attributes:
        buffers: id -> facts.
        executables: id -> facts.
        bound: id -> the live object the recording was made with; empty for a recording that was loaded.
        events: id -> facts.
        recordings: id -> a nested recording. What it uses stands in this table too.
        functions: id -> facts.
        channels: id -> facts.
    """

    buffers: Mapping[int, BufferEntry] = field(default_factory=dict)
    executables: Mapping[int, ExecutableEntry] = field(default_factory=dict)
    bound: Mapping[int, object] = field(default_factory=dict)
    events: Mapping[int, EventEntry] = field(default_factory=dict)
    recordings: Mapping[int, RecordingEntry] = field(default_factory=dict)
    functions: Mapping[int, FunctionEntry] = field(default_factory=dict)
    channels: Mapping[int, ChannelEntry] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("buffers", "executables", "bound", "events", "recordings", "functions", "channels"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def facts(self) -> tuple[object, ...]:
        """What makes two tables the same for the work: sizes, memory, content, devices; not labels and live objects."""
        return (
            tuple(sorted((entry.id, entry.size, entry.memory, entry.device) for entry in self.buffers.values())),
            tuple(sorted((entry.id, entry.content_hash, entry.device) for entry in self.executables.values())),
            tuple(sorted((entry.id, entry.device) for entry in self.events.values())),
            tuple((key, self.recordings[key].recording._content) for key in sorted(self.recordings)),
            tuple(sorted(self.functions)),
            tuple(sorted((entry.id, entry.rank, entry.ranks) for entry in self.channels.values())),
        )

    @cached_property
    def devices(self) -> frozenset[int]:
        """The numbers of the devices that the buffers, executables and events are on."""
        entries: list[BufferEntry | ExecutableEntry | EventEntry] = [*self.buffers.values()]
        entries += [*self.executables.values(), *self.events.values()]
        return frozenset(entry.device for entry in entries)

    def complete(self, replacements: Mapping[int | str, Any] | None = None) -> Mapping[int, object]:
        """The live object for every id but those of transient buffers that nothing replaces, for making a program.

        Args:
            replacements: objects to use instead of the bound ones, by id or by label. A buffer must be a whole buffer
                at least as large as the recorded one, an executable must hold the same code.

        Raises:
            NotFoundError: a key that names no resource, or a resource with neither a bound nor a replacing object.
            InvalidArgumentError: a label that names several, something of another kind, other code.
            OutOfRangeError: a buffer smaller than the recorded one.
        """
        objects = dict(self.bound)
        for key, value in (replacements or {}).items():
            objects[self.find(key)] = value
        for buffer in self.buffers.values():
            if buffer.memory != TRANSIENT or buffer.id in objects:
                _check_buffer(buffer, _present(objects, buffer))
        for executable in self.executables.values():
            _check_executable(executable, _present(objects, executable))
        for event in self.events.values():
            _check_event(event, _present(objects, event))
        for function in self.functions.values():
            _check_function(function, _present(objects, function))
        for channel in self.channels.values():
            _check_rank(channel, _present(objects, channel))
        return objects

    def __getitem__(self, key: int | str) -> Any:
        """The live object of a resource, by id or label; NotFoundError where the recording is bound to none."""
        id = self.find(key)
        return _present(self.bound, self._entry(id))

    def live_buffer(self, id: int) -> Any:
        """The buffer of that id, to be read; NotFoundError where the recording is bound to none."""
        value = self.bound.get(id)
        if value is None:
            raise NotFoundError(
                "the recording has no buffers to read",
                found=f"no object for {self.buffers[id].name}",
                next_step="give contents as arrays, by resource id or label",
            )
        return value

    def _entry(self, id: int) -> BoundEntry:
        first: BoundEntry | None = self.buffers.get(id) or self.executables.get(id) or self.events.get(id)
        return first or self.functions.get(id) or self.channels[id]

    def find(self, key: int | str) -> int:
        """The id of the resource with this id or label.

        Raises:
            NotFoundError: there is none.
            InvalidArgumentError: a label that names several.
        """
        entries: list[BoundEntry] = []
        entries.extend(self.buffers.values())
        entries.extend(self.executables.values())
        entries.extend([*self.events.values(), *self.functions.values(), *self.channels.values()])
        found = [entry.id for entry in entries if key == (entry.label if isinstance(key, str) else entry.id)]
        if len(found) > 1:
            raise InvalidArgumentError(
                f"the label {key!r} names several resources of the recording",
                found=f"ids {', '.join(map(str, found))}",
                next_step="use the id as the key",
            )
        if not found:
            raise NotFoundError(
                f"the recording has no resource {key!r}",
                allowed="an id or a label of " + (", ".join(f"{entry.id} {entry.name}" for entry in entries) or "none"),
                next_step=did_you_mean(key, [each.label for each in entries if each.label])
                if isinstance(key, str)
                else None,
            )
        return found[0]


def _present(objects: Mapping[int, object], entry: BoundEntry) -> Any:
    value = objects.get(entry.id)
    if value is None:
        raise NotFoundError(
            f"nothing is given for resource {entry.id} of the recording",
            found=f"no object for {entry.name}",
            next_step=f"pass resources={{{entry.id}: ...}}",
        )
    return value


def _check_buffer(entry: BufferEntry, value: Any) -> None:
    size = getattr(value, "size", None)
    if getattr(value, "buffer", None) is not value or size is None:
        raise InvalidArgumentError(
            f"resource {entry.id} of the recording, {entry.name}, is a buffer",
            found=type(value).__name__,
            allowed=f"a whole buffer of at least {entry.size} bytes",
        )
    if size < entry.size:
        raise OutOfRangeError(
            f"the buffer for resource {entry.id}, {entry.name}, is smaller than the recorded one",
            found=f"{size} bytes",
            allowed=f"at least {entry.size} bytes",
        )


def _check_executable(entry: ExecutableEntry, value: Any) -> None:
    content_hash = getattr(getattr(value, "verified", None), "content_hash", None)
    if content_hash != entry.content_hash:
        raise InvalidArgumentError(
            f"resource {entry.id} of the recording, {entry.name}, is other code",
            found=type(value).__name__ if content_hash is None else f"code object with SHA-256 {content_hash}",
            allowed=f"the code object with SHA-256 {entry.content_hash}",
        )


def _check_event(entry: EventEntry, value: Any) -> None:
    if getattr(value, "kind", None) != "event":
        raise InvalidArgumentError(
            f"resource {entry.id} of the recording, {entry.name}, is an event",
            found=type(value).__name__,
            allowed="an Event",
        )


def _check_rank(entry: ChannelEntry, value: Any) -> None:
    facts = (getattr(value, "kind", None), getattr(value, "number", None), getattr(value, "size", None))
    if facts != ("rank", entry.rank, entry.ranks):
        raise InvalidArgumentError(
            f"resource {entry.id} of the recording, {entry.name}, is a rank of a channel",
            found=f"rank {facts[1]} of {facts[2]}" if facts[0] == "rank" else type(value).__name__,
            allowed=f"rank {entry.rank} of a channel of {entry.ranks}",
        )


def _check_function(entry: FunctionEntry, value: Any) -> None:
    if not callable(value):
        raise InvalidArgumentError(
            f"resource {entry.id} of the recording, {entry.name}, is called",
            found=type(value).__name__,
            allowed="what can be called without arguments",
        )
