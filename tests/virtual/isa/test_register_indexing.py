"""Vector registers chosen at run time (s_set_gpr_idx_on ... s_set_gpr_idx_off)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.assembled import assembled, run_program
from support.virtual_gpu import VirtualGpu

from hipgraph_cb.virtual.faults import DeviceFault
from hipgraph_cb.virtual.isa.core.state import UNWRITTEN

FIXTURE = Path(__file__).parents[2] / "fixtures" / "virtual" / "indexed.gfx942.hsaco"

PER_WAVE = assembled(
    """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_mov_b32 v10, 100
  v_mov_b32 v11, 101
  v_mov_b32 v12, 102
  v_mov_b32 v13, 103
  v_lshrrev_b32 v1, 6, v0
  v_readfirstlane_b32 s4, v1
  v_mov_b32 v5, 0
  s_set_gpr_idx_on s4, gpr_idx(SRC0,DST)
  v_add_u32 v20, v10, v5
  s_set_gpr_idx_mode gpr_idx(SRC1)
  v_add_u32 v6, 1000, v10
  s_set_gpr_idx_idx s5
  v_cmp_eq_u32 vcc, 102, v10
  s_set_gpr_idx_off
  v_lshlrev_b32 v2, 2, v0
  global_store_dword v2, v6, s[8:9]
  v_add_u32 v3, 20, v1
  s_cmp_eq_u32 s4, 3
  s_cbranch_scc0 end
  global_store_dword v2, v23, s[8:9] offset:2048
end:
  s_endpgm
""",
    "000206c000000000ff02147e64000000ff02167e65000000ff02187e66000000ff021a7e67000000860002200105087e"
    "80020a7e040911bf0a0b286802009dbfff140c68e8030000053280beff14947d6600000000009cbf82000424008070dc"
    "0206080094020668048306bf020084bf008870dc02170800000081bf",
)


def test_waves_with_different_indices_read_and_write_different_registers():
    out = run_program(PER_WAVE, group_size=256)
    assert out[:256].tolist() == [1100 + wave for wave in range(4) for _ in range(64)]
    assert out[512 + 192 : 512 + 256].tolist() == [103] * 64


IN_TWO_BLOCKS = assembled(
    """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_mov_b32 v3, 0
  s_mov_b32 s4, 2
  s_set_gpr_idx_on s4, gpr_idx(DST)
  s_branch next
next:
  v_mov_b32 v1, 7
  s_set_gpr_idx_off
  v_lshlrev_b32 v2, 2, v0
  global_store_dword v2, v3, s[8:9]
  s_mov_b32 m0, 0x8001
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 27, 1), 1
  v_mov_b32 v2, 9
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 27, 1), 0
  global_store_dword v2, v3, s[8:9] offset:256
  s_endpgm
""",
    "000206c0000000008002067e820084be040811bf000082bf8702027e00009cbf82000424008070dc02030800ff00fcbe"
    "01800000c10600ba010000008902047ec10600ba00000000008170dc02030800000081bf",
)

LANES_MOVED = assembled(
    """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_mov_b32 v10, v0
  v_add_u32 v11, 100, v0
  v_add_u32 v12, 200, v0
  v_lshrrev_b32 v1, 6, v0
  v_readfirstlane_b32 s4, v1
  s_set_gpr_idx_on s4, gpr_idx(SRC0,SRC1,SRC2,DST)
  v_readlane_b32 s5, v10, 7
  v_readfirstlane_b32 s6, v10
  v_writelane_b32 v20, s5, 3
  s_set_gpr_idx_off
  v_lshlrev_b32 v2, 2, v0
  v_mov_b32 v3, s5
  v_mov_b32 v4, s6
  global_store_dword v2, v3, s[8:9]
  global_store_dword v2, v4, s[8:9] offset:768
  global_store_dword v2, v20, s[8:9] offset:1536
  global_store_dword v2, v22, s[8:9] offset:2304
  s_endpgm
""",
    "000206c0000000000003147eff00166864000000ff001868c8000000860002200105087e040f11bf050089d20a0f0100"
    "0a050c7e14008ad20506010000009cbf820004240502067e0602087e008070dc02030800008370dc02040800008670dc"
    "02140800008970dc02160800000081bf",
)

TOO_HIGH = assembled(
    """
  s_movk_i32 s4, 0xf0
  s_set_gpr_idx_on s4, gpr_idx(DST)
  v_mov_b32 v20, 0
  s_set_gpr_idx_off
  s_endpgm
""",
    "f00004b0040811bf8002287e00009cbf000081bf",
)


def test_the_mode_holds_over_the_end_of_a_block_and_can_be_set_as_a_register():
    out = run_program(IN_TWO_BLOCKS)
    assert out[:64].tolist() == [7] * 64
    assert out[64:128].tolist() == [9] * 64


def test_instructions_between_lanes_and_scalars_move_only_their_vector_register():
    """The index of wave w is w: it reads v(10 + w), writes v(20 + w), and neither the scalar nor the lane is moved."""
    out = run_program(LANES_MOVED, group_size=192, words=768).reshape(-1, 192)
    lane = np.arange(192)
    wave = lane // 64
    source = 100 * wave
    assert np.array_equal(out[0], source + 64 * wave + 7)
    assert np.array_equal(out[1], source + 64 * wave)
    first, last = out[2, lane % 64 == 3], out[3, lane % 64 == 3]
    assert first.tolist() == [7, UNWRITTEN, UNWRITTEN]
    assert last.tolist() == [UNWRITTEN, UNWRITTEN, 200 + 128 + 7]
    assert (out[2:4, lane % 64 != 3] == UNWRITTEN).all()


def test_a_register_beyond_the_last_is_a_fault():
    with pytest.raises(DeviceFault) as caught:
        run_program(TOO_HIGH)
    assert caught.value.description == "the indexed register v260 does not exist"
    assert caught.value.instruction == "v_mov_b32 v20, 0"


@pytest.fixture
def gpu() -> VirtualGpu:
    return VirtualGpu(FIXTURE.read_bytes())


@pytest.mark.parametrize("n", [1, 128, 300])
def test_a_vector_indexed_by_each_lane(gpu, n):
    x = np.random.default_rng(3).integers(-1000, 1000, n + 16).astype(np.int32)
    out, source = gpu.upload(np.zeros(2 * n, np.int32)), gpu.upload(x)
    gpu.launch("pick", (-(-n // 128) * 128,), (128,), [out, source, n])
    lanes = np.arange(n, dtype=np.int32)
    v = x[:16] + lanes[:, None]
    w = v * 3
    k = x[16:]
    v[lanes, k & 15] = 1000 + lanes
    expected = np.stack([w[lanes, k & 15], v[lanes, k + 1 & 15] + v[lanes, k & 15]], axis=1)
    assert np.array_equal(gpu.read(out, 2 * n, np.int32).reshape(n, 2), expected)


@pytest.mark.parametrize("k", [0, 1, 7, 40])
def test_a_vector_indexed_by_a_loop_counter(gpu, k):
    n = 300
    x = np.random.default_rng(4).integers(-1000, 1000, 16).astype(np.int32)
    out, source = gpu.upload(np.zeros(n, np.int32)), gpu.upload(x)
    gpu.launch("loop", (384,), (128,), [out, source, n, k])
    lanes = np.arange(n, dtype=np.int32)
    v = x[np.arange(16) + lanes[:, None] & 15]
    v[:, k & 15] = lanes
    total = np.zeros(n, np.int32)
    for j in range(k):
        total = total * np.int32(3) + v[:, j & 15]
    assert np.array_equal(gpu.read(out, n, np.int32), total)
