"""Packing a dispatch: one `struct` call for a whole block, with a relocation word for each pointer and the launch shape
behind the arguments.

A recording has thousands of dispatches of a handful of kernels, with the same types in the same places, so what depends
on types is worked out once: how each argument gives its part of the block. What is wrong is left to the rules in
`kernel_args`, which say what is wrong.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

from hipgraph_cb.abi.c_types import may_point_to
from hipgraph_cb.code_object.scalars import Encoder, ScalarError, number_format

WORD = 8
"""Bytes of a pointer, and of the word in its place. Blocks are whole words."""

COUNT = struct.Struct("<3I")
REST_SIZE = 20
"""Behind the arguments are the workgroup counts, then these bytes of the rest of the shape."""

Packer = Callable[[Sequence[object], Mapping[Any, int], int, int, int, bytes], "bytes | None"]
"""Makes the block of arguments of certain types; None for other types. The mapping gives the word of each pointer; then
come the workgroup counts and the rest of the shape."""

Unpackable = (struct.error, OverflowError, ScalarError, TypeError, ValueError)
"""What a packer raises for a value that it cannot pack, or for another number of them; the rules may still take it."""


class Place(Protocol):
    """Where one argument goes; `size` and `offset` in bytes."""

    @property
    def offset(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def type_name(self) -> str | None: ...
    @property
    def structure(self) -> object | None: ...


NOT_POINTERS = frozenset({bool, int, float, bytes, str})


def packer(places: Sequence[Place], encoders: Sequence[Encoder | None], types: Sequence[type]) -> Packer | None:
    """A packer for arguments of these types, or None where a pointer is given what can be none.

    Args:
        places: where each argument goes, in ascending order.
        encoders: what makes the bytes of each value; None for a pointer.
    """
    layout, end, parts, tests, used = "<", 0, [], [], list[Any]()
    for index, (place, encode, type_) in enumerate(zip(places, encoders, types, strict=True)):
        layout += f"{place.offset - end}x"
        end = place.offset + place.size
        if encode is None:
            if type_ in NOT_POINTERS and type_ is not int:
                return None
            layout += "Q"
            if has_elements(type_):
                tests.append(f"a{index}.__class__ is g{len(used)} and g{len(used) + 1}(a{index}.dtype)")
                used += [type_, _element_test(place.type_name)]
                parts.append(f"words[a{index}.bytes]")
            else:
                parts.append(f"words[a{index}]")
            continue
        form = number_format(place.size, place.type_name, type_) if place.structure is None else None
        layout += form or f"{place.size}s"
        tests.append(f"a{index}.__class__ is g{len(used)}")
        used.append(type_)
        parts.append(f"a{index}" if form else f"g{len(used)}(a{index})")
        if not form:
            used.append(encode)
    layout += f"{-end % WORD}x3I{REST_SIZE}s"
    names = "".join(f"a{index}, " for index in range(len(types)))
    test = " and ".join(tests) or "True"
    return _factory(names, test, "".join(f"{part}, " for part in parts), len(used))(struct.Struct(layout).pack, *used)


def has_elements(type_: type) -> bool:
    """Whether objects of this class are device memory with an element type. They cannot be hashed, so that no packer of
    other types takes them."""
    return getattr(type_, "__hash__", None) is None and hasattr(type_, "dtype") and hasattr(type_, "buffer")


def _element_test(pointer: str | None) -> Callable[[Any], bool]:
    return lambda dtype: may_point_to(pointer, dtype.kind, dtype.itemsize)


@lru_cache(maxsize=1024)
def _factory(names: str, test: str, parts: str, given: int) -> Callable[..., Packer]:
    """What makes packers of one pattern; the source has nothing in it but numbered names."""
    parameters = "".join(f", g{index}" for index in range(given))
    unpack = f"{names}= arguments" if names else "() = arguments"
    source = (
        f"def make(pack{parameters}):\n"
        f"    def packer(arguments, words, x, y, z, rest):\n"
        f"        {unpack}\n"
        f"        if {test}:\n"
        f"            return pack({parts}x, y, z, rest)\n"
        f"    return packer\n"
    )
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    make: Callable[..., Packer] = namespace["make"]
    return make


def block_size(places: Sequence[Place]) -> int:
    """Bytes of a block: up to the end of the last argument, in whole words."""
    end = max((place.offset + place.size for place in places), default=0)
    return -(-end // WORD) * WORD
