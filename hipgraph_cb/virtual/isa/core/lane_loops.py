"""Passes over the lanes of registers for which numpy needs several, in machine code: `lane_loops.c`, already built.

They are an accelerator and no second meaning of any instruction: each does what a few lines of numpy say, bit for bit
(a NaN may have other payload bits), and every caller has those lines as a fallback. A function here
returns None, and has done nothing, when it cannot run: another processor than x86-64 with AVX2 and FMA, another
interpreter than CPython with its lock, arrays that are not rows of neighbouring lanes, a place out of bounds.

The calls keep the interpreter's lock. They last some microseconds, and getting the lock back would take longer.
"""

from __future__ import annotations

import ctypes
import platform
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

LIBRARY = Path(__file__).with_name("lane_loops.x86-64.so")

_ARRAY, _ARRAY_OR_NULL, _NUMBER, _INT = ctypes.py_object, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int
_PLACES = (_ARRAY, _NUMBER, _ARRAY, _NUMBER, _INT, _NUMBER, _ARRAY_OR_NULL, _ARRAY_OR_NULL, *[_NUMBER] * 3)
_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "multiply_add_float": (_ARRAY,) * 4,
    "multiply_add_double": (_ARRAY,) * 4,
    "choose_u32": (_ARRAY,) * 4,
    "choose_u64": (_ARRAY,) * 4,
    "unusual_exponents": (_ARRAY, _ARRAY, _ARRAY, ctypes.c_void_p),
    "extent": (_ARRAY_OR_NULL, _ARRAY, _NUMBER, _ARRAY_OR_NULL),
    "gather": (_ARRAY, *_PLACES),
    "scatter": (_NUMBER, _NUMBER, *_PLACES, _ARRAY),
    "knows": (_ARRAY, *[_NUMBER] * 5),
    "can_run": (),
}
_F32 = np.dtype(np.float32)
_MULTIPLY_ADD: dict[Any, str] = {_F32: "multiply_add_float", np.dtype(np.float64): "multiply_add_double"}
_CHOOSE: dict[Any, str] = {np.dtype(np.uint32): "choose_u32", np.dtype(np.uint64): "choose_u64"}
_INDEX_SIZES: dict[Any, int] = {np.dtype(np.uint32): 4, np.dtype(np.int64): 8}
_Extent = ctypes.c_uint64 * 2

Bounds = tuple[int, int, int]
"""(size, start, end): `size` bytes at each chosen place must be in the bytes from `start` to (not including) `end`."""
UNCHECKED: Bounds = (0, 0, 0)


def _load() -> ctypes.PyDLL | None:
    """The loops, or None where they cannot run."""
    is_cpython = sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
    if not is_cpython or platform.machine() != "x86_64" or not sys.platform.startswith("linux"):
        return None
    try:
        library = ctypes.PyDLL(str(LIBRARY))
    except OSError:  # its file system may be mounted noexec
        return None
    for name, argument_types in _ARGUMENTS.items():
        getattr(library, name).argtypes = argument_types
    probe = np.zeros((3, 5), np.uint16)[:, :2]
    is_known = library.knows(probe, probe.ctypes.data, *probe.shape, *probe.strides)
    return library if is_known and library.can_run() else None


LOOPS = _load()


def multiply_add(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> Any:
    """a * b + c with one rounding to nearest even. All f32, or all f64."""
    return _combined(_MULTIPLY_ADD, a, b, c) if a.dtype is c.dtype else None


def choose(lanes: NDArray[np.bool_], chosen: NDArray[Any], other: NDArray[Any]) -> Any:
    """`chosen` in the lanes that are true, else `other`. Both uint32, or both uint64."""
    return _combined(_CHOOSE, lanes, chosen, other)


def _combined(names: dict[Any, str], first: NDArray[Any], second: NDArray[Any], third: NDArray[Any]) -> Any:
    name = names.get(third.dtype)
    if LOOPS is None or name is None or second.dtype is not third.dtype:
        return None
    loop = getattr(LOOPS, name)
    # Usually one operand has the shape of the result, and then it is the largest of the three.
    result = np.empty(max(first.shape, second.shape, third.shape), third.dtype)
    if loop(result, first, second, third):
        return result
    result = np.empty(np.broadcast(first, second, third).shape, third.dtype)
    return result if loop(result, first, second, third) else None


def unusual_exponents(a: NDArray[Any], b: NDArray[Any], limits: NDArray[np.int16]) -> Any:
    """The lanes whose exponent fields (biased) of `a` or `b`, or the one less the other, are out of bounds; f32 only.

    False when there are none. `limits`: [3, 2], the lowest and the highest of each, bounds included.
    """
    if LOOPS is None or a.dtype is not _F32 or b.dtype is not _F32:
        return None
    result = np.empty(np.broadcast(a, b).shape, np.bool_)
    answer = LOOPS.unusual_exponents(result, a, b, limits.ctypes.data)
    return (None, result, False)[answer]


def extent(indices: NDArray[Any], lanes: NDArray[np.bool_] | None) -> tuple[int, int] | None:
    """The lowest and the highest of `indices` (uint32, or int64 not below 0) in `lanes`; low > high without any."""
    size = _INDEX_SIZES.get(indices.dtype)
    if LOOPS is None or size is None:
        return None
    found = _Extent()
    return (found[0], found[1]) if LOOPS.extent(found, indices, size, _object(lanes)) else None


def gather(
    memory: NDArray[np.uint8],
    origin: int,
    indices: NDArray[Any],
    shift: int = 0,
    *,
    size: int = 4,
    rows: NDArray[np.int64] | None = None,
    lanes: NDArray[np.bool_] | None = None,
    bounds: Bounds = UNCHECKED,
) -> Any:
    """The words of `size` bytes at `origin` + (index << shift) of `memory`, as uint32; 0 in lanes that are not chosen.

    They need no alignment.

    Args:
        indices: uint32, or int64 not below 0.
        rows: an offset a wave that is added to its places, [waves, 1].
        lanes: which lanes, [waves, 64]; None for all.
        bounds: checked without `rows`; None is returned where a chosen lane is out of bounds.
    """
    item = _INDEX_SIZES.get(indices.dtype)
    if LOOPS is None or item is None:
        return None
    shape = indices.shape if lanes is None else lanes.shape
    if rows is not None and len(rows) != shape[0]:
        shape = (len(rows), shape[1])
    result = np.empty(shape, np.uint32)
    at = (memory, origin, indices, item, shift, size, _object(rows), _object(lanes), *bounds)
    return result if LOOPS.gather(result, *at) else None


def scatter(
    memory: NDArray[np.uint8],
    origin: int,
    indices: NDArray[Any],
    values: NDArray[np.uint32],
    shape: tuple[int, ...],
    shift: int = 0,
    *,
    size: int = 4,
    rows: NDArray[np.int64] | None = None,
    lanes: NDArray[np.bool_] | None = None,
    bounds: Bounds = UNCHECKED,
) -> bool:
    """Write `values` to the places that `gather` reads; of two lanes that name one place the higher wins.

    `shape`: waves and lanes, to which everything broadcasts. False when nothing was written.
    """
    item = _INDEX_SIZES.get(indices.dtype)
    if LOOPS is None or item is None:
        return False
    at = (memory, origin, indices, item, shift, size, _object(rows), _object(lanes), *bounds)
    return bool(LOOPS.scatter(*shape, *at, values))


def gather_words(
    memory: NDArray[np.uint8],
    origin: int,
    indices: NDArray[Any],
    count: int,
    shift: int = 0,
    *,
    rows: NDArray[np.int64] | None = None,
    lanes: NDArray[np.bool_] | None = None,
    bounds: Bounds = UNCHECKED,
) -> list[Any] | None:
    """`count` consecutive words from each place on, one array for each; see `gather`. `bounds` hold for all of them."""
    first = gather(memory, origin, indices, shift, rows=rows, lanes=lanes, bounds=bounds)
    if first is None:
        return None
    others = range(origin + 4, origin + 4 * count, 4)
    return [first, *(gather(memory, other, indices, shift, rows=rows, lanes=lanes) for other in others)]


def scatter_words(
    memory: NDArray[np.uint8],
    origin: int,
    indices: NDArray[Any],
    values: Sequence[NDArray[np.uint32]],
    shape: tuple[int, ...],
    shift: int = 0,
    *,
    rows: NDArray[np.int64] | None = None,
    lanes: NDArray[np.bool_] | None = None,
    bounds: Bounds = UNCHECKED,
) -> bool:
    """Write consecutive words from each place on; see `scatter`. `bounds` hold for all of them."""
    for position, value in enumerate(values):
        where = origin + 4 * position
        if not scatter(memory, where, indices, value, shape, shift, rows=rows, lanes=lanes, bounds=bounds):
            return False
        bounds = UNCHECKED
    return True


def _object(array: NDArray[Any] | None) -> int | None:
    """The address of a numpy array object, as C sees it; the caller holds the array."""
    return None if array is None else id(array)
