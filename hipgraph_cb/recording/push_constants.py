"""The older call shape: constants and descriptor sets that are pushed first and used by the dispatches that follow.

What was pushed stays until it is pushed again. A set is replaced as a whole, so no binding of an earlier dispatch shows
through, and a dispatch that needs a word or a binding that nobody pushed is refused.
"""

from __future__ import annotations

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

    __slots__ = ("_sets", "_words")

    def __init__(self) -> None:
        self._words: dict[int, int] = {}
        self._sets: dict[int, tuple[Any, ...]] = {}

    def __bool__(self) -> bool:
        return bool(self._words or self._sets)

    def push_constants(self, offset: object, values: Any) -> None:
        """See `CommandBuffer.push_constants`."""
        start = integer(offset, "offset")
        words = _words_of(values)
        if start % _WORD:
            raise InvalidArgumentError("constants start at a multiple of 4 bytes", found=f"offset {start}")
        end = start + _WORD * len(words)
        if end > CONSTANT_BYTES:
            raise OutOfRangeError(
                "the constants reach past the end of their area",
                found=f"offset {start} + {_WORD * len(words)} bytes = {end}",
                allowed=f"offset + bytes <= {CONSTANT_BYTES}",
            )
        self._words.update(zip(range(start // _WORD, end // _WORD), words, strict=True))

    def push_set(self, number: object, bindings: Any) -> None:
        """See `CommandBuffer.push_descriptor_set`."""
        index = integer(number, "set")
        if index >= MAX_SETS:
            raise OutOfRangeError(
                "there is no such descriptor set", found=f"set {index}", allowed=f"0 to {MAX_SETS - 1}"
            )
        self._sets[index] = _bindings_of(index, bindings)

    def pack(self, layout: KernargLayout) -> PackedArguments:
        """The arguments of a kernel: the bindings of all sets in order, and as many words as its values take.

        Raises:
            InvalidArgumentError: another number of bindings than the kernel has pointers, or a word that is missing.
        """
        bindings = [binding for index in sorted(self._sets) for binding in self._sets[index]]
        values = sum(parameter.size for parameter in layout.parameters if parameter.kind.name == "VALUE")
        needed = range(values // _WORD)
        missing = [index for index in needed if index not in self._words]
        if missing:
            raise InvalidArgumentError(
                f"{layout.kernel}: a constant was never pushed",
                found=f"no word at byte {_WORD * missing[0]}",
                allowed=f"{len(needed)} words, bytes 0 to {_WORD * len(needed)}",
                next_step="call push_constants for all of them, or pass args=",
            )
        packed: PackedArguments = layout.pack_hal(bindings, [self._words[index] for index in needed])
        return packed


def _words_of(values: Any) -> list[int]:
    """32-bit words from ints, or from host data of whole words."""
    if isinstance(values, Sequence) and not isinstance(values, (bytes, bytearray, memoryview, str)):
        return [_word(value) for value in values]
    data = host_bytes(values, "values")
    if len(data) % _WORD:
        raise InvalidArgumentError("constants are whole 32-bit words", found=f"{len(data)} bytes")
    return [int.from_bytes(data[start : start + _WORD], "little") for start in range(0, len(data), _WORD)]


def _word(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and -(1 << 31) <= value < 0:
        return value + (1 << 32)
    return integer(value, "a constant", largest=(1 << 32) - 1)


def _bindings_of(number: int, bindings: Any) -> tuple[Any, ...]:
    """The bindings of a set in order, from a sequence or from ordinal -> buffer."""
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
    if len(ordinals) > MAX_BINDINGS:
        raise ResourceExhaustedError(
            f"descriptor set {number} is too large", found=f"{len(ordinals)} bindings", allowed=f"{MAX_BINDINGS}"
        )
    missing = next((index for index in range(len(ordinals)) if index not in ordinals), None)
    if missing is not None:
        raise InvalidArgumentError(
            f"descriptor set {number} has a gap",
            found=f"bindings {', '.join(map(str, sorted(ordinals)))}",
            allowed=f"bindings 0 to {len(ordinals) - 1}; {missing} is missing",
        )
    return tuple(ordinals[index] for index in range(len(ordinals)))
