"""Passes over the lanes of registers for which numpy needs several, in machine code: `lane_loops.c`, built beforehand.

They are an accelerator and no second meaning of any instruction: each does what a few lines of numpy say, bit for bit
(a NaN may have other payload bits), and every caller has those lines for whoever cannot run them. A function here
returns None, and has done nothing, when it cannot: another processor than x86-64 with AVX2 and FMA, another
interpreter than CPython with its lock, arrays that are not rows of neighbouring lanes.

The calls keep the interpreter's lock. They last some microseconds, and getting the lock back would take longer.
"""

from __future__ import annotations

import ctypes
import platform
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

LIBRARY = Path(__file__).with_name("lane_loops.x86-64.so")

_ARRAY, _NUMBER, _INT = ctypes.py_object, ctypes.c_int64, ctypes.c_int
_NO_ARRAY = ctypes.c_void_p
_INDICES = (np.dtype(np.uint32), np.dtype(np.int64))


def _load() -> ctypes.PyDLL | None:
    """The loops, or None where they cannot run."""
    is_cpython = sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
    if not is_cpython or platform.machine() != "x86_64" or not sys.platform.startswith("linux"):
        return None
    try:
        library = ctypes.PyDLL(str(LIBRARY))
    except OSError:  # the file system it lies on may not hold code
        return None
    library.knows.argtypes = (_ARRAY, *[_NUMBER] * 5)
    probe = np.zeros((3, 5), np.uint16)[:, :2]
    is_known = library.knows(probe, probe.ctypes.data, *probe.shape, *probe.strides)
    return library if is_known and library.can_run() else None


LOOPS = _load()


def _functions(form: str, kinds: dict[str, Any], argument_types: tuple[Any, ...]) -> dict[Any, Callable[..., int]]:
    """The loops whose names `form` gives for `kinds`, by the numpy types that these stand for."""
    if LOOPS is None:
        return {}
    found: dict[Any, Callable[..., int]] = {}
    for kind, key in kinds.items():
        function = LOOPS[form.format(kind)]
        function.argtypes = argument_types
        found[key] = function
    return found


_FLOATS = {"float": np.dtype(np.float32), "double": np.dtype(np.float64)}
_WORDS = {"u32": np.dtype(np.uint32), "u64": np.dtype(np.uint64)}
_PLACES = {
    f"{kind}_u{8 * size}": (dtype, size)
    for kind, dtype in (("u32", np.dtype(np.uint32)), ("u64", np.dtype(np.int64)))
    for size in (1, 2, 4)
}
_multiply_add = _functions("multiply_add_{}", _FLOATS, (_ARRAY,) * 4)
_choose = _functions("choose_{}", _WORDS, (_ARRAY,) * 4)
_extent = _functions("extent_{}", {"u32": _WORDS["u32"], "u64": np.dtype(np.int64)}, (_NO_ARRAY, _ARRAY, _NO_ARRAY))
_PLACE = (_ARRAY, _NUMBER, _ARRAY, _INT, _NO_ARRAY, _NO_ARRAY)
_gather = _functions("gather_{}", _PLACES, (_ARRAY, *_PLACE))
_scatter = _functions("scatter_{}", _PLACES, (*_PLACE, _ARRAY, _NUMBER, _NUMBER))


def multiply_add(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> Any:
    """a * b + c with one rounding to nearest even. All f32, or all f64."""
    loop = _multiply_add.get(a.dtype)
    if loop is None:
        return None
    shape = a.shape
    if b.shape != shape or c.shape != shape:
        shape = np.broadcast(a, b, c).shape
    result = np.empty(shape, a.dtype)
    return result if loop(result, a, b, c) else None


def choose(lanes: NDArray[np.bool_], chosen: NDArray[Any], other: NDArray[Any]) -> Any:
    """`chosen` in the lanes that are true, else `other`. Both uint32, or both uint64."""
    loop = _choose.get(chosen.dtype)
    if loop is None:
        return None
    shape = lanes.shape
    if other.shape != shape or chosen.shape != shape:
        shape = np.broadcast(lanes, chosen, other).shape
    result = np.empty(shape, chosen.dtype)
    return result if loop(result, lanes, chosen, other) else None


def extent(indices: NDArray[Any], lanes: NDArray[np.bool_] | None) -> tuple[int, int] | None:
    """The lowest and the highest of `indices` (uint32, or int64 not below 0) in `lanes`; low > high without any."""
    loop = _extent.get(indices.dtype)
    if loop is None:
        return None
    found = (ctypes.c_int64 * 2)()
    return (found[0], found[1]) if loop(found, indices, None if lanes is None else id(lanes)) else None


def gather(
    memory: NDArray[np.uint8],
    origin: int,
    indices: NDArray[Any],
    shift: int = 0,
    *,
    size: int = 4,
    rows: NDArray[np.int64] | None = None,
    lanes: NDArray[np.bool_] | None = None,
) -> Any:
    """The words of `size` bytes at `origin` + (index << shift) + the row's offset, as uint32; 0 in other lanes.

    The caller has checked that they lie in `memory`. They need no alignment.

    Args:
        indices: uint32, or int64 not below 0.
        rows: an offset a wave, [waves, 1].
        lanes: which lanes, [waves, 64]; None for all.
    """
    loop = _gather.get((indices.dtype, size))
    if loop is None:
        return None
    shape = indices.shape if lanes is None else lanes.shape
    if rows is not None and len(rows) != shape[0]:
        shape = (len(rows), shape[1])
    result = np.empty(shape, np.uint32)
    place = (memory, origin, indices, shift, _object(rows), _object(lanes))
    return result if loop(result, *place) else None


def scatter(
    memory: NDArray[np.uint8],
    origin: int,
    indices: NDArray[Any],
    values: NDArray[np.uint32],
    shape: tuple[int, int],
    shift: int = 0,
    *,
    size: int = 4,
    rows: NDArray[np.int64] | None = None,
    lanes: NDArray[np.bool_] | None = None,
) -> bool:
    """Write `values` to the places that `gather` reads; of two lanes that name one place the higher wins.

    `shape`: waves and lanes, to which everything broadcasts. False when it was not done.
    """
    loop = _scatter.get((indices.dtype, size))
    if loop is None:
        return False
    return bool(loop(memory, origin, indices, shift, _object(rows), _object(lanes), values, *shape))


def _object(array: NDArray[Any] | None) -> int | None:
    """The address of a numpy array object, as C sees it; the caller holds the array."""
    return None if array is None else id(array)
