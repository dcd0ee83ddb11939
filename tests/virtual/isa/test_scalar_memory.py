"""SMEM: each wave loads, stores and modifies memory once, regardless of EXEC."""

from __future__ import annotations

import numpy as np
import pytest
from support.lanes import make_state, run_code

from hipgraph_cb.virtual.faults import DeviceFault
from hipgraph_cb.virtual.memory import Memory

WAVES = 5
NUMBERS = np.arange(WAVES, dtype=np.uint32).reshape(-1, 1)


@pytest.fixture
def memory() -> Memory:
    return Memory(1 << 20)


def allocated(memory: Memory, values: np.ndarray) -> int:
    address = memory.allocate(values.nbytes, label="b")
    memory.bytes(address, values.nbytes)[:] = values.view(np.uint8)
    return address


def words(memory: Memory, address: int, count: int) -> list[int]:
    return memory.bytes(address, 4 * count).view(np.uint32).tolist()


def per_wave(state, register: int) -> list[int]:
    return np.broadcast_to(np.asarray(state.read_sgpr(register)), (WAVES, 1))[:, 0].tolist()


def started(memory: Memory, address: int, records: int = 0):
    """Five waves, EXEC empty, s[4:5] = address (with s6 = records a descriptor)."""
    state = make_state(memory, groups=WAVES)
    state.write_sgpr64(4, address)
    state.write_sgpr(6, records)
    state.write_sgpr(7, 0)
    state.write_exec(np.zeros((1, 1), np.bool_))
    return state


def test_a_buffer_load_takes_each_waves_own_offset_and_zero_out_of_range(memory):
    address = allocated(memory, np.arange(100, 108, dtype=np.uint32))
    state = started(memory, address, records=16)
    state.write_sgpr(10, NUMBERS * np.uint32(4))
    run_code(state, "020224c00a000000")  # s_buffer_load_dwordx2 s[8:9], s[4:7], s10
    assert per_wave(state, 8) == [100, 101, 102, 103, 0]
    assert per_wave(state, 9) == [101, 102, 103, 0, 0]


def test_a_store_writes_once_a_wave(memory):
    address = allocated(memory, np.zeros(32, np.uint32))
    state = started(memory, address)
    state.write_sgpr(12, NUMBERS * np.uint32(16))
    for index in range(4):
        state.write_sgpr(8 + index, NUMBERS + np.uint32(10 * index))
    run_code(state, "020248c00c000000")  # s_store_dwordx4 s[8:11], s[4:5], s12
    expected = [wave + 10 * index for wave in range(WAVES) for index in range(4)]
    assert words(memory, address, 20) == expected


def test_waves_that_do_not_run_store_nothing(memory):
    address = allocated(memory, np.zeros(8, np.uint32))
    state = started(memory, address)
    state.write_sgpr(8, NUMBERS + np.uint32(1))
    state.set_group(NUMBERS == 2)
    run_code(state, "020242c010000000")  # s_store_dword s8, s[4:5], 0x10
    assert words(memory, address, 8) == [0, 0, 0, 0, 3, 0, 0, 0]


def test_a_buffer_store_drops_what_is_out_of_range_word_by_word(memory):
    address = allocated(memory, np.zeros(8, np.uint32))
    state = started(memory, address, records=12)
    state.write_sgpr(8, 7)
    state.write_sgpr(9, 8)
    run_code(state, "020266c008000000")  # s_buffer_store_dwordx2 s[8:9], s[4:7], 0x8
    assert words(memory, address, 8) == [0, 0, 7, 0, 0, 0, 0, 0]


def test_a_store_outside_live_memory_is_a_fault(memory):
    address = allocated(memory, np.zeros(4, np.uint32))
    state = started(memory, address)
    state.write_sgpr(8, 7)
    with pytest.raises(DeviceFault) as caught:
        run_code(state, "020242c010000000")  # s_store_dword s8, s[4:5], 0x10
    assert caught.value.description == "0 bytes past the end of `b`, 16 bytes"
    assert caught.value.address == address + 16


def test_atomics_take_the_waves_in_order_and_give_the_old_value(memory):
    address = allocated(memory, np.array([0, 1000], np.uint32))
    state = started(memory, address)
    state.write_sgpr(8, NUMBERS + np.uint32(1))
    run_code(state, "02020bc204000000")  # s_atomic_add s8, s[4:5], 0x4 glc
    assert per_wave(state, 8) == [1000, 1001, 1003, 1006, 1010]
    assert words(memory, address, 2) == [0, 1015]


def test_a_64_bit_compare_and_swap_has_the_new_value_first(memory):
    address = allocated(memory, np.array([5 << 32 | 9], np.uint64))
    state = started(memory, address)
    state.write_sgpr64(8, 77 << 32 | 1)
    state.write_sgpr64(10, 5 << 32 | 9)
    state.set_group(NUMBERS == 3)
    run_code(state, "020287c200000000")  # s_atomic_cmpswap_x2 s[8:11], s[4:5], 0x0 glc
    assert memory.bytes(address, 8).view(np.uint64).tolist() == [77 << 32 | 1]
    assert (per_wave(state, 8)[3], per_wave(state, 9)[3]) == (9, 5)


def test_a_buffer_atomic_without_glc_returns_nothing_and_keeps_to_the_range(memory):
    address = allocated(memory, np.array([0, 3], np.uint32))
    state = started(memory, address, records=8)
    state.write_sgpr(8, NUMBERS + np.uint32(1))
    run_code(state, "02021ec104000000")  # s_buffer_atomic_umax s8, s[4:7], 0x4
    assert words(memory, address, 2) == [0, 5]
    assert per_wave(state, 8) == [1, 2, 3, 4, 5]
    state.write_sgpr(6, 4)
    state.write_sgpr(8, 100)
    run_code(state, "02021ec104000000")
    assert words(memory, address, 2) == [0, 5]
