"""Packing arguments of types that a kernel was given before: one `struct` call for all its numbers.

A recording has thousands of dispatches of a handful of kernels, with the same types in the same places. What cannot be
packed this way, and whatever is wrong, is left to the rules in `kernel_args`, which say what is wrong.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

from hipgraph_cb.code_object.scalars import number_format


class Place(Protocol):
    """Where one argument goes; `size` and `offset` in bytes."""

    @property
    def offset(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def type_name(self) -> str | None: ...


class Packer(NamedTuple):
    """For one combination of argument types of one kernel.

    Attributes:
        pack: makes the block of the numbers; raises struct.error or OverflowError for one that does not fit.
        pack_head: the same up to the end of the last number; zeros follow.
        numbers: takes the numbers out of the arguments, in the order of their offsets.
        pointers: (offset, index of the argument) of every pointer that is not null.
        addresses: takes the pointers out of the arguments, null ones included.
    """

    pack: Callable[..., bytes]
    pack_head: Callable[..., bytes]
    numbers: Callable[[Sequence[object]], tuple[Any, ...]]
    pointers: tuple[tuple[int, int], ...]
    addresses: Callable[[Sequence[object]], tuple[Any, ...]]


NOT_POINTERS = frozenset({bool, int, float, bytes, str})


def packer(places: Sequence[Place], are_pointers: Sequence[bool], size: int, types: Sequence[type]) -> Packer | None:
    """A packer for arguments of these types, or None if they need a closer look.

    Args:
        places: where each argument goes.
        are_pointers: which of them are pointers.
        size: bytes of the block.
    """
    arguments = sorted(zip(places, are_pointers, types, range(len(types)), strict=True), key=lambda row: row[0].offset)
    layout, end, numbers, pointers = "<", 0, [], []
    for place, is_pointer, type_, index in arguments:
        if not is_pointer:
            form = number_format(place.size, place.type_name, type_)
            if form is None or place.offset < end:
                return None
            layout += f"{place.offset - end}x{form}"
            end = place.offset + place.size
            numbers.append(index)
        elif type_ in NOT_POINTERS:
            return None
        elif type_ is not type(None):
            pointers.append((place.offset, index))
    pack, pack_head = struct.Struct(f"{layout}{size - end}x").pack, struct.Struct(layout).pack
    addresses = [index for _, is_pointer, _, index in arguments if is_pointer]
    return Packer(pack, pack_head, _getter(numbers), tuple(pointers), _getter(addresses))


def _getter(indices: Sequence[int]) -> Callable[[Sequence[object]], tuple[Any, ...]]:
    if len(indices) > 1:
        return itemgetter(*indices)
    return lambda arguments: tuple([arguments[index] for index in indices])
