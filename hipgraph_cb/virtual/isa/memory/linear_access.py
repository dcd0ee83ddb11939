"""Loads and stores at origin + (index << shift), with a 32-bit index a lane: nearly every access to device memory.

The bounds are checked with the index alone, no 64-bit address is made, and regular indices (see pattern.py) become
strided copies. Other accesses (misaligned, not all in one allocation) are refused, and the caller takes the
general way, which also finds the culprit of a fault.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.isa.core import lane_loops
from hipgraph_cb.virtual.isa.core.lane_mask import all_ones
from hipgraph_cb.virtual.isa.core.pattern import SMALLEST
from hipgraph_cb.virtual.isa.memory.memory_access import active_only, misaligned

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction
    from hipgraph_cb.virtual.isa.core.pattern import Pattern
    from hipgraph_cb.virtual.isa.core.state import Bits, State, Vector32

NO_SADDR = 0x7F


class Linear(NamedTuple):
    """Bytes `origin` + (`indices` << `shift`) of the arena, plus `rows` of the wave ([waves, 1], none below 0).

    `origin` may be negative; `indices`: any register shape. Only machine code knows `rows`.
    """

    origin: int
    indices: Vector32
    shift: int
    rows: NDArray[np.int64] | None = None

    @property
    def reach(self) -> int:
        """The distance of the furthest row."""
        return 0 if self.rows is None else int(self.rows.max())


def linear_place(instruction: Instruction) -> Callable[[State], Linear | None]:
    """Where a GLOBAL instruction accesses memory, when that is known to be linear."""
    fields = instruction.fields
    register, base_register, offset = fields["addr"], fields["saddr"], fields["offset"]
    if base_register == NO_SADDR:

        def from_pair(state: State) -> Linear | None:
            scaled = state.read_scaled(register)
            if scaled is None:
                return None
            return Linear(scaled.base + offset - state.memory.base, scaled.index, scaled.shift)

        return from_pair

    def from_base(state: State) -> Linear | None:
        base = state.read_sgpr64(base_register)
        if type(base) is not int:
            origins = np.asarray(base).view(np.int64) + (offset - state.memory.base)
            return from_origins(state, origins, state.read_vgpr(register))
        index, distance = state.read_moved(register)
        return Linear(base + distance + offset - state.memory.base, index, 0)

    return from_base


def from_origins(state: State, origins: NDArray[np.int64], index: Vector32) -> Linear | None:
    """`origins` (bytes of the arena, [waves, 1]) plus `index`; None when they are too far apart."""
    if state.running is not None:
        origins = np.where(state.running, origins, origins[int(state.running.argmax())])
    first = int(origins.min())
    reach = int(origins.max()) - first
    if lane_loops.LOOPS is not None:
        if reach >= 1 << 63:  # the distances between them would wrap around
            return None
        return Linear(first, index, 0, np.broadcast_to(origins - first, (state.waves, 1)))
    if reach + int(index.max()) >= 1 << 32:
        return None
    indices = index + (origins - first).astype(np.uint32)
    state.patterns.expect(indices)
    return Linear(first, indices, 0)


def load_linear(state: State, place: Linear, count: int) -> list[Vector32] | None:
    """`count` words of every lane, inactive ones too; None where that is not possible."""
    origin, index, shift, rows = place
    memory = state.memory
    pattern = state.patterns.of(index) if rows is None else None
    if pattern is None and lane_loops.LOOPS is not None:
        return _gathered(state, place, count, None)
    if not _is_inside(state, place, pattern, count, None):
        return None
    if pattern is not None:
        unit = 1 << shift
        if origin & 3 or not pattern.is_aligned(unit):
            return None
        return [pattern.load(memory.u8, origin + 4 * position, unit).reshape(index.shape) for position in range(count)]
    found = _word_indices(place)
    if found is None:
        return None
    start, indices = found
    sources = (memory.u32[start + position :] for position in range(count))
    if indices.size < SMALLEST:  # `take` always gives up the interpreter's lock, and may wait long to get it back
        return [source[indices] for source in sources]
    return [source.take(indices, mode="wrap") for source in sources]


def load_masked(state: State, place: Linear, count: int, lanes: Bits) -> list[Vector32] | None:
    """Like `load_linear` of the lanes in `lanes` (not empty, [waves, 64]); 0 in the others."""
    if lane_loops.LOOPS is not None:
        return _gathered(state, place, count, lanes)
    index = state.full(place.indices)
    safe = index.flat[int(lanes.argmax())]
    chosen = all_ones(lanes)
    dense = np.bitwise_xor(index, safe)
    dense &= chosen
    dense ^= safe
    loaded = load_linear(state, place._replace(indices=dense), count)
    return None if loaded is None else [word & chosen for word in loaded]


def store_linear(state: State, place: Linear, values: list[Vector32]) -> bool:
    """Consecutive words of the active lanes, as `store_words` does it; False where that is not possible."""
    index = state.full(place.indices)
    may_be_regular = state.active is None and index is place.indices and place.rows is None
    pattern = state.patterns.of(place.indices) if may_be_regular else None
    if pattern is None and lane_loops.LOOPS is not None:
        return _scattered(state, place, values)
    if state.active is not None:
        index = active_only(state, index)
        if not index.size:
            return True
    place = place._replace(indices=index)
    if not _is_inside(state, place, pattern, len(values), None):
        return False
    values = [active_only(state, state.full(value)) for value in values]
    if pattern is not None and pattern.is_injective and not place.origin & 3 and pattern.is_aligned(1 << place.shift):
        for position, value in enumerate(values):
            view = pattern.view(state.memory.u8, place.origin + 4 * position, 1 << place.shift)
            view[...] = value.reshape(pattern.sizes)
        return True
    found = _word_indices(place)
    if found is None:
        return False
    start, indices = found
    for position, value in enumerate(values):
        state.memory.u32[start + position :][indices] = value
    return True


def _gathered(state: State, place: Linear, count: int, lanes: Bits | None) -> list[Vector32] | None:
    """Words by machine code, zero in lanes that are not chosen; None where that cannot be done."""
    origin, index, shift, rows = place
    at = state.memory.u8, origin, index, count, shift
    bounds = _likely_bounds(state, place, count)
    words = lane_loops.gather_words(*at, rows=rows, lanes=lanes, bounds=bounds)
    if words is None and _is_inside(state, place, None, count, lanes):
        words = lane_loops.gather_words(*at, rows=rows, lanes=lanes)
    return words


def _scattered(state: State, place: Linear, values: list[Vector32]) -> bool:
    """Store words of the active lanes by machine code; False where that cannot be done."""
    origin, index, shift, rows = place
    at, lanes = (state.memory.u8, origin, index, values, state.shape, shift), state.active
    bounds = _likely_bounds(state, place, len(values))
    return lane_loops.scatter_words(*at, rows=rows, lanes=lanes, bounds=bounds) or (
        _is_inside(state, place, None, len(values), lanes) and lane_loops.scatter_words(*at, rows=rows, lanes=lanes)
    )


def _likely_bounds(state: State, place: Linear, count: int) -> lane_loops.Bounds:
    """That `count` words are in the allocation of the origin, as nearly all are."""
    base = state.memory.base
    start, end = state.memory.range_at(base + place.origin)
    return 4 * count, start - base, end - base - place.reach


def _is_inside(state: State, place: Linear, pattern: Pattern | None, count: int, lanes: Bits | None) -> bool:
    """Whether all words of `lanes` (None: of all) are in one live allocation; true also when no lane is chosen."""
    origin, indices, shift, _ = place
    low, high = (pattern.low, pattern.high) if pattern is not None else _extent(indices, lanes)
    if low > high:
        return True
    first, last = origin + (low << shift), origin + (high << shift) + place.reach
    base = state.memory.base
    return first >= 0 and state.memory.holds(base + first, base + last + 4 * count)


def _extent(indices: Vector32, lanes: Bits | None) -> tuple[int, int]:
    """The lowest and the highest index of `lanes` (None: of all)."""
    found = lane_loops.extent(indices, lanes)
    if found is not None:
        return found
    flat = indices.reshape(-1)  # reductions over one axis have the shortest way
    return int(np.minimum.reduce(flat)), int(np.maximum.reduce(flat))


def _word_indices(place: Linear) -> tuple[int, NDArray[np.intp]] | None:
    """A word of the arena, and the distances of the lanes from it in words; None when some are misaligned."""
    origin, index, shift, _ = place
    if origin & 3 or (shift < 2 and misaligned(index << np.uint32(shift))):
        return None
    indices = (index >> np.uint32(2 - shift) if shift < 2 else index).astype(np.intp)
    if shift > 2:
        indices <<= shift - 2
    if origin < 0:
        indices += origin >> 2
        return 0, indices
    return origin >> 2, indices
