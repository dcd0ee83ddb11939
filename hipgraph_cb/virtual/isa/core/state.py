"""The registers of a chunk of waves: whole workgroups that run the same kernel side by side.

Shapes. A vector register is one numpy uint32 array of any shape that broadcasts to [waves, lanes]: a constant is
(1, 1), a value per wave (waves, 1), a pattern over lanes (1, lanes). A scalar register is a Python int when it is equal
in all waves, else a uint32 array (waves, 1). A lane mask (VCC, EXEC, what saveexec stored) is a bool array that
broadcasts to [waves, lanes] and becomes a number only when it is read as one. It is in a pair of scalar registers, or
in one where waves have 32 lanes (see narrow_waves.py).

**Register arrays are immutable.** Registers share them, so a write makes a new array.

Writes go to the lanes of `active`: EXEC of those waves that the scheduler currently runs. `active` is None when that is
every lane, and then nothing is masked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.faults import DeviceFault, FaultKind
from hipgraph_cb.virtual.isa.core import lane_loops
from hipgraph_cb.virtual.isa.core.instruction import NOWHERE
from hipgraph_cb.virtual.isa.core.lane_mask import (
    LaneMask,
    all_ones,
    all_set,
    any_set,
    bits_of_number,
    both,
    choose,
    either,
)
from hipgraph_cb.virtual.isa.core.lds_range import OutsideLds
from hipgraph_cb.virtual.isa.core.pattern import Patterns
from hipgraph_cb.virtual.isa.core.scaled_index import ScaledIndex

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction
    from hipgraph_cb.virtual.isa.execution.placement import Placement
    from hipgraph_cb.virtual.isa.memory.lds import WordPlaces
    from hipgraph_cb.virtual.memory import Memory

VCC = 106
M0 = 124
EXEC = 126
AGPR = 256  # accumulation register n is vector register AGPR + n
MASK32 = 0xFFFFFFFF
MASK64 = 0xFFFFFFFFFFFFFFFF
UNWRITTEN = 0xCDCDCDCD  # what a register holds before its first write

Vector32 = NDArray[np.uint32]
Vector64 = NDArray[np.uint64]
Bits = NDArray[np.bool_]
Scalar32 = int | NDArray[np.uint32]
Number64 = int | NDArray[np.uint64]
Scalar64 = int | NDArray[np.uint64] | LaneMask
MaskOrNumber = int | NDArray[np.unsignedinteger[Any]] | LaneMask
Condition = bool | Bits | LaneMask
Snapshot = tuple[list[Any], ...]

_U32 = np.uint32
_U64 = np.uint64
_HALF = np.uint64(32)


_UNWRITTEN = np.full((1, 1), UNWRITTEN, _U32)
_NO_ROWS = np.zeros((1, 1), np.int64)
_NO_LDS = np.zeros((1, 0), np.uint8)


def _rows(placement: Placement, stride: int) -> NDArray[np.int64]:
    """Byte offset of each wave's LDS row, int64 [waves, 1]."""
    return np.repeat(np.arange(0, placement.groups * stride, stride), placement.waves_per_group).reshape(-1, 1)


def uniform(values: NDArray[Any]) -> Any:
    """`values` (waves, 1) as a Python int when all are equal, else unchanged."""
    first = values.flat[0]
    return int(first) if all_set(values == first) else values


def join(low: Vector32, high: Vector32) -> Vector64:
    """The 64-bit values whose halves are `low` and `high`."""
    wide = low.astype(_U64)
    if high.size == 1:
        constant = _U64(int(high.flat[0]) << 32)
        return wide if constant == 0 else wide | constant
    shifted = high.astype(_U64)
    shifted <<= _HALF
    return np.bitwise_or(wide, shifted, out=wide if wide.shape == shifted.shape else None)


class Half:
    """Half of the 64-bit value that a pair of registers held when the other half was overwritten."""

    __slots__ = ("_pair", "_upper")

    def __init__(self, pair: Vector64 | ScaledIndex, *, upper: bool) -> None:
        self._pair = pair
        self._upper = upper

    def words(self) -> Vector32:
        """The values."""
        pair = self._pair.number() if isinstance(self._pair, ScaledIndex) else self._pair
        words: Vector32 = (pair >> _HALF if self._upper else pair).astype(_U32)
        return words


def _are_equal(first: Any, second: Any) -> bool:
    if type(first) is not type(second):
        return False
    if isinstance(first, LaneMask):
        first, second = first.bits, second.bits
    elif isinstance(first, Half):
        first, second = first.words(), second.words()
    elif isinstance(first, ScaledIndex):
        return (first.base, first.shift) == (second.base, second.shift) and _are_equal(first.index, second.index)
    elif isinstance(first, tuple):
        return first[1] == second[1] and _are_equal(first[0], second[0])
    return bool(np.array_equal(first, second))


class State:
    """Registers, EXEC and LDS of a chunk of waves.

    Attributes:
        memory: the device's memory.
        placement: where the waves are in the grid, and which kernel they run.
        waves, lanes: number of waves in the chunk, and of lanes in a wave, which is two to the power `lane_bits`.
        active: bool [waves, lanes] of the lanes that execute now, or None for all.
        lds: uint8 [groups, stride], one row a workgroup; `lds_size` bytes of a row exist.
        lds_rows: int64 [waves, 1], byte offset of a wave's row in `lds.reshape(-1)`.
        outside_lds: what accesses outside LDS do, and those that there were (see lds_range.py).
        lds_places: what the LDS instructions remember of address registers (see lds.py).
        matrices: what the matrix instructions remember of registers (see matrix.py).
        patterns: what is known of the index arrays in vector registers.
        scratch_size: bytes of private memory of one lane.
        mode: those bits of the MODE register that arithmetic depends on (`float_mode.MODE_BITS`).
        live: bool [waves, 1] of the waves that have not ended, or None for all.
        watches_atomics: whether atomics are to find out if they change device memory.
        atomics_changed: an atomic has changed device memory, or was not watched.
        clock: what the time instructions return and advance.
    """

    def __init__(
        self, memory: Memory, placement: Placement, *, lds_size: int = 0, scratch_size: int = 0, mode: int = 0
    ) -> None:
        self.memory = memory
        self.placement = placement
        self.waves = placement.waves
        self.lanes = placement.lanes
        self.lane_bits = self.lanes.bit_length() - 1
        self.shape = (self.waves, self.lanes)
        self.mode = mode
        self.clock = 0
        self.watches_atomics = False
        self.atomics_changed = False
        # A 64-bit pair is kept as one uint64 array in _wide[low]; the halves then are None until they are read.
        # Both lists have spare entries behind the last register, so neighbours are read without a bound check.
        self._vgpr: list[Vector32 | None] = [_UNWRITTEN] * 514
        self._wide: list[Vector64 | ScaledIndex | None] = [None] * 514
        # An array plus a distance, which does not wrap around, or half of a pair that is no more; _vgpr[register] then
        # is None until it is read.
        self._late: list[tuple[Vector32, int] | Half | None] = [None] * 514
        # A lane mask is in both registers of its (even) pair; the parity of the register selects the half.
        self._sgpr: list[int | Vector32 | LaneMask] = [UNWRITTEN] * 128
        self._scc: Condition = False
        self._exec: Bits | None = None
        self._group: Bits | None = None
        self.live: Bits | None = None
        self.active: Bits | None = None
        self._active32: Vector32 | None = None
        self._active64: Vector64 | None = None
        self._active_lanes: NDArray[np.intp] | None = None
        self.lds_size = lds_size
        stride = -(-lds_size // 16) * 16
        self.lds: NDArray[np.uint8] = np.full((placement.groups, stride), 0xCD, np.uint8) if stride else _NO_LDS
        self.lds_rows: NDArray[np.int64] = _NO_ROWS if not lds_size else _rows(placement, stride)
        self.outside_lds = OutsideLds()
        self.lds_places: dict[int, tuple[Vector32, WordPlaces | None]] = {}
        self.matrices: dict[tuple[Any, int], tuple[list[Vector32], NDArray[Any]]] = {}
        self.patterns = Patterns()
        self.scratch_size = scratch_size
        self._scratch: Vector32 | None = None

    # vector registers

    def read_vgpr(self, register: int) -> Vector32:
        """The 32-bit value of a vector register."""
        value = self._vgpr[register]
        return value if value is not None else self._half(register)

    def read_vgpr64(self, register: int) -> Vector64:
        """The 64-bit value of the pair that starts at `register`."""
        wide = self._wide[register]
        if wide is None:
            wide = self._wide[register] = join(self.read_vgpr(register), self.read_vgpr(register + 1))
        elif type(wide) is ScaledIndex:
            wide = self._wide[register] = wide.number()
        return wide  # type: ignore[return-value]

    def read_scaled(self, register: int) -> ScaledIndex | None:
        """The pair at `register` as base + (index << shift), if that is what it is known to be."""
        wide = self._wide[register]
        if type(wide) is ScaledIndex:
            return wide
        high = self._vgpr[register + 1]
        if high is not None and high.size == 1 and high[0, 0] == 0:
            index, distance = self.read_moved(register)
            return ScaledIndex(distance & MASK64, index, 0)
        return None

    def read_moved(self, register: int) -> tuple[Vector32, int]:
        """An array and what is to be added to it; the sum is in 0..2**32-1 everywhere."""
        late = self._late[register]
        return late if type(late) is tuple else (self.read_vgpr(register), 0)

    def write_moved(self, register: int, index: Vector32, distance: int) -> None:
        """Write all lanes of a register with a sum that `read_moved` may return; only while every lane is active."""
        self._store32(register, index)
        if distance:
            self._vgpr[register] = None
            self._late[register] = (index, distance)

    def write_vgpr(self, register: int, value: Vector32) -> None:
        """Write the active lanes. `value`: uint32, anything that broadcasts to [waves, lanes]."""
        if self.active is not None:
            value = self._blend32(value, self.read_vgpr(register))
        self._store32(register, value)

    def write_vgpr64(self, register: int, value: Vector64) -> None:
        """Write the active lanes of the pair that starts at `register`. `value`: uint64."""
        if self.active is not None:
            value = self._blend64(value, self.read_vgpr64(register))
        self._store64(register, value)

    def write_vgpr_all_lanes(self, register: int, value: Vector32) -> None:
        """Write regardless of EXEC (v_writelane, matrix instructions); waves that do not run keep their value."""
        if self._group is not None:
            value = np.where(self._group, value, self.read_vgpr(register))
        self._store32(register, value)

    def write_vgpr_where(self, register: int, value: Vector32, lanes: Bits) -> None:
        """Write those active lanes that `lanes` (bool, broadcasts to [waves, lanes]) names."""
        if self.active is not None:
            lanes = lanes & self.active
        self._store32(register, choose(lanes, value, self.read_vgpr(register)))

    def replace_vgpr(self, register: int, value: Vector32) -> None:
        """Put back what `read_vgpr` gave, whatever lanes are active."""
        self._store32(register, value)

    def _store32(self, register: int, value: Vector32) -> None:
        vgpr, wide = self._vgpr, self._wide
        pair = wide[register]
        if pair is not None:
            if vgpr[register + 1] is None:
                self._late[register + 1] = Half(pair, upper=True)
            wide[register] = None
        pair = wide[register - 1]
        if pair is not None:
            if vgpr[register - 1] is None:
                self._late[register - 1] = Half(pair, upper=False)
            wide[register - 1] = None
        self._late[register] = None
        vgpr[register] = value if value.ndim == 2 else value.reshape(1, -1)

    def write_scaled(self, register: int, value: ScaledIndex) -> None:
        """Write all lanes of a pair; only while every lane is active."""
        self._store64(register, value)

    def _store64(self, register: int, value: Vector64 | ScaledIndex) -> None:
        vgpr, wide, late = self._vgpr, self._wide, self._late
        pair = wide[register - 1]
        if pair is not None:
            if vgpr[register - 1] is None:
                late[register - 1] = Half(pair, upper=False)
            wide[register - 1] = None
        pair = wide[register + 1]
        if pair is not None:
            if vgpr[register + 2] is None:
                late[register + 2] = Half(pair, upper=True)
            wide[register + 1] = None
        wide[register] = value
        vgpr[register] = vgpr[register + 1] = None
        late[register] = late[register + 1] = None

    def _half(self, register: int) -> Vector32:
        """Make an array of its own of the half of a pair, or of the sum, that `register` is."""
        late = self._late[register]
        if late is not None:
            self._late[register] = None
            if isinstance(late, Half):
                value: Vector32 = late.words()
            else:
                value = late[0] + _U32(late[1] & MASK32)
                self.patterns.note_sum(value, *late)
        elif self._wide[register] is not None:
            value = self.read_vgpr64(register).astype(_U32)
        elif self._wide[register - 1] is not None:
            value = (self.read_vgpr64(register - 1) >> _HALF).astype(_U32)
        else:
            raise LookupError(f"vector register {register} has no value")
        self._vgpr[register] = value
        return value

    def _blend32(self, new: Vector32, old: Vector32) -> Vector32:
        chosen: Vector32 | None = lane_loops.choose(self.active_bits(), new, old)
        if chosen is not None:
            return chosen
        mask = self.active_u32
        difference = np.bitwise_xor(new, old)
        result = np.bitwise_and(difference, mask, out=difference if difference.shape == mask.shape else None)
        result ^= old
        return result

    def _blend64(self, new: Vector64, old: Vector64) -> Vector64:
        chosen: Vector64 | None = lane_loops.choose(self.active_bits(), new, old)
        if chosen is not None:
            return chosen
        mask = self.active_u64
        difference = np.bitwise_xor(new, old)
        result = np.bitwise_and(difference, mask, out=difference if difference.shape == mask.shape else None)
        result ^= old
        return result

    @property
    def active_u32(self) -> Vector32:
        """`active` as all-ones and all-zeros words; only when `active` is not None."""
        if self._active32 is None:
            self._active32 = all_ones(self.active_bits())
        return self._active32

    @property
    def active_u64(self) -> Vector64:
        """`active` as all-ones and all-zeros double words; only when `active` is not None."""
        if self._active64 is None:
            self._active64 = np.negative(self.active_bits().astype(np.int64)).view(_U64)
        return self._active64

    @property
    def active_lanes(self) -> NDArray[np.intp]:
        """Flat indices (wave * lanes + lane) of the active lanes, ascending."""
        if self._active_lanes is None:
            self._active_lanes = np.flatnonzero(self.active_bits())
        return self._active_lanes

    def active_bits(self) -> Bits:
        """`active` as a bool array in every case (all true when it is None)."""
        return np.ones(self.shape, np.bool_) if self.active is None else self.active

    def full(self, value: NDArray[Any]) -> NDArray[Any]:
        """`value` broadcast to [waves, lanes], as a read-only view."""
        return value if value.shape == self.shape else np.broadcast_to(value, self.shape)

    # scalar registers

    def read_sgpr(self, register: int) -> Scalar32:
        """The 32-bit value of a scalar register: an int, or uint32 [waves, 1] when waves differ."""
        if register >= EXEC:
            return self._mask_half(self.exec_mask(), register)
        value = self._sgpr[register]
        if isinstance(value, LaneMask):
            value = self._mask_half(value, register)
            self._sgpr[register] = value
        return value

    def read_sgpr64(self, register: int) -> Number64:
        """The number in a pair of scalar registers: an int, or uint64 [waves, 1] when waves differ."""
        value = self.read_pair(register)
        return uniform(value.words(self.shape)) if isinstance(value, LaneMask) else value

    def read_pair(self, register: int) -> Scalar64:
        """Like `read_sgpr64`, but a lane mask is handed out as the `LaneMask` it is."""
        if register == EXEC:
            return MASK64 if self._exec is None else LaneMask(self._exec)
        low, high = self._sgpr[register], self._sgpr[register + 1]
        if type(low) is int and type(high) is int:
            return low | high << 32
        if isinstance(low, LaneMask) and low is high:
            return low
        low, high = self.read_sgpr(register), self.read_sgpr(register + 1)
        if isinstance(low, int) and isinstance(high, int):
            return low | high << 32
        number: NDArray[np.uint64] = np.asarray(low, _U64) | np.asarray(high, _U64) << _HALF
        return number

    def read_agreed(self, register: int) -> Scalar32:
        """Like `read_sgpr`, and an int also when only waves differ that do not run now."""
        value = self.read_sgpr(register)
        running = self.running
        if isinstance(value, int) or running is None:
            return value
        agreed = uniform(value[running])
        return agreed if isinstance(agreed, int) else value

    def write_sgpr(self, register: int, value: Scalar32) -> None:
        """Write a scalar register of the waves that run. `value`: an int in 0..2**32-1 or uint32 [waves, 1]."""
        if register >= EXEC:
            if register < NOWHERE:
                self._write_exec_half(register, value)
            return
        if self._group is not None:
            value = self._blend_scalar(value, self.read_sgpr(register), _U32)
        self._sgpr[register] = value

    def write_sgprs(self, register: int, values: list[int]) -> None:
        """Write consecutive scalar registers of the waves that run, the same in all of them."""
        if self._group is None and register + len(values) <= EXEC:
            self._sgpr[register : register + len(values)] = values
        else:
            for index, value in enumerate(values, register):
                self.write_sgpr(index, value)

    def write_sgpr64(self, register: int, value: Scalar64) -> None:
        """Write a pair of scalar registers. `value`: an int in 0..2**64-1, uint64 [waves, 1], or a `LaneMask`."""
        if register == EXEC:
            self.write_exec(bits_of_number(value, self.lanes))
        elif isinstance(value, LaneMask):
            self.write_mask(register, value.bits)
        elif isinstance(value, int):
            self.write_sgprs(register, [value & MASK32, value >> 32])
        else:
            self.write_sgpr(register, value.astype(_U32))
            self.write_sgpr(register + 1, (value >> _HALF).astype(_U32))

    def _mask_half(self, mask: LaneMask, register: int) -> Scalar32:
        words = mask.words(self.shape)
        half: Scalar32 = uniform((words >> _HALF if register & 1 else words).astype(_U32))
        return half

    def _blend_scalar(self, new: Any, old: Any, dtype: type[np.unsignedinteger[Any]]) -> Any:
        if isinstance(new, int) and isinstance(old, int) and new == old:
            return new
        return uniform(
            np.where(self._group if self._group is not None else True, np.asarray(new, dtype), np.asarray(old, dtype))
        )

    # lane masks

    def read_mask_or_number(self, register: int) -> MaskOrNumber:
        """What is in the registers of a lane mask, as it is kept: a mask, or a number with a bit for each lane."""
        return self.read_pair(register)

    def write_mask_or_number(self, register: int, value: Any) -> None:
        """The inverse of `read_mask_or_number`, whose result `value` is."""
        self.write_sgpr64(register, value)

    def read_mask(self, register: int) -> Bits:
        """The bits of a lane mask: bool, broadcasts to [waves, lanes]."""
        return bits_of_number(self.read_pair(register), self.lanes)

    def write_mask(self, register: int, bits: Bits) -> None:
        """Store a lane mask (bool, broadcasts to [waves, lanes]) in a pair of scalar registers."""
        if register >= EXEC:
            if register == EXEC:
                self.write_exec(bits)
            return
        if self._group is not None:
            bits = either(self._group, bits, self.read_mask(register))
        mask = LaneMask(bits)
        self._sgpr[register] = self._sgpr[register + 1] = mask

    def write_compare(self, register: int, bits: Bits) -> None:
        """Store the result of a vector compare: inactive lanes of a wave that runs give 0."""
        if self._exec is not None:
            bits = both(bits, self._exec)
        self.write_mask(register, bits)

    # EXEC and SCC

    @property
    def exec(self) -> Bits | None:
        """EXEC of all waves, or None when every lane of every wave is on."""
        return self._exec

    def exec_mask(self) -> LaneMask:
        """EXEC as a lane mask in every case."""
        return LaneMask(np.ones((1, 1), np.bool_) if self._exec is None else self._exec)

    def write_exec(self, bits: Bits) -> None:
        """Set EXEC of the waves that run. `bits`: bool, broadcasts to [waves, lanes].

        Waves that have ended stay off, also when all others run.
        """
        running = self.running
        if running is not None:
            bits = either(running, bits, self.exec_mask().bits)
        self.set_exec(None if all_set(bits) else bits)

    def set_exec(self, bits: Bits | None) -> None:
        """Set EXEC of all waves; None turns every lane on."""
        if bits is not None and bits.shape != self.shape:
            bits = np.array(np.broadcast_to(bits, self.shape), order="C")  # the lanes of a wave side by side
        self._exec = bits
        self._refresh_active()

    def _write_exec_half(self, register: int, value: Scalar32) -> None:
        words = self.exec_mask().words(self.shape)
        if register & 1:
            words = words & _U64(MASK32) | np.asarray(value, _U64) << _HALF
        else:
            words = words >> _HALF << _HALF | np.asarray(value, _U64)
        self.write_exec(bits_of_number(np.broadcast_to(words, (self.waves, 1)), self.lanes))

    @property
    def group(self) -> Bits | None:
        """Bool [waves, 1] of the waves that run now, or None when all do that have not ended."""
        return self._group

    def set_group(self, members: Bits | None) -> None:
        """Choose the waves that run: bool [waves, 1], or None for all."""
        self._group = members
        self._refresh_active()

    def retire(self, ended: Bits, live: Bits) -> None:
        """Turn off the lanes of waves that have `ended` for good; `live` are the others (both bool [waves, 1])."""
        self.live = live
        self.set_exec(np.logical_and(True if self._exec is None else self._exec, ~ended))

    @property
    def running(self) -> Bits | None:
        """Bool [waves, 1] of the waves that execute the current instruction, or None for every wave of the chunk."""
        return self.live if self._group is None else self._group

    def _refresh_active(self) -> None:
        self._active32 = self._active64 = self._active_lanes = None
        if self._group is None:
            self.active = self._exec
        elif self._exec is None:
            self.active = np.array(np.broadcast_to(self._group, self.shape), order="C")
        else:
            self.active = both(self._exec, self._group)

    @contextmanager
    def narrowed(self, lanes: Bits) -> Iterator[None]:
        """Within it only those active lanes execute that are in `lanes`, bool [waves, lanes]."""
        kept = self.active, self._active32, self._active64, self._active_lanes
        self.active = lanes if self.active is None else self.active & lanes
        self._active32 = self._active64 = self._active_lanes = None
        try:
            yield
        finally:
            self.active, self._active32, self._active64, self._active_lanes = kept

    def read_scc(self) -> bool | Bits:
        """SCC: a bool, or bool [waves, 1] when waves differ."""
        value = self._scc
        if isinstance(value, LaneMask):
            value = self._scc = value.any()
        return value

    def write_scc(self, value: Condition) -> None:
        """Set SCC of the waves that run; a `LaneMask` means "any bit set", counted only when SCC is read."""
        if self._group is not None:
            new = value.any() if isinstance(value, LaneMask) else value
            value = np.where(self._group, new, self.read_scc())
            if all_set(value) or not any_set(value):
                value = bool(value.flat[0])
        self._scc = value

    # comparing

    def snapshot(self) -> Snapshot:
        """What `is_as_in` compares with; cheap, since register arrays are never changed."""
        return list(self._vgpr), list(self._wide), list(self._late), list(self._sgpr), [self._scc, self._exec]

    def is_as_in(self, snapshot: Snapshot) -> bool:
        """Whether all registers hold the same; a value that is kept in another form may count as different."""
        return all(
            old is new or _are_equal(old, new)
            for before, now in zip(snapshot, self.snapshot(), strict=True)
            for old, new in zip(before, now, strict=True)
        )

    # private memory

    @property
    def scratch(self) -> Vector32:
        """Private memory: uint32 [words, waves, 64], made at the first use."""
        if self._scratch is None:
            words = -(-self.scratch_size // 4)
            self._scratch = np.full((words, *self.shape), UNWRITTEN, _U32)
        return self._scratch

    # faults

    def fault(
        self,
        instruction: Instruction,
        description: str,
        *,
        kind: FaultKind = FaultKind.LAUNCH_FAILURE,
        lanes: Bits | None = None,
        addresses: NDArray[np.int64] | None = None,
    ) -> DeviceFault:
        """Make (do not raise) the fault of `instruction`; the first true lane of `lanes` is the culprit.

        Args:
            lanes: bool, broadcasts to [waves, lanes]; the active lanes when omitted.
            addresses: int64, broadcasts to [waves, lanes]; the culprit's is reported.
        """
        culprits = self.full(self.active_bits() if lanes is None else lanes)
        wave, lane = divmod(int(culprits.argmax()), self.lanes)
        address = None if addresses is None else int(self.full(addresses)[wave, lane]) & MASK64
        return self.placement.fault(kind, description, instruction, wave, lane, address)

    def memory_fault(
        self, instruction: Instruction, addresses: NDArray[np.int64], size: int, faulty: Bits
    ) -> DeviceFault:
        """Make the fault of an access of `size` bytes whose `faulty` lanes (as `addresses`, [waves, lanes]) are bad."""
        where = self.full(addresses)[self.full(faulty)].flat[0]
        description = self.memory.describe(int(where) & MASK64, size)
        return self.fault(
            instruction, description, kind=FaultKind.ILLEGAL_ADDRESS, lanes=self.full(faulty), addresses=addresses
        )
