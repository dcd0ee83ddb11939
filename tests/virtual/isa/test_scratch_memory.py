"""SCRATCH: every lane has bytes of its own, addressed by a VGPR, an SGPR, both or neither."""

from __future__ import annotations

import numpy as np
import pytest
from support.lanes import lanes_of, make_state, run_code

from hipgraph_cb.virtual.faults import DeviceFault, FaultKind
from hipgraph_cb.virtual.isa.execution import instruction_set  # noqa: F401  # registers the instructions
from hipgraph_cb.virtual.memory import Memory

LANES = np.arange(64)
SIZE = 64
LOAD_NOTHING = "084050dc00007f04"  # scratch_load_dword v4, off, off offset:8
LOAD_SGPR = "fc5f50dc00002004"  # scratch_load_dword v4, off, s32 offset:-4
LOAD_VGPR = "046050dc00007f04"  # scratch_load_dword v4, v0, off offset:4
LOAD_BOTH = "046050dc00002004"  # scratch_load_dword v4, v0, s32 offset:4
LOAD_X3 = "006058dc00007f04"  # scratch_load_dwordx3 v[4:6], v0, off
LOAD_USHORT = "006048dc00007f04"  # scratch_load_ushort v4, v0, off
LOAD_SBYTE = "006044dc00007f04"  # scratch_load_sbyte v4, v0, off
STORE_SGPR = "084070dc00022000"  # scratch_store_dword off, v2, s32 offset:8
STORE_X2 = "006074dc00027f00"  # scratch_store_dwordx2 v0, v[2:3], off
STORE_SHORT = "006068dc00027f00"  # scratch_store_short v0, v2, off
STORE_BYTE = "006060dc00027f00"  # scratch_store_byte v0, v2, off
STORE_BYTE_HIGH = "004064dc00022000"  # scratch_store_byte_d16_hi off, v2, s32


@pytest.fixture
def bytes_of_lanes() -> np.ndarray:
    """What the private memory of two waves holds: [wave, lane, byte]."""
    return np.random.default_rng(1).integers(0, 256, (2, 64, SIZE), dtype=np.uint8)


@pytest.fixture
def state(bytes_of_lanes):
    state = make_state(Memory(1 << 16), waves_per_group=2)
    state.scratch_size = SIZE
    state.scratch[:] = bytes_of_lanes.view(np.uint32).transpose(2, 0, 1)
    state.write_sgpr(32, 20)
    return state


def contents(state) -> np.ndarray:
    return np.ascontiguousarray(state.scratch.transpose(1, 2, 0)).view(np.uint8)


def fill(state, register, values):
    state.write_vgpr(register, np.asarray(values).astype(np.uint32).reshape(-1, 64))


def at(bytes_of_lanes, addresses, size, dtype):
    """The value of `dtype` at each lane's address."""
    addresses = np.broadcast_to(addresses, (2, 64))
    picked = [[bytes_of_lanes[w, lane, addresses[w, lane] :][:size].tobytes() for lane in range(64)] for w in range(2)]
    return np.array([[np.frombuffer(value, dtype)[0] for value in wave] for wave in picked])


def test_an_address_may_be_the_offset_alone(state, bytes_of_lanes):
    run_code(state, LOAD_NOTHING)
    assert np.array_equal(lanes_of(state, 4), at(bytes_of_lanes, 8, 4, np.uint32))


def test_an_address_may_be_an_sgpr_plus_a_negative_offset(state, bytes_of_lanes):
    run_code(state, LOAD_SGPR)
    assert np.array_equal(lanes_of(state, 4), at(bytes_of_lanes, 16, 4, np.uint32))


def test_an_sgpr_may_differ_between_waves(state, bytes_of_lanes):
    state.write_sgpr(32, np.array([[20], [45]], np.uint32))
    run_code(state, LOAD_SGPR)
    assert np.array_equal(lanes_of(state, 4), at(bytes_of_lanes, np.array([[16], [41]]), 4, np.uint32))


@pytest.mark.parametrize("scale", [4, 1])
def test_an_address_may_be_a_vgpr_aligned_or_not(state, bytes_of_lanes, scale):
    addresses = LANES * scale % 40
    fill(state, 0, addresses)
    run_code(state, LOAD_VGPR)
    assert np.array_equal(lanes_of(state, 4), at(bytes_of_lanes, addresses + 4, 4, np.uint32))


def test_an_address_may_be_the_sum_of_vgpr_and_sgpr(state, bytes_of_lanes):
    addresses = LANES % 9 * 4
    fill(state, 0, addresses)
    run_code(state, LOAD_BOTH)
    assert np.array_equal(lanes_of(state, 4), at(bytes_of_lanes, addresses + 24, 4, np.uint32))


def test_a_negative_vgpr_wraps_in_32_bits(state, bytes_of_lanes):
    fill(state, 0, np.full(64, 2**32 - 16))
    run_code(state, LOAD_BOTH)
    assert np.array_equal(lanes_of(state, 4), at(bytes_of_lanes, 8, 4, np.uint32))


@pytest.mark.parametrize("scale", [4, 3])
def test_three_words_come_from_consecutive_bytes(state, bytes_of_lanes, scale):
    addresses = LANES % 13 * scale
    fill(state, 0, addresses)
    run_code(state, LOAD_X3)
    for word in range(3):
        assert np.array_equal(lanes_of(state, 4 + word), at(bytes_of_lanes, addresses + 4 * word, 4, np.uint32))


def test_narrow_loads_extend(state, bytes_of_lanes):
    addresses = LANES % 61
    fill(state, 0, addresses)
    run_code(state, LOAD_USHORT)
    assert np.array_equal(lanes_of(state, 4), at(bytes_of_lanes, addresses, 2, np.uint16))
    run_code(state, LOAD_SBYTE)
    assert np.array_equal(lanes_of(state, 4).view(np.int32), at(bytes_of_lanes, addresses, 1, np.int8))


def test_a_store_to_one_place_writes_every_active_lanes_own_word(state, bytes_of_lanes):
    fill(state, 2, np.stack([LANES + 1000, LANES + 2000]))
    on = np.stack([LANES % 3 > 0, LANES < 9])
    state.write_exec(on)
    run_code(state, STORE_SGPR)
    expected = bytes_of_lanes.copy()
    words = expected.view(np.uint32)
    words[:, :, 7] = np.where(on, np.stack([LANES + 1000, LANES + 2000]), words[:, :, 7])
    assert np.array_equal(contents(state), expected)


@pytest.mark.parametrize("scale", [8, 5])
@pytest.mark.parametrize("partial", [False, True])
def test_stores_to_different_places(state, bytes_of_lanes, scale, partial):
    addresses = LANES % 8 * scale
    on = LANES % 2 == 0 if partial else LANES >= 0
    if partial:
        state.write_exec(on.reshape(1, -1))
    fill(state, 0, addresses)
    fill(state, 2, LANES + 0x01020304)
    fill(state, 3, LANES + 0x0A0B0C0D)
    run_code(state, STORE_X2)
    expected = bytes_of_lanes.copy()
    for lane in LANES[on]:
        data = int(lane + 0x01020304).to_bytes(4, "little") + int(lane + 0x0A0B0C0D).to_bytes(4, "little")
        expected[:, lane, addresses[lane] : addresses[lane] + 8] = np.frombuffer(data, np.uint8)
    assert np.array_equal(contents(state), expected)


def test_narrow_stores_write_low_or_high_bytes(state, bytes_of_lanes):
    addresses = LANES % 60
    fill(state, 0, addresses)
    fill(state, 2, LANES * 0x01010101)
    expected = bytes_of_lanes.copy()
    run_code(state, STORE_SHORT + STORE_BYTE_HIGH)
    for lane in LANES:
        expected[:, lane, addresses[lane] : addresses[lane] + 2] = lane
        expected[:, lane, 20] = lane
    assert np.array_equal(contents(state), expected)
    fill(state, 2, np.full(64, 0xFFFFFF77))
    run_code(state, STORE_BYTE)
    expected[:, LANES, addresses] = 0x77
    assert np.array_equal(contents(state), expected)


def test_no_active_lane_changes_nothing(state, bytes_of_lanes):
    fill(state, 0, LANES * 0 + 4)
    fill(state, 4, LANES * 0 + 5)
    state.write_exec(np.zeros((1, 1), np.bool_))
    run_code(state, STORE_SGPR + STORE_X2 + STORE_BYTE + LOAD_NOTHING + LOAD_X3 + LOAD_USHORT)
    assert np.array_equal(contents(state), bytes_of_lanes)
    assert (lanes_of(state, 4) == 5).all()


@pytest.mark.parametrize("code", [LOAD_VGPR, STORE_X2, STORE_SHORT])
def test_leaving_the_lanes_scratch_is_a_fault(state, code):
    fill(state, 0, np.where(LANES == 17, 1000, 0))
    fill(state, 2, LANES)
    with pytest.raises(DeviceFault) as raised:
        run_code(state, code)
    fault = raised.value
    size, address = {LOAD_VGPR: (4, 1004), STORE_X2: (8, 1000), STORE_SHORT: (2, 1000)}[code]
    assert fault.description == f"{size} bytes at scratch address {address:#x}, outside the lane's 64 bytes"
    assert (fault.kind, fault.wave, fault.lane) == (FaultKind.ILLEGAL_ADDRESS, 0, 17)


def test_a_lane_that_is_off_may_hold_any_address(state, bytes_of_lanes):
    fill(state, 0, np.where(LANES == 17, 10**6, 0))
    state.write_exec((LANES != 17).reshape(1, -1))
    run_code(state, LOAD_VGPR)
    on = LANES != 17
    assert np.array_equal(lanes_of(state, 4)[:, on], at(bytes_of_lanes, 4, 4, np.uint32)[:, on])
