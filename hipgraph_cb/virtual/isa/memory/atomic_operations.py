"""What an atomic does to a cell of memory, for many lanes at once, with the result of one serial order.

Lanes take their turn in ascending order. Lanes with different cells don't see each other, so they are taken together:
round n does the n-th lane of every cell. A cell that more than `CROWD` lanes use is done alone, all its lanes in one
go where the operation allows that. An operation whose old value is not read goes through numpy's `ufunc.at`.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Cells = NDArray[Any]
Indices = NDArray[np.int64]
Values = Any  # NDArray of the operation's dtype
Combine = Callable[..., Any]

CROWD = 64


@dataclass(frozen=True)
class AtomicOperation:
    """New value of a cell = `combine(old, operand, ...)`.

    Attributes:
        dtype: how the cell and the operands are looked at.
        operands: how many operands `combine` takes.
        ufunc: a numpy ufunc equal to `combine`, if there is one.
        walk: does all lanes of one cell: (start value, operands) -> (old value of each lane, end value).
    """

    dtype: type[np.generic]
    combine: Combine
    operands: int = 1
    ufunc: np.ufunc | None = None
    walk: Callable[..., tuple[NDArray[Any], Any]] | None = None

    @property
    def size(self) -> int:
        """Bytes of a cell."""
        return np.dtype(self.dtype).itemsize


def perform(
    memory: NDArray[np.uint8],
    offsets: Indices,
    operands: list[NDArray[Any]],
    operation: AtomicOperation,
    need_old: bool,
) -> NDArray[Any] | None:
    """Apply `operation` to the cells at byte `offsets` (1-D, aligned) of `memory`, lane after lane.

    Args:
        operands: one array a operand, as long as `offsets`, unsigned and as wide as the cell.

    Returns:
        What each lane found before its own turn, unsigned, or None when `need_old` is false.
    """
    cells = memory.view(operation.dtype)
    indices = offsets // operation.size
    typed = [operand.view(operation.dtype) for operand in operands]
    if not need_old and operation.ufunc is not None:
        operation.ufunc.at(cells, indices, typed[0])
        return None
    old = _in_turns(cells, indices, typed, operation)
    return old.view(f"u{operation.size}") if need_old else None


def _in_turns(cells: Cells, indices: Indices, operands: list[NDArray[Any]], operation: AtomicOperation) -> NDArray[Any]:
    order = np.argsort(indices, kind="stable")
    ordered = indices[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    counts = np.diff(np.append(starts, len(ordered)))
    old = np.empty(len(indices), operation.dtype)
    crowded = counts > CROWD
    for start, count in zip(starts[crowded].tolist(), counts[crowded].tolist(), strict=True):
        lanes = order[start : start + count]
        _walk_cell(cells, int(ordered[start]), lanes, operands, operation, old)
    starts, counts = starts[~crowded], counts[~crowded]
    for turn in range(int(counts.max(initial=0))):
        waiting = counts > turn
        starts, counts = starts[waiting], counts[waiting]
        lanes = order[starts + turn]
        cell = indices[lanes]
        found = cells[cell]
        old[lanes] = found
        cells[cell] = operation.combine(found, *(operand[lanes] for operand in operands))
    return old


def _walk_cell(
    cells: Cells,
    cell: int,
    lanes: Indices,
    operands: list[NDArray[Any]],
    operation: AtomicOperation,
    old: Values,
) -> None:
    mine = [operand[lanes] for operand in operands]
    if operation.ufunc is not None:
        chain = operation.ufunc.accumulate(np.concatenate((cells[cell : cell + 1], mine[0])), dtype=operation.dtype)
        old[lanes], cells[cell] = chain[:-1], chain[-1]
        return
    if operation.walk is not None:
        old[lanes], cells[cell] = operation.walk(cells[cell], *mine)
        return
    found = np.empty(len(lanes), operation.dtype)
    value = cells[cell : cell + 1].copy()
    for turn in range(len(lanes)):
        found[turn] = value[0]
        value = operation.combine(value, *(operand[turn : turn + 1] for operand in mine))
    old[lanes], cells[cell] = found, value[0]


def _swap(old: Values, new: Values) -> Values:
    return new


def _swap_walk(start: Any, new: Values) -> tuple[Values, Any]:
    return np.concatenate(([start], new[:-1])).astype(new.dtype), new[-1]


def _compare_and_swap(old: Values, new: Values, compare: Values) -> Values:
    return np.where(old == compare, new, old)


def _compare_and_swap_walk(start: Any, new: Values, compare: Values) -> tuple[Values, Any]:
    """Jump from one lane that succeeds to the next: the first one further on that compares with the current value."""
    found = np.empty(len(new), new.dtype)
    order = np.argsort(compare, kind="stable")
    ordered = compare[order]
    current, turn = start, 0
    while turn < len(new):
        low, high = np.searchsorted(ordered, current, "left"), np.searchsorted(ordered, current, "right")
        waiting = order[low:high]
        place = bisect.bisect_left(waiting, turn)
        if place == len(waiting):
            break
        winner = int(waiting[place])
        found[turn : winner + 1] = current
        current, turn = new[winner], winner + 1
    found[turn:] = current
    return found, current


def _increment(old: Values, limit: Values) -> Values:
    return np.where(old >= limit, old.dtype.type(0), old + old.dtype.type(1))


def _decrement(old: Values, limit: Values) -> Values:
    return np.where((old == 0) | (old > limit), limit, old - old.dtype.type(1))


def _minimum(old: Values, value: Values) -> Values:
    """The smaller; the old value when they are unordered or equal (CDNA3 ISA, DS_MIN_F32)."""
    return np.where(value < old, value, old)


def _maximum(old: Values, value: Values) -> Values:
    return np.where(value > old, value, old)


def _masked_or(old: Values, mask: Values, value: Values) -> Values:
    return old & ~mask | value


def _clamped_difference(old: Values, value: Values) -> Values:
    return np.where(old < value, old.dtype.type(0), old - value)


def _wrap(old: Values, limit: Values, value: Values) -> Values:
    return np.where(old >= limit, old - limit, old + value)


def _integer_operations(width: int) -> dict[str, AtomicOperation]:
    unsigned: type[np.generic] = np.uint32 if width == 32 else np.uint64
    signed: type[np.generic] = np.int32 if width == 32 else np.int64
    simple = {"add": np.add, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
    operations = {name: AtomicOperation(unsigned, ufunc, ufunc=ufunc) for name, ufunc in simple.items()}
    # `accumulate` and `at` of subtract go from left to right, so they are serial subtractions
    operations["sub"] = AtomicOperation(unsigned, np.subtract, ufunc=np.subtract)
    operations["rsub"] = AtomicOperation(unsigned, lambda old, value: value - old)
    operations |= {
        "umin": AtomicOperation(unsigned, np.minimum, ufunc=np.minimum),
        "umax": AtomicOperation(unsigned, np.maximum, ufunc=np.maximum),
        "smin": AtomicOperation(signed, np.minimum, ufunc=np.minimum),
        "smax": AtomicOperation(signed, np.maximum, ufunc=np.maximum),
        "inc": AtomicOperation(unsigned, _increment),
        "dec": AtomicOperation(unsigned, _decrement),
        "swap": AtomicOperation(unsigned, _swap, walk=_swap_walk),
        "cmpswap": AtomicOperation(unsigned, _compare_and_swap, 2, walk=_compare_and_swap_walk),
        "csub": AtomicOperation(unsigned, _clamped_difference),
        "cond_sub": AtomicOperation(unsigned, lambda old, value: np.where(old < value, old, old - value)),
        "mskor": AtomicOperation(unsigned, _masked_or, 2),
        "wrap": AtomicOperation(unsigned, _wrap, 2),
    }
    return operations


def _float_operations(dtype: type[np.generic]) -> dict[str, AtomicOperation]:
    return {
        "add": AtomicOperation(dtype, np.add, ufunc=np.add),
        "min": AtomicOperation(dtype, _minimum),
        "max": AtomicOperation(dtype, _maximum),
        "cmpswap": AtomicOperation(dtype, _compare_and_swap, 2),
    }


def _add_halves(old: Values, value: Values) -> Values:
    total = old.view(np.float16) + value.view(np.float16)
    return total.view(np.uint32)


def _add_brain_halves(old: Values, value: Values) -> Values:
    """Both halves as bfloat16, rounded to nearest even."""
    upper = round_brain(_brain(old & _HIGH) + _brain(value & _HIGH))
    lower = round_brain(_brain(old << _SIXTEEN) + _brain(value << _SIXTEEN))
    return upper << _SIXTEEN | lower


_SIXTEEN = np.uint32(16)
_HIGH = np.uint32(0xFFFF0000)


def _brain(bits: NDArray[Any]) -> NDArray[np.float32]:
    return np.ascontiguousarray(bits).view(np.float32)


def round_brain(value: NDArray[np.float32]) -> NDArray[np.uint32]:
    """The upper halves of f32 numbers rounded to bfloat16."""
    bits = value.view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + (bits >> _SIXTEEN & np.uint32(1)) >> _SIXTEEN
    result: NDArray[np.uint32] = np.where(np.isnan(value), bits >> _SIXTEEN | np.uint32(0x40), rounded)
    return result


INTEGER32 = _integer_operations(32)
INTEGER64 = _integer_operations(64)
FLOAT32 = _float_operations(np.float32)
FLOAT64 = _float_operations(np.float64)
HALVES = AtomicOperation(np.uint32, _add_halves)
BRAIN_HALVES = AtomicOperation(np.uint32, _add_brain_halves)
