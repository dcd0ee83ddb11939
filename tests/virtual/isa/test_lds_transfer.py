"""Loads that go to LDS, and LDS addressed by the number of the lane."""

from __future__ import annotations

import numpy as np
import pytest
from support.lanes import lanes_of, make_state, run_code

from hipgraph_cb.virtual.isa.execution import instruction_set  # noqa: F401  # registers the instructions
from hipgraph_cb.virtual.memory import Memory

LANES = np.arange(64)
M0 = 124
FROM_BUFFER = "081051e000000280"  # buffer_load_dword v0, s[8:11], 0 offen offset:8 lds
FROM_GLOBAL = "1080a8dc00007f00"  # global_load_lds_dword v[0:1], off offset:16
READ = "08006cd900000004"  # ds_read_addtid_b32 v4 offset:8
WRITE = "08003ad800020000"  # ds_write_addtid_b32 v2 offset:8


@pytest.fixture
def data():
    """A memory, the address of 80 words in it, and these words."""
    memory = Memory(1 << 20)
    address = memory.allocate(320, label="data")
    words = memory.bytes(address, 320).view(np.uint32)
    words[:] = np.random.default_rng(3).integers(0, 2**32, 80, dtype=np.uint32)
    return memory, address, words


def fresh(memory, m0=0xABCD0040):
    state = make_state(memory, groups=2, lds_size=400)
    state.write_sgpr(M0, m0)
    return state, state.lds.view(np.uint32)


def test_a_global_load_puts_each_lanes_word_beside_its_neighbours(data):
    memory, address, words = data
    state, lds = fresh(memory)
    state.write_vgpr64(0, (address + 4 * LANES[::-1]).astype(np.uint64).reshape(1, 64))
    run_code(state, FROM_GLOBAL)
    first = (0x40 + 16) // 4
    assert np.array_equal(lds[:, first : first + 64], np.tile(words[4:68][::-1], (2, 1)))
    assert (lds[:, :first] == 0xCDCDCDCD).all()


def test_lanes_that_are_off_write_nothing(data):
    memory, address, words = data
    state, lds = fresh(memory)
    state.write_vgpr64(0, (address + 4 * LANES).astype(np.uint64).reshape(1, 64))
    on = LANES % 4 == 1
    state.write_exec(on.reshape(1, 64))
    run_code(state, FROM_GLOBAL)
    assert np.array_equal(lds[1, 20:84], np.where(on, words[4:68], 0xCDCDCDCD))


def test_a_buffer_load_to_lds_writes_zero_for_lanes_out_of_range(data):
    memory, address, words = data
    state, lds = fresh(memory, m0=0)
    for register, value in enumerate((address & 0xFFFFFFFF, address >> 32, 4 * 30, 0)):
        state.write_sgpr(8 + register, value)
    state.write_vgpr(0, (4 * LANES).astype(np.uint32).reshape(1, 64))
    run_code(state, FROM_BUFFER)
    assert np.array_equal(lds[0, 2:66], np.where(LANES + 2 < 30, words[2:66], 0))


def test_what_is_written_by_lane_number_is_read_back_by_it(data):
    state, lds = fresh(data[0])
    state.write_vgpr(2, (LANES + 7).astype(np.uint32).reshape(1, 64))
    run_code(state, WRITE + READ)
    assert np.array_equal(lds[:, 18:82], np.tile(LANES + 7, (2, 1)))
    assert np.array_equal(lanes_of(state, 4), np.tile(LANES + 7, (2, 1)))


@pytest.mark.parametrize(
    ("code", "dtype", "offset"),
    [
        ("008098dc00007f00", np.uint8, 0),  # global_load_lds_ubyte v[0:1], off
        ("04809cdc00007f00", np.int8, 4),  # global_load_lds_sbyte v[0:1], off offset:4
        ("0080a0dc00007f00", np.uint16, 0),  # global_load_lds_ushort v[0:1], off
        ("0080a4dc00007f00", np.int16, 0),  # global_load_lds_sshort v[0:1], off
    ],
)
def test_narrow_values_take_a_word_of_lds_each(data, code, dtype, offset):
    memory, address, words = data
    state, lds = fresh(memory, m0=16)
    size = np.dtype(dtype).itemsize
    state.write_vgpr64(0, (address + size * LANES).astype(np.uint64).reshape(1, 64))
    run_code(state, code)
    values = words.view(dtype)[offset // size :][:64].astype(np.int32).view(np.uint32)
    first = (16 + offset) // 4
    assert np.array_equal(lds[:, first : first + 64], np.tile(values, (2, 1)))


def test_a_narrow_buffer_load_to_lds_takes_one_value_or_one_a_lane(data):
    memory, address, words = data
    state, lds = fresh(memory, m0=0)
    for register, value in enumerate((address & 0xFFFFFFFF, address >> 32, 2 * 40, 0)):
        state.write_sgpr(8 + register, value)
    state.write_vgpr(0, (2 * LANES).astype(np.uint32).reshape(1, 64))
    run_code(state, "001049e000000280")  # buffer_load_ushort v0, s[8:11], 0 offen lds
    assert np.array_equal(lds[0, :64], np.where(LANES < 40, words.view(np.uint16)[:64], 0))
    run_code(state, "000045e000000280")  # buffer_load_sbyte off, s[8:11], 0 lds
    assert set(lds[1, :64].view(np.int32).tolist()) == {int(words.view(np.int8)[0])}


def test_private_memory_goes_to_lds():
    state = make_state(Memory(1 << 16), groups=2, lds_size=400)
    state.write_sgpr(M0, 8)
    state.scratch_size = 16
    values = np.random.default_rng(2).integers(0, 2**32, (4, 2, 64), dtype=np.uint32)
    state.scratch[:] = values
    state.write_vgpr(0, np.where(LANES % 2, 4, 8).astype(np.uint32).reshape(1, 64))
    run_code(state, "0060a8dc00007f00")  # scratch_load_lds_dword v0, off
    assert np.array_equal(state.lds.view(np.uint32)[:, 2:66], np.where(LANES % 2, values[1], values[2]))
    run_code(state, "0260a4dc00007f00")  # scratch_load_lds_sshort v0, off offset:2
    halves = (np.where(LANES % 2, values[1], values[2]).view(np.int32) >> 16).view(np.uint32)
    words = state.lds.reshape(-1).view(np.uint8)[:800].reshape(2, 400)[:, 10 : 10 + 256].copy().view(np.uint32)
    assert np.array_equal(words, halves)
