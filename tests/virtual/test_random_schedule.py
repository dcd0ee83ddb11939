"""Kernels that are right in one lucky order only fail in a random one, and their right twins never do."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from support.assembled import assembled, run_program
from support.tools import require_tool
from support.virtual_gpu import VirtualGpu

import hipgraph_cb
from hipgraph_cb.virtual.dispatch import DEFAULTS
from hipgraph_cb.virtual.faults import DeviceFault, FaultKind

SEEDS = range(8)
U32 = np.uint32
SOURCE = """
#ifdef RIGHT
#define SYNC barrier(CLK_LOCAL_MEM_FENCE)
#else
#define SYNC
#endif
__attribute__((reqd_work_group_size(256, 1, 1)))
kernel void transpose(global uint *out, global const uint *in) {
  local volatile uint tile[256];
  uint i = get_local_id(0), base = get_group_id(0) * 256;
  tile[i] = in[base + i];
  SYNC;
  out[base + i] = tile[i % 16 * 16 + i / 16];
}
__attribute__((reqd_work_group_size(256, 1, 1)))
kernel void sum(global uint *out, global const uint *in) {
  local volatile uint sums[256];
  uint i = get_local_id(0);
  sums[i] = in[get_group_id(0) * 256 + i];
  for (uint step = 128; step; step /= 2) {
    SYNC;
    if (i < step) sums[i] += sums[i + step];
  }
  if (i == 0) out[get_group_id(0)] = sums[0];
}
kernel void publish(global uint *out, global uint *in) {
  in[get_group_id(0)] = get_group_id(0) + 1;
}
kernel void neighbour(global uint *out, global volatile uint *in) {
  uint group = get_group_id(0);
#ifndef RIGHT
  in[group] = group + 1;
#endif
  out[group] = in[(group + 1) % get_num_groups(0)];
}
__attribute__((reqd_work_group_size(128, 1, 1)))
kernel void halved(global uint *out, global const uint *in) {
  local volatile uint values[128];
  uint i = get_local_id(0);
#ifdef RIGHT
  barrier(CLK_LOCAL_MEM_FENCE);
#else
  if (i < 64) barrier(CLK_LOCAL_MEM_FENCE);
#endif
  values[i] = in[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] = values[i ^ 64];
}
"""
ASSEMBLY = """
.amdgcn_target "amdgcn-amd-amdhsa--TARGET"
.text
.globl load
.p2align 8
.type load,@function
load:
  s_load_DWORD2 s[8:9], s[0:1], 0x0
  v_lshlrev_b32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_DWORD v2, v1, s[8:9] offset:1024
  WAIT
  v_add_u32 v3, 1, v2
  global_store_DWORD v1, v3, s[8:9]
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel load
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  EXTRA
.end_amdhsa_kernel
.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: load
    .symbol: load.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 256
    .args:
      - .name: out
        .size: 8
        .offset: 0
        .value_kind: global_buffer
        .address_space: global
.end_amdgpu_metadata
"""


@pytest.fixture(scope="module", params=["gfx942", "gfx1100", "gfx1201"])
def target(request) -> str:
    require_tool("clang-19")
    return request.param


@pytest.fixture(scope="module")
def wrong(target):
    return VirtualGpu(
        hipgraph_cb.compile(SOURCE, target=target, language="opencl", options=["-mcode-object-version=5"])
    )


@pytest.fixture(scope="module")
def right(target):
    options = ["-mcode-object-version=5", "-DRIGHT"]
    return VirtualGpu(hipgraph_cb.compile(SOURCE, target=target, language="opencl", options=options))


BARRIERS = {"gfx1201": "s_barrier_wait 0xffff"}


def launched(gpu, kernel, groups, size, values, seed, before=()) -> np.ndarray:
    """What a kernel that reads `values` writes into as many words."""
    source, out = gpu.upload(values), gpu.upload(np.zeros_like(values))
    settings = replace(gpu.settings, interleaves=True, seed=seed)
    for name in (*before, kernel):
        gpu.launch(name, (groups * size,), (size,), [out, source], settings=settings)
    return gpu.read(out, values.size, U32)


def outcomes(gpu, kernel, groups, size, values, expected, before=()) -> list[bool]:
    """For each seed, whether the kernel gives what is expected."""
    found = []
    for seed in SEEDS:
        try:
            result = launched(gpu, kernel, groups, size, values, seed, before)
        except DeviceFault:
            found.append(False)
        else:
            found.append(result[: expected.size].tolist() == expected.tolist())
    return found


MEETING = assembled(
    """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_lshrrev_b32 v1, 6, v0
  v_and_b32 v1, 15, v1
  v_readfirstlane_b32 s6, v1
  s_and_b32 s7, s6, 1
  s_cmp_eq_u32 s7, 0
  s_cbranch_scc1 even
  s_barrier
  s_branch both
even:
  s_barrier
both:
  s_add_u32 s6, s6, 1
  s_lshl_b32 s6, s6, 6
  v_mov_b32 v4, s6
  v_lshlrev_b32 v2, 2, v0
  global_store_dword v2, v4, s[8:9]
  s_endpgm
""",
    "000206c0000000007fc08cbf860002208f02022601050c7e06810786078006bf020085bf00008abf010082bf00008abf"
    "068106800686068e0602087e82000424008070dc02040800000081bf",
)
ENDED = assembled(
    """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_lshrrev_b32 v1, 6, v0
  v_readfirstlane_b32 s6, v1
  v_lshlrev_b32 v2, 2, v0
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s6, 0
  s_cbranch_scc1 done
  s_barrier
  v_mov_b32 v4, 7
  global_store_dword v2, v4, s[8:9]
done:
  s_endpgm
""",
    "000206c0000000008600022001050c7e820004247fc08cbf068006bf040085bf00008abf8702087e008070dc02040800000081bf",
)
NUMBERS = np.random.default_rng(5).integers(0, 1000, 1024).astype(U32)
TILES = NUMBERS.reshape(-1, 16, 16).transpose(0, 2, 1).ravel()
SUMS = NUMBERS.reshape(-1, 256).sum(axis=1)
CASES = [
    ("transpose", 4, 256, NUMBERS, TILES),
    ("sum", 4, 256, NUMBERS, SUMS),
    ("neighbour", 16, 64, np.zeros(16, U32), np.roll(np.arange(1, 17), -1)),
    ("halved", 1, 128, NUMBERS[:128], np.roll(NUMBERS[:128], 64)),
]


@pytest.mark.parametrize(("kernel", "groups", "size", "values", "expected"), CASES, ids=[case[0] for case in CASES])
def test_a_kernel_that_lacks_an_order_fails_in_some_random_order(wrong, kernel, groups, size, values, expected):
    assert not all(outcomes(wrong, kernel, groups, size, values, expected))


@pytest.mark.parametrize(("kernel", "groups", "size", "values", "expected"), CASES, ids=[case[0] for case in CASES])
def test_its_right_twin_is_right_in_every_random_order(right, kernel, groups, size, values, expected):
    before = ["publish"] if kernel == "neighbour" else []
    assert all(outcomes(right, kernel, groups, size, values, expected, before))


def test_the_same_seed_gives_the_same_order(wrong):
    first, second = (launched(wrong, "sum", 4, 256, NUMBERS, 3).tolist() for _ in range(2))
    assert first == second


def test_a_barrier_that_some_waves_do_not_reach_is_a_fault_that_names_them(wrong, target):
    for seed in SEEDS:
        with pytest.raises(DeviceFault) as caught:
            launched(wrong, "halved", 1, 128, NUMBERS[:128], seed)
        fault = caught.value
        first, second = re.fullmatch(
            r"a barrier that not all waves of the workgroup reach: waves? [01, ]+ at the barrier at entry "
            r"\+(0x\w+), and waves? [123, ]+ ended before it; earlier they met at different barriers: waves? [01, ]+ "
            r"at the barrier at entry \+(0x\w+), waves? [123, ]+ at the barrier at entry \+\1",
            fault.description,
        ).groups()
        assert int(second, 16) < int(first, 16) == fault.offset
        assert fault.kind is FaultKind.LAUNCH_FAILURE
        assert (fault.workgroup, fault.instruction) == ((0, 0, 0), BARRIERS.get(target, "s_barrier"))
        assert fault.wave in (0, 1)


def test_a_barrier_does_not_wait_for_waves_that_have_ended():
    for seed in SEEDS:
        out = run_program(ENDED, group_size=192, settings=replace(DEFAULTS, interleaves=True, seed=seed))
        assert out[:192].tolist() == [0] * 64 + [7] * 128


def test_waves_may_meet_at_different_barriers():
    for seed in SEEDS:
        out = run_program(MEETING, groups=3, group_size=256, settings=replace(DEFAULTS, interleaves=True, seed=seed))
        assert out[:256].tolist() == [64 * (wave + 1) for wave in range(4) for _ in range(64)]


GFX12_WAITS = {
    "s_waitcnt vmcnt(0)": "s_wait_loadcnt 0x0",
    "s_waitcnt vmcnt(1)": "s_wait_loadcnt 0x1",
    "s_waitcnt lgkmcnt(0)": "s_wait_kmcnt 0x0",
}


def gpu_with(target: str, wait: str) -> VirtualGpu:
    source = ASSEMBLY.replace("TARGET", target).replace("WAIT", wait)
    if target != "gfx942":
        source = source.replace("DWORD2", "b64").replace("DWORD", "b32").replace("v_add_u32", "v_add_nc_u32")
        source = source.replace("EXTRA", ".amdhsa_wavefront_size32 0")
    else:
        source = source.replace("DWORD2", "dwordx2").replace("DWORD", "dword")
        source = source.replace("EXTRA", ".amdhsa_accum_offset 8")
    if target == "gfx1201":
        for name, wait_of_gfx12 in GFX12_WAITS.items():
            source = source.replace(name, wait_of_gfx12)
    return VirtualGpu(hipgraph_cb.compile(source, target=target, language="asm"))


def run_load(gpu: VirtualGpu, seed: int) -> list[int]:
    buffer = gpu.upload(np.arange(512, dtype=U32))
    gpu.launch("load", (256,), (256,), [buffer], settings=replace(gpu.settings, interleaves=True, seed=seed))
    return gpu.read(buffer, 256, U32).tolist()


@pytest.mark.parametrize("wait", ["s_nop 0", "s_waitcnt vmcnt(1)", "s_waitcnt lgkmcnt(0)"])
def test_reading_a_register_before_its_load_is_waited_for_is_a_fault(target, wait):
    gpu = gpu_with(target, wait)
    add = "v_add_u32 v3, 1, v2" if target == "gfx942" else "v_add_nc_u32 v3, 1, v2"
    load = "global_load_dword" if target == "gfx942" else "global_load_b32"
    for seed in SEEDS:
        with pytest.raises(DeviceFault) as caught:
            run_load(gpu, seed)
        assert caught.value.instruction == add
        assert caught.value.description == (
            f"v2 is read before its load has arrived: no wait covers `{load} v2, v1, s[8:9] offset:1024` at entry +0x10"
        )


def test_reading_it_behind_the_wait_is_right(target):
    gpu = gpu_with(target, "s_waitcnt vmcnt(0)")
    for seed in SEEDS:
        assert run_load(gpu, seed) == list(range(257, 513))
