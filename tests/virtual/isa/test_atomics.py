"""Atomic instructions: operand order, the returned value, lanes that are off, alignment, bounds."""

from __future__ import annotations

import numpy as np
import pytest
from support.lanes import lanes_of, make_state, run_code

from hipgraph_cb.virtual.faults import DeviceFault, FaultKind
from hipgraph_cb.virtual.isa.execution import instruction_set  # noqa: F401  # registers the instructions
from hipgraph_cb.virtual.memory import Memory

LANES = np.arange(64, dtype=np.uint32)
ADD_RETURNING = "008009dd00027f04"  # global_atomic_add v4, v[0:1], v2, off sc0
ADD = "008008dd00027f00"  # global_atomic_add v[0:1], v2, off
COMPARE_AND_SWAP = "008005dd00027f04"  # global_atomic_cmpswap v4, v[0:1], v[2:3], off sc0
COMPARE_AND_SWAP_X2 = "008085dd00027f08"  # global_atomic_cmpswap_x2 v[8:9], v[0:1], v[2:5], off sc0
ADD_F64 = "00803cdd00027f00"  # global_atomic_add_f64 v[0:1], v[2:3], off
LDS_COMPARE_AND_STORE = "000060d800020304"  # ds_cmpst_rtn_b32 v4, v0, v2, v3
LDS_ADD = "080000d800020000"  # ds_add_u32 v0, v2 offset:8
LDS_ADD_U64 = "0000c0d800020004"  # ds_add_rtn_u64 v[4:5], v0, v[2:3]
LDS_EXCHANGE_TWO = "01025cd800020304"  # ds_wrxchg2_rtn_b32 v[4:5], v0, v2, v3 offset0:1 offset1:2


@pytest.fixture(scope="module")
def memory() -> Memory:
    return Memory(1 << 20)


def row(values) -> np.ndarray:
    return np.asarray(values).reshape(1, -1)


def place(memory, array, label="cells") -> int:
    address = memory.allocate(array.nbytes, label=label)
    memory.bytes(address, array.nbytes)[:] = array.view(np.uint8)
    return address


def cells_at(memory, address, count, dtype):
    return memory.bytes(address, count * np.dtype(dtype).itemsize).view(dtype)


def test_add_returns_what_each_lane_found(memory):
    address = place(memory, np.array([100], np.uint32))
    state = make_state(memory, waves_per_group=2)
    state.write_vgpr64(0, np.full((1, 1), address, np.uint64))
    state.write_vgpr(2, row(LANES))
    run_code(state, ADD_RETURNING)
    all_values = np.tile(LANES, 2)
    found = 100 + np.concatenate(([0], np.cumsum(all_values)[:-1]))
    assert np.array_equal(lanes_of(state, 4).reshape(-1), found)
    assert cells_at(memory, address, 1, np.uint32)[0] == 100 + all_values.sum()


def test_lanes_that_are_off_take_no_part_and_keep_their_register(memory):
    address = place(memory, np.zeros(64, np.uint32))
    state = make_state(memory)
    state.write_vgpr64(0, row(address + 4 * LANES.astype(np.uint64)))
    state.write_vgpr(2, np.full((1, 1), 5, np.uint32))
    state.write_vgpr(4, np.full((1, 1), 77, np.uint32))
    odd = LANES % 2 == 1
    state.write_exec(row(odd))
    run_code(state, ADD_RETURNING)
    assert np.array_equal(cells_at(memory, address, 64, np.uint32), 5 * odd)
    assert np.array_equal(lanes_of(state, 4)[0], np.where(odd, 0, 77))


def test_no_active_lane_does_nothing(memory):
    address = place(memory, np.zeros(1, np.uint32))
    state = make_state(memory)
    state.write_vgpr64(0, np.full((1, 1), address, np.uint64))
    state.write_vgpr(2, np.full((1, 1), 5, np.uint32))
    state.write_exec(np.zeros((1, 1), np.bool_))
    run_code(state, ADD)
    assert cells_at(memory, address, 1, np.uint32)[0] == 0


def test_a_global_compare_and_swap_has_the_new_value_first(memory):
    address = place(memory, LANES % 4)
    state = make_state(memory)
    state.write_vgpr64(0, row(address + 4 * LANES.astype(np.uint64)))
    state.write_vgpr(2, row(1000 + LANES))
    state.write_vgpr(3, np.full((1, 1), 3, np.uint32))
    run_code(state, COMPARE_AND_SWAP)
    assert np.array_equal(lanes_of(state, 4)[0], LANES % 4)
    assert np.array_equal(cells_at(memory, address, 64, np.uint32), np.where(LANES % 4 == 3, 1000 + LANES, LANES % 4))


def test_a_wide_compare_and_swap_compares_all_64_bits(memory):
    start = (np.uint64(1) << np.uint64(40)) + LANES.astype(np.uint64)
    address = place(memory, start)
    state = make_state(memory)
    state.write_vgpr64(0, row(address + 8 * LANES.astype(np.uint64)))
    state.write_vgpr64(2, np.full((1, 1), 9, np.uint64))
    compare = np.where(LANES < 32, start, LANES.astype(np.uint64))
    state.write_vgpr64(4, row(compare))
    run_code(state, COMPARE_AND_SWAP_X2)
    assert np.array_equal(state.full(state.read_vgpr64(8))[0], start)
    assert np.array_equal(cells_at(memory, address, 64, np.uint64), np.where(LANES < 32, 9, start))


def test_doubles_are_added(memory):
    address = place(memory, np.array([0.5]))
    state = make_state(memory)
    state.write_vgpr64(0, np.full((1, 1), address, np.uint64))
    state.write_vgpr64(2, np.full((1, 1), 0.25).view(np.uint64))
    run_code(state, ADD_F64)
    assert cells_at(memory, address, 1, np.float64)[0] == 16.5


def test_a_misaligned_atomic_is_a_fault_that_names_the_first_lane(memory):
    address = place(memory, np.zeros(64, np.uint32))
    state = make_state(memory)
    state.write_vgpr64(0, row(address + 4 * LANES.astype(np.uint64) + (LANES == 9) * np.uint64(2)))
    state.write_vgpr(2, row(LANES))
    with pytest.raises(DeviceFault) as raised:
        run_code(state, ADD)
    fault = raised.value
    assert fault.kind is FaultKind.ILLEGAL_ADDRESS
    assert fault.description == "an atomic of 4 bytes at an address that is not a multiple of 4"
    assert (fault.lane, fault.address) == (9, address + 38)
    assert fault.instruction == "global_atomic_add v[0:1], v2, off"


def test_an_atomic_outside_live_memory_is_a_fault_and_changes_nothing(memory):
    address = place(memory, np.zeros(64, np.uint32), label="counts")
    state = make_state(memory)
    state.write_vgpr64(0, row(address + 4 * LANES.astype(np.uint64) + (LANES == 63) * np.uint64(4)))
    state.write_vgpr(2, row(LANES))
    with pytest.raises(DeviceFault) as raised:
        run_code(state, ADD)
    assert raised.value.description == "0 bytes past the end of `counts`, 256 bytes"
    assert raised.value.lane == 63
    assert not cells_at(memory, address, 64, np.uint32).any()


def test_workgroups_count_in_rows_of_lds_of_their_own(memory):
    state = make_state(memory, groups=2, waves_per_group=2, lds_size=64)
    state.lds.view(np.uint32)[:] = 0
    state.write_vgpr(0, row(LANES % 4 * 4))
    state.write_vgpr(2, np.array([[1], [2], [30], [40]], np.uint32))
    run_code(state, LDS_ADD)
    assert state.lds.view(np.uint32)[:, 2:6].tolist() == [[48] * 4, [16 * 70] * 4]


def test_an_lds_compare_and_store_has_the_compared_value_first(memory):
    state = make_state(memory, lds_size=256)
    state.lds.view(np.uint32)[0, :64] = LANES % 3
    state.write_vgpr(0, row(LANES * 4))
    state.write_vgpr(2, np.full((1, 1), 2, np.uint32))
    state.write_vgpr(3, np.full((1, 1), 55, np.uint32))
    run_code(state, LDS_COMPARE_AND_STORE)
    assert np.array_equal(lanes_of(state, 4)[0], LANES % 3)
    assert np.array_equal(state.lds.view(np.uint32)[0, :64], np.where(LANES % 3 == 2, 55, LANES % 3))


def test_a_wide_lds_add_returns_a_pair(memory):
    state = make_state(memory, lds_size=8)
    state.lds.view(np.uint64)[0, 0] = 2**63
    state.write_vgpr(0, np.zeros((1, 1), np.uint32))
    state.write_vgpr64(2, np.full((1, 1), 2**32 + 1, np.uint64))
    run_code(state, LDS_ADD_U64)
    assert state.full(state.read_vgpr64(4))[0].tolist() == [2**63 + lane * (2**32 + 1) for lane in range(64)]


def test_two_exchanges_return_both_old_values(memory):
    state = make_state(memory, lds_size=1024)
    words = state.lds.view(np.uint32)[0]
    words[:] = np.arange(256)
    state.write_vgpr(0, row(LANES * 12))
    state.write_vgpr(2, row(LANES + 1000))
    state.write_vgpr(3, row(LANES + 2000))
    run_code(state, LDS_EXCHANGE_TWO)
    assert np.array_equal(lanes_of(state, 4)[0], LANES * 3 + 1)
    assert np.array_equal(lanes_of(state, 5)[0], LANES * 3 + 2)
    assert np.array_equal(words[1:193:3], LANES + 1000)
    assert np.array_equal(words[2:194:3], LANES + 2000)
