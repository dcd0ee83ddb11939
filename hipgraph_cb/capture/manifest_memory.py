"""The contents of buffers in a manifest: rows with hashes of blobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hipgraph_cb.capture.blobs import Blobs
from hipgraph_cb.capture.document import fields, inside, items, number, optional, real, text
from hipgraph_cb.capture.expected import TOLERANCES, Expected, check_whole
from hipgraph_cb.capture.memory import Key, check_lasting, check_size, name
from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.recording.resources import Slot

if TYPE_CHECKING:
    from hipgraph_cb.capture.capture import Capture
    from hipgraph_cb.recording.recording import Recording


def memory_rows(capture: Capture, blobs: Blobs) -> list[dict[str, Any]]:
    """A row for each buffer and slot of which something is known: buffers first, each by number."""
    keys = sorted({*capture.contents, *capture.expected}, key=_order)
    return [_write_row(capture, key, blobs) for key in keys]


def read_memory(value: Any, recording: Recording, blobs: Blobs) -> tuple[dict[Key, bytes], dict[Key, Expected]]:
    """Contents and expected contents, of sizes that fit the recording."""
    contents: dict[Key, bytes] = {}
    wanted: dict[Key, Expected] = {}
    last = (-1, 0)
    for index, row in enumerate(items(value)):
        with inside(f"memory[{index}]"):
            key, data, expected = _read_row(row, recording, blobs)
            if _order(key) <= last:
                raise InvalidArgumentError("the memory of the manifest is not in order, or there twice")
            last = _order(key)
            if data is not None:
                contents[key] = data
            if expected is not None:
                wanted[key] = expected
    return contents, wanted


def _order(key: Key) -> tuple[int, int]:
    return (1, key.index) if isinstance(key, Slot) else (0, key)


def _write_row(capture: Capture, key: Key, blobs: Blobs) -> dict[str, Any]:
    contents, expected = capture.contents.get(key), capture.expected.get(key)
    _check_row(capture.recording, key, contents, expected)
    row: dict[str, Any] = {
        "place": {"slot": key.index} if isinstance(key, Slot) else {"buffer": key},
        "contents": None if contents is None else blobs.add(contents),
        "expected": None,
    }
    if expected is not None:
        tolerances = {"dtype": expected.dtype, "rtol": float(expected.rtol), "atol": float(expected.atol)}
        row["expected"] = {"data": blobs.add(expected.data), **tolerances}
    return row


def _read_row(row: Any, recording: Recording, blobs: Blobs) -> tuple[Key, bytes | None, Expected | None]:
    place, contents, expected = fields(row, "place", "contents", "expected")
    key = _read_key(place, recording)
    data = optional(blobs.get, contents)
    wanted = optional(lambda value: _read_expected(value, blobs), expected)
    _check_row(recording, key, data, wanted)
    return key, data, wanted


def _check_row(recording: Recording, key: Key, contents: bytes | None, expected: Expected | None) -> None:
    """A row says something, and in sizes that fit; the size of a binding is that of its contents."""
    if contents is None and (expected is None or isinstance(key, Slot)):
        raise InvalidArgumentError(
            f"nothing says what {name(recording, key)} holds to begin with",
            found="no contents" if expected is None else "expected contents only",
            next_step="give contents= for it too; for a slot they set the size of the binding",
        )
    if contents is not None:
        check_size(recording, key, len(contents))
    if expected is not None:
        check_whole(expected)
        size = len(expected.data)
        check_size(recording, key, size)
        if contents is not None and size != len(contents):
            raise InvalidArgumentError(
                f"what is expected of {name(recording, key)} has another size than its contents",
                found=f"{size} bytes",
                allowed=f"{len(contents)} bytes",
            )


def _read_key(place: Any, recording: Recording) -> Key:
    if isinstance(place, dict) and "slot" in place:
        (slot,) = fields(place, "slot")
        if number(slot) >= recording.binding_capacity:
            raise InvalidArgumentError("contents of a slot that is not in the binding table", found=str(slot))
        return Slot(slot)
    (buffer,) = fields(place, "buffer")
    if number(buffer) not in recording.resources.buffers:
        raise InvalidArgumentError("contents of a buffer that the recording does not have", found=str(buffer))
    check_lasting(recording, buffer)
    return int(buffer)


def _read_expected(row: Any, blobs: Blobs) -> Expected:
    data, dtype, rtol, atol = fields(row, "data", "dtype", "rtol", "atol")
    if text(dtype) not in TOLERANCES:
        raise InvalidArgumentError("an unknown type is expected", found=repr(dtype)[:80], allowed=", ".join(TOLERANCES))
    return Expected(blobs.get(data), dtype, real(rtol), real(atol))
