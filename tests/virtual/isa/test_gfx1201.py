"""What gfx1201 does its own way. Each program is assembled by llvm-mc-19; the comment beside it is its source."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from support.assembled import Assembled, kernel_of
from support.gfx1100 import fill, fill_floats, make_waves, read, run
from support.matrices import SIDE, A, B, C, f16, packed, random

from hipgraph_cb.virtual.faults import DeviceFault
from hipgraph_cb.virtual.initial_state import initial_state
from hipgraph_cb.virtual.isa.execution.placement import Placement
from hipgraph_cb.virtual.isa.targets.gfx12.target import TARGET
from hipgraph_cb.virtual.launch import Launch
from hipgraph_cb.virtual.memory import Memory

LANE = np.arange(32)
NAN = float("nan")


@pytest.fixture
def state():
    return make_waves(waves=1, target=TARGET)


def scalar_float(state, register: int) -> float:
    return float(np.uint32(state.read_sgpr(register)).view(np.float32))


def put_float(state, register: int, value: float) -> None:
    state.write_sgpr(register, int(np.float32(value).view(np.uint32)))


def test_a_wave_finds_its_workgroup_and_its_number_in_trap_registers():
    memory = Memory(1 << 16)
    kernel: SimpleNamespace = kernel_of(memory, Assembled("", bytes(256)))
    launch = Launch(kernel, (3 * 64, 2, 2), (64, 1, 1), 0)
    placement = Placement("tried", 0x1000, 0, launch.groups, 0, 12, 2, 32, TARGET)
    state = initial_state(launch, memory, placement)
    groups = np.repeat(np.arange(12), 2)
    x, y, z = groups % 3, groups // 3 % 2, groups // 6
    assert np.array_equal(state.read_sgpr(108 + 9)[:, 0], x)
    assert np.array_equal(state.read_sgpr(108 + 7)[:, 0], y | z << 16)
    assert np.array_equal(state.read_sgpr(108 + 8)[:, 0] >> 25 & 31, np.tile([0, 1], 12))
    assert state.read_sgpr(2) == 0xCDCDCDCD  # where older families have the number of the workgroup


def test_scalar_arithmetic_on_floats(state):
    put_float(state, 4, 2.5)
    put_float(state, 6, 10.0)
    # s_add_f32 s4, s4, 1.0; s_mul_f32 s5, s4, s4; s_fmac_f32 s6, s4, s5; s_fmaak_f32 s7, s4, s5, 2.0;
    # s_cvt_i32_f32 s8, s4; s_cvt_f32_u32 s9, s8; s_cmp_lt_f32 s4, s5; s_cselect_b32 s10, 1, 2
    run(state, "04f204a0 040405a2 040586a3 040587a200000040 046688be 086589be 040541bf 81820a98")
    assert [scalar_float(state, register) for register in (4, 5, 6, 7)] == [3.5, 12.25, 52.875, 44.875]
    assert (state.read_sgpr(8), scalar_float(state, 9), state.read_sgpr(10)) == (3, 3.0, 1)


def test_scalar_arithmetic_on_floats_that_differ_between_waves():
    state = make_waves(waves=2, target=TARGET)
    state.write_sgpr(4, np.float32([[1.5], [-4.0]]).view(np.uint32))
    run(state, "04f204a0 046688be")  # s_add_f32 s4, s4, 1.0; s_cvt_i32_f32 s8, s4
    assert state.read_sgpr(4).view(np.float32)[:, 0].tolist() == [2.5, -3.0]
    assert state.read_sgpr(8).view(np.int32)[:, 0].tolist() == [2, -3]


def test_scalar_integers_of_64_bits(state):
    state.write_sgpr64(4, (1 << 64) - 3)
    state.write_sgpr64(6, 5)
    run(state, "040684a9")  # s_add_nc_u64 s[4:5], s[4:5], s[6:7]
    assert state.read_sgpr64(4) == 2
    state.write_sgpr64(4, 0x1_0000_0001)
    run(state, "040684aa")  # s_mul_u64 s[4:5], s[4:5], s[6:7]
    assert state.read_sgpr64(4) == 0x5_0000_0005


def test_scalar_loads_of_bytes_and_halves():
    memory = Memory(1 << 16)
    address = memory.allocate(64)
    memory.bytes(address, 64)[:4] = [0x11, 0x92, 0x33, 0xF4]
    state = make_waves(waves=1, memory=memory, target=TARGET)
    state.write_sgpr64(4, address)
    run(state, "826101f4020000f8 c20101f4010000f8")  # s_load_u16 s6, s[4:5], 0x2; s_load_i8 s7, s[4:5], 0x1
    assert (state.read_sgpr(6), state.read_sgpr(7)) == (0xF433, 0xFFFFFF92)


@pytest.mark.parametrize(
    ("first", "second", "number", "least", "most"),
    [(1.0, 2.0, 1.0, 1.0, 2.0), (NAN, 2.0, 2.0, NAN, NAN), (1.0, NAN, 1.0, NAN, NAN), (0.0, -0.0, -0.0, -0.0, 0.0)],
)
def test_a_minimum_of_numbers_and_one_that_may_be_nan(state, first, second, number, least, most):
    fill_floats(state, 0, np.full(32, first))
    fill_floats(state, 1, np.full(32, second))
    # v_min_num_f32 v2, v0, v1; v_minimum_f32 v3, v0, v1; v_maximum_f32 v4, v0, v1; v_maximum3_f32 v5, v0, v1, v1
    run(state, "0003042a 030065d700030200 040066d700030200 05002ed600030604")
    found = [float(read(state, register)[0, 0].view(np.float32)) for register in (2, 3, 4, 5)]
    assert str(found) == str([number, least, most, most])


def test_clamp_makes_nan_zero_whatever_the_descriptor_says(state):
    fill_floats(state, 0, np.full(32, NAN))
    fill_floats(state, 1, np.full(32, NAN))
    memory = Memory(1 << 16)
    kernel = kernel_of(memory, Assembled("", bytes(256)), compute_pgm_rsrc1=0xF0 << 12)
    launch = Launch(kernel, (32, 1, 1), (32, 1, 1), 0)
    state.mode = initial_state(launch, memory, state.placement).mode
    run(state, "028016d500030200")  # v_max_num_f32 v2, v0, v1 clamp
    assert (read(state, 2) == 0).all()


def test_waits_and_the_two_parts_of_a_barrier():
    state = make_waves(waves=2, target=TARGET)
    # s_barrier_signal -1; s_wait_loadcnt 0; s_wait_dscnt 0; global_wb scope:SCOPE_SYS; s_barrier_wait -1;
    # v_mov_b32 v2, 1
    run(state, "c14e80be 0000c0bf 0000c6bf 7c000bee00000c0000000000 ffff94bf 8102047e")
    assert (read(state, 2) == 1).all()


def test_floats_of_eight_bits_have_other_encodings_here_and_are_refused(state):
    fill(state, 0, LANE)
    with pytest.raises(DeviceFault, match="v_cvt_f32_fp8 is not implemented"):
        run(state, "00d9047e")  # v_cvt_f32_fp8 v2, v0


def put_split_rows(state, first: int, rows: np.ndarray) -> None:
    """Each sixteen lanes hold a part of a row: [16, words]."""
    groups = state.lanes // SIDE
    parts = rows.reshape(SIDE, groups, -1).transpose(1, 0, 2).reshape(state.lanes, -1)
    for index in range(parts.shape[1]):
        fill(state, first + index, parts[:, index])


def split_result(state, first: int, count: int) -> np.ndarray:
    """Register r, lane n: row r + count * (n // 16), column n % 16."""
    words = np.stack([read(state, first + index)[0] for index in range(count)])
    return words.reshape(count, -1, SIDE).transpose(1, 0, 2).reshape(-1, SIDE)


@pytest.mark.parametrize("lanes", [32, 64])
def test_a_wave_matrix_splits_its_rows_among_the_lanes(lanes):
    state = make_waves(waves=1, lanes=lanes, target=TARGET)
    a, b = random((2, SIDE, SIDE), "f")
    put_split_rows(state, A, packed(f16(a), 16))
    put_split_rows(state, B, packed(f16(b.T), 16))
    for register in range(C, C + 8):
        fill(state, register, np.zeros(lanes))
    run(state, "104040cc0011421c")  # v_wmma_f32_16x16x16_f16 v[16:23], v[0:3], v[8:11], v[16:23]
    assert np.array_equal(split_result(state, C, 256 // lanes).view(np.float32), a @ b)


def test_results_of_16_bits_take_both_halves_of_a_register(state):
    a, b = random((2, SIDE, SIDE), "f")
    put_split_rows(state, A, packed(f16(a), 16))
    put_split_rows(state, B, packed(f16(b.T), 16))
    for register in range(C, C + 4):
        fill(state, register, np.zeros(32))
    run(state, "104042cc0011421c")  # v_wmma_f16_16x16x16_f16 v[16:19], v[0:3], v[8:11], v[16:19]
    words = np.stack([read(state, C + index)[0] for index in range(4)])
    halves = np.stack([words & np.uint32(0xFFFF), words >> np.uint32(16)], axis=1).reshape(8, 2, SIDE)
    assert np.array_equal(halves.transpose(1, 0, 2).reshape(SIDE, SIDE), f16(np.float32(a @ b)))


@pytest.mark.parametrize(
    ("code", "width", "depth", "left", "right"),
    [
        ("104044cc0011427c", 8, 16, "i8", "i8"),  # v_wmma_i32_16x16x16_iu8 ... neg_lo:[1,1,0]
        ("10404acc0011423c", 4, 32, "i4", "u4"),  # v_wmma_i32_16x16x32_iu4 ... neg_lo:[1,0,0]
    ],
)
def test_integers_of_a_wave_matrix(state, code, width, depth, left, right):
    a, b = random((SIDE, depth), left), random((depth, SIDE), right, 6)
    put_split_rows(state, A, packed(a, width))
    put_split_rows(state, B, packed(np.ascontiguousarray(b.T), width))
    for register in range(C, C + 8):
        fill(state, register, np.full(32, 1000))
    run(state, code)
    assert np.array_equal(split_result(state, C, 8).view(np.int32), a @ b + 1000)


def test_an_index_stays_known_through_the_short_form_of_a_shift(state):
    fill(state, 0, LANE)
    fill(state, 1, 0)
    run(state, "8200043e")  # v_lshlrev_b64 v[2:3], 2, v[0:1]
    assert state.read_scaled(2) is not None
    assert np.array_equal(read(state, 2)[0], 4 * LANE)
    assert not read(state, 3).any()
