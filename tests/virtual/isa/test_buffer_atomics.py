"""Atomics through a buffer descriptor: in range they act and return, out of range they do nothing and return zero."""

from __future__ import annotations

import numpy as np
import pytest
from support.lanes import lanes_of, make_state, run_code

from hipgraph_cb.virtual.faults import DeviceFault
from hipgraph_cb.virtual.isa.execution import instruction_set  # noqa: F401  # registers the instructions
from hipgraph_cb.virtual.memory import Memory

LANES = np.arange(64)
ADD_RETURNING = "005008e100020280"  # buffer_atomic_add v2, v0, s[8:11], 0 offen sc0
ADD = "001008e100020280"  # buffer_atomic_add v2, v0, s[8:11], 0 offen
COMPARE_AND_SWAP_X2 = "005084e100020280"  # buffer_atomic_cmpswap_x2 v[2:5], v0, s[8:11], 0 offen sc0


@pytest.fixture
def memory() -> Memory:
    return Memory(1 << 20)


def described(memory, address: int, records: int):
    state = make_state(memory)
    for register, value in enumerate((address & 0xFFFFFFFF, address >> 32, records, 0)):
        state.write_sgpr(8 + register, value)
    return state


def fill(state, register: int, values) -> None:
    state.write_vgpr(register, np.asarray(values).astype(np.uint32).reshape(1, 64))


@pytest.mark.parametrize("code", [ADD, ADD_RETURNING])
def test_lanes_out_of_range_do_nothing_and_find_zero(memory, code):
    address = memory.allocate(256, label="b")
    words = memory.bytes(address, 256).view(np.uint32)
    words[:] = LANES + 100
    state = described(memory, address, records=4 * 40)
    fill(state, 0, LANES * 4)
    fill(state, 2, LANES + 1)
    on = LANES != 5
    state.write_exec(on.reshape(1, 64))
    run_code(state, code)
    took_part = on & (LANES < 40)
    assert np.array_equal(words, np.where(took_part, 2 * LANES + 101, LANES + 100))
    kept = np.where(on, np.where(LANES < 40, LANES + 100, 0), LANES + 1)
    assert np.array_equal(lanes_of(state, 2)[0], kept if code == ADD_RETURNING else LANES + 1)


def test_a_wide_compare_and_swap_returns_into_the_first_pair(memory):
    address = memory.allocate(512, label="b")
    cells = memory.bytes(address, 512).view(np.uint64)
    cells[:] = (LANES % 2).astype(np.uint64) << np.uint64(33)
    before = cells.copy()
    state = described(memory, address, records=512)
    fill(state, 0, LANES * 8)
    state.write_vgpr64(2, np.full((1, 1), 77, np.uint64))
    state.write_vgpr64(4, np.full((1, 1), 1 << 33, np.uint64))
    run_code(state, COMPARE_AND_SWAP_X2)
    assert np.array_equal(state.full(state.read_vgpr64(2))[0], before)
    assert np.array_equal(cells, np.where(LANES % 2, 77, 0))


def test_in_range_but_not_in_live_memory_is_a_fault(memory):
    address = memory.allocate(128, label="short")
    state = described(memory, address, records=256)
    fill(state, 0, LANES * 4)
    fill(state, 2, LANES)
    with pytest.raises(DeviceFault) as raised:
        run_code(state, ADD)
    assert raised.value.description == "0 bytes past the end of `short`, 128 bytes"
    assert raised.value.lane == 32
