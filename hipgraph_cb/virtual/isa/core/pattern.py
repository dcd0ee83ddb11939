"""Regular index arrays: start plus a multiple of each coordinate, as nearly all addresses of compiled kernels are.

What is indexed so can be reached through a strided view, without an index per lane: a copy of it is several times
faster than a gather, and its lowest and highest index need no search.
"""

from __future__ import annotations

import math
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_AXES = 6
_MASK32 = 0xFFFFFFFF
SMALLEST = 4096  # with fewer lanes, looking for a pattern takes longer than a gather


class Pattern:
    """Index of element (i, j, ...) of an array of `sizes`: start + i * steps[0] + j * steps[1] + ...

    Attributes:
        low, high: the lowest and the highest index.
        is_injective: no index occurs twice (False when that is not obvious).
    """

    __slots__ = ("high", "is_injective", "low", "sizes", "start", "steps")

    def __init__(self, start: int, sizes: tuple[int, ...], steps: tuple[int, ...]) -> None:
        self.start = start
        self.sizes = sizes
        self.steps = steps
        reach = [step * (size - 1) for size, step in zip(sizes, steps, strict=True)]
        self.low = start + sum(distance for distance in reach if distance < 0)
        self.high = start + sum(distance for distance in reach if distance > 0)
        self.is_injective = _nested(sizes, steps)

    def moved(self, distance: int) -> Pattern:
        """The same with `distance` added to every index."""
        return Pattern(self.start + distance, self.sizes, self.steps)

    def view(self, memory: NDArray[np.uint8], origin: int, unit: int) -> NDArray[np.uint32]:
        """The words of `memory` (contiguous bytes) at byte `origin` + `unit` times the index, as an array of `sizes`.

        The caller has checked that they are inside, and that `origin` and the distances are multiples of four.
        """
        steps = tuple(unit * step for step in self.steps)
        view: NDArray[np.uint32] = np.ndarray(
            self.sizes, np.uint32, buffer=memory, offset=origin + unit * self.start, strides=steps
        )
        return view

    def load(self, memory: NDArray[np.uint8], origin: int, unit: int) -> NDArray[np.uint32]:
        """A copy of the words of `view`, one-dimensional.

        What is the same along an axis is read once and repeated, which copies longer pieces.
        """
        view = self.view(memory, origin, unit)
        if 0 not in self.steps:
            copied: NDArray[np.uint32] = view.copy()
            return copied.reshape(-1)
        axis = len(self.steps) - 1 - self.steps[::-1].index(0)
        once: NDArray[np.uint32] = view[(slice(None),) * axis + (0,)].copy()
        if axis == len(self.steps) - 1:
            return once.reshape(-1).repeat(self.sizes[axis])
        piece = math.prod(self.sizes[axis + 1 :])
        repeated: NDArray[np.uint32] = once.reshape(-1, piece).repeat(self.sizes[axis], axis=0)
        return repeated.reshape(-1)

    def is_aligned(self, unit: int) -> bool:
        """Whether `unit` times any index is a multiple of four."""
        return not unit & 3 or not any(unit * number & 3 for number in (self.start, *self.steps))


def _nested(sizes: tuple[int, ...], steps: tuple[int, ...]) -> bool:
    """Whether each step reaches past everything that the smaller ones cover."""
    covered = 0
    for step, size in sorted((abs(step), size) for step, size in zip(steps, sizes, strict=True)):
        if step <= covered:
            return False
        covered += step * (size - 1)
    return True


def find(indices: NDArray[Any]) -> Pattern | None:
    """The pattern of a C-contiguous array of integers, or None when it has none, or too many axes, or is small."""
    if indices.size < SMALLEST or not indices.flags.c_contiguous:
        return None
    rest = indices.reshape(-1)
    start = int(rest[0])
    sizes: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    while len(rest) > 1:
        size, step = _run(rest)
        if size < 2 or len(sizes) == MOST_AXES:
            return None
        sizes, steps = (size, *sizes), (step, *steps)
        rest = rest[::size]
    pattern = Pattern(start, sizes, steps)
    if pattern.low < 0 or pattern.high > _LIMITS[indices.dtype.char]:
        return None
    return pattern if len(sizes) == 1 or _agrees(pattern, indices) else None


_LIMITS = {np.dtype(kind).char: int(np.iinfo(kind).max) for kind in (np.uint32, np.int64)}
_PEEK = 65  # elements that are looked at one by one; most rows are no longer than a wave


def _run(values: NDArray[Any]) -> tuple[int, int]:
    """How many elements from the first go up by one step, as a divisor of the number of elements; and the step."""
    head = values[:_PEEK].tolist()
    step = head[1] - head[0]
    size = 2
    while size < len(head) and head[size] - head[size - 1] == step:
        size += 1
    if size == _PEEK:
        differs = values != _line(head[0], len(values), step, values.dtype)
        size = int(differs.argmax()) or len(values)
    return math.gcd(size, len(values)), step


def _agrees(pattern: Pattern, indices: NDArray[Any]) -> bool:
    expected = _line(pattern.start, pattern.sizes[-1], pattern.steps[-1], indices.dtype)
    for size, step in zip(pattern.sizes[-2::-1], pattern.steps[-2::-1], strict=True):
        expected = (_line(0, size, step, indices.dtype).reshape(-1, 1) + expected).reshape(-1)
    return bool((indices.reshape(-1) == expected).all())


def _line(first: int, size: int, step: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """first, first + step, ... in arithmetic that wraps around like the values'."""
    steps = np.arange(size, dtype=dtype)
    steps *= np.int64(step).astype(dtype)
    steps += np.int64(first).astype(dtype)
    return steps


class _Family:
    """Arrays that differ by a distance modulo 2**32, so that the pattern of one is known for all.

    Attributes:
        uses: how often one of them was used as an index, counted up to one.
        pattern: of the member at distance `anchor` from the first; None while nobody has looked.
        has_none: somebody has looked in vain.
    """

    __slots__ = ("anchor", "has_none", "pattern", "uses")

    def __init__(self, uses: int) -> None:
        self.uses = uses
        self.pattern: Pattern | None = None
        self.anchor = 0
        self.has_none = False


class Patterns:
    """What is known of the index arrays that registers hold, as long as they live.

    Only an array that is used as an index for a second time, or one made from it, is worth looking at.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[NDArray[Any]], _Family, int]] = {}  # the distance from the first

    def of(self, indices: NDArray[Any]) -> Pattern | None:
        """The pattern of an array that is used as an index now, if it is known or worth finding out."""
        if indices.size < SMALLEST:
            return None
        found = self._entry(indices)
        if found is None:
            self._note(indices, _Family(uses=1), 0)
            return None
        family, distance = found
        if family.pattern is not None:
            moved = _distance_within(family.pattern, distance - family.anchor)
            return family.pattern if moved == 0 else None if moved is None else family.pattern.moved(moved)
        if family.uses and not family.has_none:
            family.pattern, family.anchor = find(indices), distance
            family.has_none = family.pattern is None
        family.uses = 1
        return family.pattern

    def expect(self, indices: NDArray[Any]) -> None:
        """The array is worth looking at when it is used for the first time."""
        if indices.size >= SMALLEST:
            self._note(indices, _Family(uses=1), 0)

    def distance(self, indices: NDArray[np.uint32], distance: int) -> int | None:
        """The distance that, added to every index, gives the sum modulo 2**32; None when that is not known."""
        found = self._entry(indices)
        if found is None:
            return None
        family, own = found
        if family.pattern is None:
            return None
        already = _distance_within(family.pattern, own - family.anchor)
        moved = _distance_within(family.pattern, own - family.anchor + distance)
        return None if already is None or moved is None else moved - already

    def note_sum(self, total: NDArray[np.uint32], indices: NDArray[np.uint32], distance: int) -> None:
        """`total` is `indices` plus `distance` modulo 2**32: what is known of the one holds for the other."""
        if total.size < SMALLEST:
            return
        found = self._entry(indices)
        if found is None:
            found = _Family(uses=0), 0
            self._note(indices, *found)
        self._note(total, found[0], found[1] + distance)

    def _entry(self, indices: NDArray[Any]) -> tuple[_Family, int] | None:
        found = self._known.get(id(indices))
        return None if found is None or found[0]() is not indices else found[1:]

    def _note(self, indices: NDArray[Any], family: _Family, distance: int) -> None:
        if len(self._known) >= 64:
            self._known = {key: entry for key, entry in self._known.items() if entry[0]() is not None}
            if len(self._known) >= 32:
                self._known.clear()
        self._known[id(indices)] = (weakref.ref(indices), family, distance & _MASK32)


def _distance_within(pattern: Pattern, distance: int) -> int | None:
    """The distance modulo 2**32 that keeps every index of a pattern in 0..2**32-1, if there is one."""
    rest = distance & _MASK32
    for possible in (rest, rest - (1 << 32)):
        if pattern.low + possible >= 0 and pattern.high + possible <= _MASK32:
            return possible
    return None
