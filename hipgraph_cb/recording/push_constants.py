"""The older call shape: constants and descriptor sets that are pushed first and used by the dispatches that follow.

What was pushed stays until it is pushed again, byte by byte and binding by binding; a list of bindings is a whole set.
A dispatch that needs a byte or a binding that nobody pushed is refused.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hipgraph_cb.errors import InvalidArgumentError, OutOfRangeError, ResourceExhaustedError
from hipgraph_cb.recording.validation import host_bytes, integer

if TYPE_CHECKING:
    from hipgraph_cb.code_object.kernel_args import KernargLayout, PackedArguments

CONSTANT_BYTES = 256
"""The push-constant area: 64 words of 32 bits."""

MAX_SETS = 4
MAX_BINDINGS = 16
"""Bindings of one set, and the largest number of bindings that a dispatch of the HIP driver takes."""

_WORD = 4


class PushedArguments:
    """What has been pushed so far."""

    __slots__ = ("_bytes", "_pushed", "_sets")

    def __init__(self) -> None:
        self._bytes = bytearray(CONSTANT_BYTES)
        self._pushed = bytearray(CONSTANT_BYTES)
        """1 for each byte that somebody pushed."""
        self._sets: dict[int, dict[int, Any]] = {}

    def __bool__(self) -> bool:
        return bool(self._sets) or any(self._pushed)

    def push_constants(self, offset: object, values: Any) -> None:
        """See `CommandBuffer.push_constants`."""
        start = integer(offset, "offset")
        data = _constant_bytes(values)
        end = start + len(data)
        if end > CONSTANT_BYTES:
            raise OutOfRangeError(
                "the constants reach past the end of their area",
                found=f"offset {start} + {len(data)} bytes = {end}",
                allowed=f"offset + bytes <= {CONSTANT_BYTES}",
            )
        self._bytes[start:end] = data
        self._pushed[start:end] = b"\1" * len(data)

    def push_set(self, number: object, bindings: Any) -> None:
        """See `CommandBuffer.push_descriptor_set`."""
        index = integer(number, "set")
        if index >= MAX_SETS:
            raise OutOfRangeError(
                "there is no such descriptor set", found=f"set {index}", allowed=f"0 to {MAX_SETS - 1}"
            )
        given = _bindings_of(index, bindings)
        earlier = self._sets.get(index, {}) if isinstance(bindings, Mapping) else {}
        self._sets[index] = {**earlier, **given}

    def pack(self, layout: KernargLayout) -> PackedArguments:
        """The arguments of a kernel: the bindings of all sets in order, and as many words as its values take.

        Raises:
            InvalidArgumentError: another number of bindings than the kernel has pointers, or a byte or a binding is
                missing.
        """
        bindings = [binding for index in sorted(self._sets) for binding in self._bindings(index, layout)]
        values = sum(parameter.size for parameter in layout.parameters if parameter.kind.name == "VALUE")
        size = values - values % _WORD
        missing = self._pushed.find(0, 0, size)
        if missing >= 0:
            raise InvalidArgumentError(
                f"{layout.kernel}: a constant was never pushed",
                found=f"nothing at byte {missing}",
                allowed=f"{size // _WORD} words, bytes 0 to {size}",
                next_step="call push_constants for all of them, or pass args=",
            )
        words = struct.unpack(f"<{size // _WORD}I", self._bytes[:size])
        packed: PackedArguments = layout.pack_hal(bindings, list(words))
        return packed

    def _bindings(self, number: int, layout: KernargLayout) -> list[Any]:
        """The bindings of a set in order."""
        known = self._sets[number]
        missing = next((index for index in range(len(known)) if index not in known), None)
        if missing is not None:
            raise InvalidArgumentError(
                f"{layout.kernel}: descriptor set {number} has a gap",
                found=f"bindings {', '.join(map(str, sorted(known)))}",
                allowed=f"bindings 0 to {max(known)}; {missing} was never pushed",
                next_step="call push_descriptor_set for it, or pass bindings=",
            )
        return [known[index] for index in range(len(known))]


def _constant_bytes(values: Any) -> bytes:
    """The bytes of 32-bit words, or of host data."""
    if isinstance(values, Sequence) and not isinstance(values, (bytes, bytearray, memoryview, str)):
        return b"".join([_word(value).to_bytes(_WORD, "little") for value in values])
    return host_bytes(values, "values")


def _word(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and -(1 << 31) <= value < 0:
        return value + (1 << 32)
    return integer(value, "a constant", largest=(1 << 32) - 1)


def _bindings_of(number: int, bindings: Any) -> dict[int, Any]:
    """The bindings that are given, from a sequence or from ordinal -> buffer."""
    if isinstance(bindings, Mapping):
        ordinals = {integer(key, "binding"): value for key, value in bindings.items()}
    elif isinstance(bindings, Sequence) and not isinstance(bindings, (str, bytes)):
        ordinals = dict(enumerate(bindings))
    else:
        raise InvalidArgumentError(
            "bindings are neither a sequence nor a mapping",
            found=type(bindings).__name__,
            allowed="buffers in order, or {binding: buffer}",
        )
    highest = max(ordinals, default=-1)
    if highest >= MAX_BINDINGS:
        raise ResourceExhaustedError(
            f"descriptor set {number} is too large",
            found=f"binding {highest}",
            allowed=f"bindings 0 to {MAX_BINDINGS - 1}",
        )
    return ordinals
