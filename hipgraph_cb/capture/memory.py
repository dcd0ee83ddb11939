"""The contents of buffers beside a recording: before its first replay, and as they should be after it.

A buffer is named by its resource id, a binding by its `Slot`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hipgraph_cb.capture.expected import Expected, check_whole
from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.recording.number_types import NUMBER_TYPES
from hipgraph_cb.recording.resources import TRANSIENT, Slot
from hipgraph_cb.recording.validation import check_slot, host_bytes

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording

Key = int | Slot
"""The id of a buffer, or a slot."""


def given_contents(recording: Recording, given: Any) -> dict[Key, bytes]:
    """What `save(contents=...)` was given, as bytes by key: True, or `{id, label, buffer or Slot: array}`.

    Raises:
        NotFoundError: a key that names nothing of the recording.
        InvalidArgumentError: no host data, or another number of bytes than the buffer has.
    """
    found = {key: host_bytes(value, f"contents of {name(recording, key)}") for key, value in _pairs(recording, given)}
    for key, data in found.items():
        check_size(recording, key, len(data))
    return found


def given_expected(recording: Recording, given: Any) -> dict[Key, Expected]:
    """What `save(expected=...)` was given; values are arrays, bytes or `Expected`. Raises as `given_contents`."""
    pairs = _pairs(recording, given)
    found = {key: value if isinstance(value, Expected) else Expected.of(value) for key, value in pairs}
    for key, expected in found.items():
        check_size(recording, key, len(expected.data))
        check_whole(expected)
    return found


def _pairs(recording: Recording, given: Any) -> list[tuple[Key, Any]]:
    if given is None or given is False:
        return []
    if given is True:
        return list(recording.snapshot().items())
    if not isinstance(given, Mapping):
        raise InvalidArgumentError(
            "contents are given for each buffer",
            found=type(given).__name__,
            allowed="True, or a mapping from resource ids, labels, buffers or slots to arrays",
        )
    pairs = [(_key(recording, key), value) for key, value in given.items()]
    if len({key for key, _ in pairs}) != len(pairs):
        raise InvalidArgumentError("the contents of one buffer are given twice", found=f"{len(pairs)} entries")
    return pairs


def _key(recording: Recording, key: Any) -> Key:
    if isinstance(key, Slot):
        check_slot(key.index, recording.binding_capacity)
        return Slot(key.index)
    if not isinstance(key, (int, str)):
        found = [id for id, value in recording.resources.bound.items() if value is key]
        key = found[0] if found else repr(key)
    id = recording.resources.find(key)
    check_lasting(recording, id)
    if id not in recording.resources.buffers:
        raise InvalidArgumentError("contents are given for what is no buffer", found=repr(key))
    return id


def check_lasting(recording: Recording, id: int) -> None:
    """Refuse contents of memory that is there during a replay only."""
    entry = recording.resources.buffers.get(id)
    if entry is not None and entry.memory == TRANSIENT:
        raise InvalidArgumentError(
            "contents are given for a transient buffer",
            found=entry.name,
            allowed="buffers that are there before a replay",
        )


def name(recording: Recording, key: Key) -> str:
    """How messages call it."""
    return f"slot {key.index}" if isinstance(key, Slot) else recording.resources.buffers[key].name


def check_size(recording: Recording, key: Key, size: int) -> None:
    """Contents are those of a whole buffer, of a binding that is large enough for the commands, or a number's bytes."""
    if isinstance(key, Slot):
        uses = recording.slots
        use = uses[key.index] if key.index < len(uses) else None
        least = 1 if use is None else max(use.end, 1)
        if use is not None and use.type is not None:
            if size == NUMBER_TYPES[use.type].size:
                return
            allowed = f"{NUMBER_TYPES[use.type].size} bytes, a number of type {use.type}"
        elif size >= least:
            return
        else:
            allowed = f"{least} bytes or more"
    else:
        whole = recording.resources.buffers[key].size
        if size == whole:
            return
        allowed = f"{whole} bytes"
    raise InvalidArgumentError(
        f"the contents of {name(recording, key)} have another size", found=f"{size} bytes", allowed=allowed
    )
