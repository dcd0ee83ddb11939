"""Vector registers chosen at run time (s_set_gpr_idx_on ... s_set_gpr_idx_off)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.assembled import assembled, run_program
from support.virtual_gpu import VirtualGpu

from hipgraph_cb.virtual.faults import DeviceFault

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
  s_set_gpr_idx_on s4, gpr_idx(DST)
  v_mov_b32 v1, 0
  s_branch next
next:
  s_set_gpr_idx_off
  s_endpgm
""",
    "040811bf8002027e000082bf00009cbf000081bf",
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


def test_indexing_over_the_end_of_a_block_is_a_fault():
    with pytest.raises(DeviceFault) as caught:
        run_program(IN_TWO_BLOCKS)
    assert caught.value.description == "a block ends, or has 4096 instructions, while register indexing is on"


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
