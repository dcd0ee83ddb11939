"""A capture as a JSON document and blobs, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from hipgraph_cb.capture.blobs import Blobs
from hipgraph_cb.capture.capture import Capture
from hipgraph_cb.capture.commands import LARGEST_ID, LATER, read_command, write_command
from hipgraph_cb.capture.document import dump, fields, inside, items, number, octets, optional, parse, text, tuple_of
from hipgraph_cb.capture.manifest_memory import memory_rows, read_memory
from hipgraph_cb.capture.mode_fields import mode_fields, take_mode
from hipgraph_cb.code_object.constants import with_constants
from hipgraph_cb.code_object.verify import VerifiedExecutable, verify
from hipgraph_cb.code_object.wrapper import is_wrapper
from hipgraph_cb.errors import HipGraphError, IncompatibleError, InvalidArgumentError, UnimplementedError
from hipgraph_cb.recording.checking import MOST_COMMANDS, check_recording
from hipgraph_cb.recording.groups import Group, check_color
from hipgraph_cb.recording.recording import Recording, with_resources
from hipgraph_cb.recording.resources import (
    DEVICE,
    HOST,
    TRANSIENT,
    BufferEntry,
    ChannelEntry,
    EventEntry,
    ExecutableEntry,
    FunctionEntry,
    RecordingEntry,
    ResourceTable,
)

FORMAT = "hipgraph_cb capture"
VERSION = 2
READABLE = (1, 2)
"""Versions that are read; version 2 added numbers in slots, the names of slots, and what `LATER` says."""
DEEPEST_GROUP = 255
LARGEST_CAPACITY = (1 << 24) - 1
LARGEST_DEVICE = 63
LEAST_STEPS = 1 << 16
STEPS_PER_BYTE = 4

_BODY = ("label", "binding_capacity", "commands", "layer_starts", "dependencies", "groups")
_BODIES = {1: _BODY, 2: (*_BODY, "slot_names")}
_RESOURCES = ("buffers", "executables", "events", "recordings")
_CONSTANTS = "constants"
"""There only where an executable has some."""
_OF_GROUPS = ("color", "location")
"""There only where a group says them."""
_FUNCTIONS = "functions"
"""There only where functions of the host are called: whoever makes a program has to give them."""
_CHANNELS = "channels"
"""There only where there are collectives; they have to be given too."""

_Entry = TypeVar("_Entry", BufferEntry, ExecutableEntry, EventEntry, RecordingEntry, FunctionEntry, ChannelEntry)


def encode(capture: Capture) -> tuple[bytes, dict[str, bytes]]:
    """The manifest and the blobs.

    Raises:
        UnimplementedError: something that the format cannot hold; it is named.
        HipGraphError: a recording that broke a rule, as those without validation may.
    """
    recording, blobs = capture.recording, Blobs()
    resources = recording.resources
    document = {
        "format": FORMAT,
        "version": VERSION,
        "producer": capture.producer,
        **_write_body(recording, blobs),
        "buffers": [_write_buffer(entry) for entry in _in_order(resources.buffers)],
        "executables": [_write_executable(entry, blobs) for entry in _in_order(resources.executables)],
        "events": [_on_device(entry._asdict()) for entry in _in_order(resources.events)],
        "recordings": [_write_recording(entry, blobs) for entry in _in_order(resources.recordings)],
        "memory": memory_rows(capture, blobs),
    }
    if resources.functions:
        document[_FUNCTIONS] = [entry._asdict() for entry in _in_order(resources.functions)]
    if resources.channels:
        document[_CHANNELS] = [entry._asdict() for entry in _in_order(resources.channels)]
    manifest = dump(document)
    _check_as_loaded(recording, len(manifest))
    return manifest, blobs.contents


def _in_order(entries: Mapping[int, _Entry]) -> list[_Entry]:
    return [entries[id] for id in sorted(entries)]


def _check_as_loaded(recording: Recording, size: int) -> None:
    """Refuse what could not be loaded again: the code objects are verified as they will be then."""
    resources = recording.resources
    verified = {id: entry._replace(verified=_verified_again(entry)) for id, entry in resources.executables.items()}
    check_recording(with_resources(recording, replace(resources, executables=verified)), most_steps=_most_steps(size))


def _verified_again(entry: ExecutableEntry) -> VerifiedExecutable:
    verified = entry.verified
    return with_constants(verify(verified.source, verified.target), verified.constants)


def _most_steps(size: int) -> int:
    """What a manifest of this size may cost its reader; a fill takes some 100 bytes, its execution one step."""
    return min(MOST_COMMANDS, LEAST_STEPS + STEPS_PER_BYTE * size)


def _write_body(recording: Recording, blobs: Blobs) -> dict[str, Any]:
    """What a recording says apart from its resources."""
    deepest = max((group.depth for group in recording.groups), default=0)
    if deepest > DEEPEST_GROUP:
        raise UnimplementedError(
            "a capture file cannot hold debug groups as deep as these", found=str(deepest), allowed=str(DEEPEST_GROUP)
        )
    return {
        **mode_fields(recording),
        "label": recording.label,
        "binding_capacity": recording.binding_capacity,
        "commands": list(_write_commands(recording, blobs)),
        "layer_starts": list(recording.layer_starts),
        "dependencies": None if recording.dependencies is None else [list(waits) for waits in recording.dependencies],
        "groups": [group.as_row() for group in recording.groups],
        "slot_names": [{"slot": slot, "name": name} for slot, name in sorted(recording.slot_names.items())],
    }


def _write_commands(recording: Recording, blobs: Blobs) -> Iterator[dict[str, Any]]:
    for index, command in enumerate(recording):
        try:
            yield write_command(command, blobs)
        except HipGraphError as error:
            raise error.located(recording.where(index)) from None


def _write_buffer(entry: BufferEntry) -> dict[str, Any]:
    """Where its memory is only if that is not the device, so that files without such memory are as they always were."""
    row = entry._asdict()
    if entry.memory == DEVICE:
        del row["memory"]
    return _on_device(row)


def _on_device(row: dict[str, Any]) -> dict[str, Any]:
    """Without the number of the device where it is 0, for the same reason."""
    if row["device"] == 0:
        del row["device"]
    return row


def _read_device(row: Any, version: int) -> tuple[Any, int]:
    """The row without the number of the device, and the number."""
    if version < LATER or not isinstance(row, dict) or "device" not in row:
        return row, 0
    device = number(row["device"], largest=LARGEST_DEVICE)
    if device == 0:
        raise InvalidArgumentError("the manifest names device 0, which is left out", allowed=f"1 to {LARGEST_DEVICE}")
    return {name: value for name, value in row.items() if name != "device"}, device


def _write_executable(entry: ExecutableEntry, blobs: Blobs) -> dict[str, Any]:
    verified = entry.verified
    digest = blobs.add(verified.source)
    row: dict[str, Any] = {"id": entry.id, "label": entry.label, "code": digest, "target": str(verified.target)}
    row["device"] = entry.device
    if verified.constants:
        row[_CONSTANTS] = [
            {"name": name, "value": verified.constants[name].hex()} for name in sorted(verified.constants)
        ]
    return _on_device(row)


def _write_recording(entry: RecordingEntry, blobs: Blobs) -> dict[str, Any]:
    resources = entry.recording.resources
    with inside(f"nested recording {entry.name}"):
        body = _write_body(entry.recording, blobs)
    own = {*resources.buffers, *resources.executables, *resources.events, *resources.functions, *resources.channels}
    used = sorted({*own, *resources.recordings})
    return {"id": entry.id, "name": entry.label, "uses": used, **body}


def decode(manifest: bytes, contents: Mapping[str, bytes]) -> Capture:
    """What a manifest and its blobs say, every command checked by the rules of recording.

    Raises:
        HipGraphError: anything that `encode` would not have written.
    """
    blobs = Blobs(contents)
    with inside("manifest.json"):
        document = parse(manifest)
        version = _checked_version(document)
        body = _BODIES[version]
        further = [document.pop(name, None) if version >= LATER else None for name in (_FUNCTIONS, _CHANNELS)]
        mode = take_mode(document) if version >= LATER else {}
        values = fields(document, "format", "version", "producer", "memory", *_RESOURCES, *body)
        producer, memory = values[2:4]
        resources = _read_resources(
            [*values[4 : 4 + len(_RESOURCES)], *map(_no_empty, (_FUNCTIONS, _CHANNELS), further)], blobs, version
        )
        recording = _read_body(values[-len(body) :], resources, blobs, version, mode)
        check_recording(recording, most_steps=_most_steps(len(manifest)))
        capture_memory = read_memory(memory, recording, blobs)
        blobs.check_all_used()
        return Capture(recording, *capture_memory, text(producer))


def _no_empty(what: str, rows: Any) -> Any:
    """The rows of an array that is left out where it has none."""
    if rows == []:
        raise InvalidArgumentError(f"the manifest has an array of {what} without any", allowed="no such array")
    return [] if rows is None else rows


def _checked_version(document: Any) -> int:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidArgumentError("the manifest is not one of a capture", allowed=f'"format": "{FORMAT}"')
    version = document.get("version")
    if type(version) is not int or version not in READABLE:
        raise IncompatibleError(
            "the capture file is of another version of the format",
            found=f"version {version!r}"[:80],
            allowed=f"versions {', '.join(map(str, READABLE))}",
            next_step="read it with the release that wrote it, or a later one",
        )
    return version


def _read_body(
    values: list[Any], resources: ResourceTable, blobs: Blobs, version: int, mode: dict[str, Any]
) -> Recording:
    label, capacity, commands, starts, dependencies, groups, *names = values
    recording = Recording(
        _read_rows("commands", commands, lambda row: read_command(row, blobs, version)),
        layer_starts=tuple_of(number, starts),
        resources=resources,
        binding_capacity=number(capacity, largest=LARGEST_CAPACITY),
        label=optional(text, label),
        groups=_read_rows("groups", groups, lambda row: _read_group(row, version)),
        dependencies=optional(partial(tuple_of, partial(tuple_of, number)), dependencies),
        slot_names=_read_slot_names(names[0], number(capacity)) if names else None,
        **mode,
    )
    if recording.layer_starts != tuple(starts):
        raise InvalidArgumentError("the layers do not divide the commands", found="no layers", allowed="0, ...")
    return recording


def _read_slot_names(value: Any, capacity: int) -> dict[int, str]:
    pairs = [fields(row, "slot", "name") for row in items(value)]
    names = {number(slot): text(name) for slot, name in pairs}
    if list(names) != sorted(names) or len({*names.values()}) != len(pairs) or any(slot >= capacity for slot in names):
        raise InvalidArgumentError(
            "the names of slots are not in order, each once, or of slots outside the binding table",
            found=str(pairs[:8])[:200],
        )
    return names


def _read_rows(what: str, value: Any, read: Callable[[Any], Any]) -> list[Any]:
    """The rows of an array; errors say which."""
    rows = []
    for index, row in enumerate(items(value)):
        try:
            rows.append(read(row))
        except HipGraphError as error:
            raise error.located(f"{what}[{index}]") from None
    return rows


def _read_resources(values: list[Any], blobs: Blobs, version: int) -> ResourceTable:
    """The table. Nested recordings come in an order in which each uses only those before it."""
    buffers, executables, events, recordings, functions, channels = values
    verified = _Verified(blobs)
    table = ResourceTable(
        buffers=_by_id("buffers", _read_rows("buffers", buffers, lambda row: _read_buffer(row, version))),
        executables=_by_id(
            "executables", _read_rows("executables", executables, lambda row: _read_executable(row, verified, version))
        ),
        events=_by_id("events", _read_rows("events", events, lambda row: _read_event(row, version))),
        functions=_by_id(_FUNCTIONS, _read_rows(_FUNCTIONS, functions, _read_function)),
        channels=_by_id(_CHANNELS, _read_rows(_CHANNELS, channels, _read_channel)),
    )
    nested: dict[int, RecordingEntry] = {}

    def read(row: Any) -> RecordingEntry:
        entry = _read_recording(row, table, nested, blobs, version)
        nested[entry.id] = entry
        return entry

    _by_id("recordings", _read_rows("recordings", recordings, read))
    whole = replace(table, recordings=nested)
    kinds = (whole.buffers, whole.executables, whole.events, whole.recordings, whole.functions, whole.channels)
    if len({id for entries in kinds for id in entries}) != sum(map(len, kinds)):
        raise InvalidArgumentError("one id names two resources")
    return whole


def _by_id(what: str, rows: list[_Entry]) -> dict[int, _Entry]:
    ids = [entry.id for entry in rows]
    if ids != sorted(set(ids)):
        raise InvalidArgumentError(f"the {what} of the manifest are not in the order of their ids, each once")
    return dict(zip(ids, rows, strict=True))


def _id(value: Any) -> int:
    return number(value, largest=LARGEST_ID)


def _read_buffer(row: Any, version: int) -> BufferEntry:
    row, device = _read_device(row, version)
    memory = DEVICE
    if version >= LATER and isinstance(row, dict) and "memory" in row:
        id, size, label, memory = fields(row, "id", "size", "label", "memory")
        if memory not in (HOST, TRANSIENT):
            raise InvalidArgumentError(
                "a buffer is in unknown memory", found=repr(memory)[:80], allowed=f"{HOST!r}, {TRANSIENT!r}"
            )
    else:
        id, size, label = fields(row, "id", "size", "label")
    if size == 0:
        raise InvalidArgumentError("a buffer has no bytes", found="size 0", allowed="1 or more")
    return BufferEntry(_id(id), number(size), optional(text, label), memory, device)


def _read_event(row: Any, version: int) -> EventEntry:
    row, device = _read_device(row, version)
    id, label = fields(row, "id", "label")
    return EventEntry(_id(id), optional(text, label), device)


def _read_function(row: Any) -> FunctionEntry:
    id, label = fields(row, "id", "label")
    return FunctionEntry(_id(id), optional(text, label))


def _read_channel(row: Any) -> ChannelEntry:
    id, label, rank, ranks = fields(row, "id", "label", "rank", "ranks")
    entry = ChannelEntry(_id(id), optional(text, label), _id(rank), _id(ranks))
    if entry.rank >= entry.ranks:
        raise InvalidArgumentError("a channel has no such rank", found=str(rank), allowed=f"below {ranks}")
    return entry


class _Verified:
    """The code objects of a file; many executables may be of the same one, which is then verified once."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._known: dict[tuple[str, str], VerifiedExecutable] = {}

    def get(self, digest: Any, target: Any) -> VerifiedExecutable:
        """The code in a blob; a wrapper may hold some for several targets."""
        data = self._blobs.get(digest)
        key = digest, text(target) if is_wrapper(data) else ""
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = verify(data, key[1] or None)
        return known


def _read_executable(row: Any, code_objects: _Verified, version: int) -> ExecutableEntry:
    row, device = _read_device(row, version)
    names = ["id", "label", "code", "target"]
    has_constants = version >= LATER and isinstance(row, dict) and _CONSTANTS in row
    id, label, code, target, *constants = fields(row, *names, *([_CONSTANTS] if has_constants else []))
    verified = code_objects.get(code, target)
    if verified.source_hash != code or str(verified.target) != target:
        raise InvalidArgumentError(
            "the manifest says another target or content than the code object",
            found=f"{target!r}, {code}"[:160],
            allowed=f"{str(verified.target)!r}, {verified.source_hash}",
        )
    verified = with_constants(verified, _read_constants(constants[0]) if constants else None)
    return ExecutableEntry(_id(id), optional(text, label), verified.content_hash, verified, device)


def _read_constants(value: Any) -> dict[str, bytes]:
    pairs = [fields(row, "name", "value") for row in items(value)]
    constants = {text(name): octets(data) for name, data in pairs}
    if not pairs or list(constants) != sorted(constants) or len(constants) != len(pairs):
        raise InvalidArgumentError(
            "the constants of an executable are not in order, each once, or there are none", found=str(pairs[:8])[:200]
        )
    return constants


def _read_recording(
    row: Any, table: ResourceTable, nested: Mapping[int, RecordingEntry], blobs: Blobs, version: int
) -> RecordingEntry:
    mode = take_mode(row) if version >= LATER else {}
    id, name, uses, *body = fields(row, "id", "name", "uses", *_BODIES[version])
    used = tuple_of(_id, uses)
    if list(used) != sorted(set(used)):
        raise InvalidArgumentError("what a nested recording uses is not in the order of ids, each once")
    resources = ResourceTable(
        buffers=_chosen(table.buffers, used),
        executables=_chosen(table.executables, used),
        events=_chosen(table.events, used),
        recordings=_chosen(nested, used),
        functions=_chosen(table.functions, used),
        channels=_chosen(table.channels, used),
    )
    first = (resources.buffers, resources.executables, resources.events)
    found = sum(map(len, (*first, resources.recordings, resources.functions, resources.channels)))
    if found != len(used):
        raise InvalidArgumentError("a nested recording uses what does not stand before it", found=str(used[:16]))
    return RecordingEntry(_id(id), optional(text, name), _read_body(body, resources, blobs, version, mode))


def _chosen(entries: Mapping[int, _Entry], ids: tuple[int, ...]) -> dict[int, _Entry]:
    return {id: entries[id] for id in ids if id in entries}


def _read_group(row: Any, version: int) -> Group:
    names = [name for name in _OF_GROUPS if version >= LATER and isinstance(row, dict) and name in row]
    label, start, stop, depth, *values = fields(row, "label", "start", "stop", "depth", *names)
    said = {name: text(value) for name, value in zip(names, values, strict=True)}
    check_color(said.get("color"))
    return Group(text(label), number(start), number(stop), number(depth, largest=DEEPEST_GROUP), **said)
