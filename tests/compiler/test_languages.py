"""Ordinary kernels, as people write them, in each language."""

import numpy as np
import pytest

REDUCTION = """
#include <hip/hip_runtime.h>

__device__ float wave_sum(float value) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2) value += __shfl_down(value, offset);
  return value;
}

extern "C" __global__ __launch_bounds__(256) void sum(const float *x, float *result, int n) {
  __shared__ float partial[4];
  float value = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) value += x[i];
  value = wave_sum(value);
  if (threadIdx.x % warpSize == 0) partial[threadIdx.x / warpSize] = value;
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(result, partial[0] + partial[1] + partial[2] + partial[3]);
}
"""
SOFTMAX = """
kernel void softmax(global float *y, global const float *x, int columns, local float *scratch) {
  const int row = get_group_id(0), lane = get_local_id(0), width = get_local_size(0);
  float largest = -INFINITY;
  for (int i = lane; i < columns; i += width) largest = fmax(largest, x[row * columns + i]);
  scratch[lane] = largest;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = width / 2; step > 0; step /= 2) {
    if (lane < step) scratch[lane] = fmax(scratch[lane], scratch[lane + step]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  largest = scratch[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  float total = 0;
  for (int i = lane; i < columns; i += width) total += exp(x[row * columns + i] - largest);
  scratch[lane] = total;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = width / 2; step > 0; step /= 2) {
    if (lane < step) scratch[lane] += scratch[lane + step];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = lane; i < columns; i += width)
    y[row * columns + i] = exp(x[row * columns + i] - largest) / scratch[0];
}
"""
EVERYTHING = """
extern "C" __global__ void lanes(int *out) {
  int lane = threadIdx.x;
  int *row = out + lane;
  row[0] = __shfl(lane, 5);
  row[64] = __shfl_up(lane, 3);
  row[128] = __shfl_xor(lane, 7);
  row[192] = __shfl(lane, 1, 16);
  row[256] = __popcll(__ballot(lane < 20));
  row[320] = __any(lane == 9) + 2 * __all(lane < 63);
  row[384] = (int)__shfl_down((double)lane * 0.5, 2);
  row[448] = __clz(lane) + __ffs(lane) + __popc(lane);
}
extern "C" __global__ void atomics(int *n, unsigned long long *m, float *f, double *d) {
  atomicAdd(n, 1); atomicSub(n + 1, 2); atomicMax(n + 2, (int)threadIdx.x); atomicMin(n + 3, -(int)threadIdx.x);
  atomicOr(n + 4, 1 << threadIdx.x % 31); atomicXor(n + 5, (int)threadIdx.x);
  atomicAnd(n + 6, ~(1 << threadIdx.x % 31));
  int seen, old = n[7];
  do { seen = old; old = atomicCAS(n + 7, seen, seen + 3); } while (old != seen);
  atomicAdd(m, 1ull << 33); atomicAdd(f, 0.5f); atomicAdd(d, 0.25);
  if (threadIdx.x == 0) atomicExch(n + 8, 77);
}
"""


def test_a_reduction_in_hip(device):
    kernel = device.compile(REDUCTION, language="hip")["sum"]
    x = np.random.default_rng(3).integers(0, 100, 10_000).astype(np.float32)
    result = device.zeros(1)
    kernel(7, 256, device.asarray(x), result, len(x)).synchronize()
    assert result.to_host()[0] == x.sum()


def test_a_softmax_in_opencl(device):
    kernel = device.compile(SOFTMAX, language="opencl")["softmax"]
    x = np.random.default_rng(4).normal(size=(5, 300)).astype(np.float32)
    y = device.empty(x.shape)
    kernel(5, 64, y, device.asarray(x), x.shape[1], 0, dynamic_lds=256).synchronize()
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(y.to_host(), powers / powers.sum(axis=1, keepdims=True), rtol=1e-5)


def test_lanes_of_a_wave_in_hip(device):
    kernel = device.compile(EVERYTHING, language="hip")["lanes"]
    out = device.zeros((8, 64), np.int32)
    kernel(1, 64, out).synchronize()
    lane = np.arange(64)
    bits = [bin(n).count("1") + (32 - int(n).bit_length()) + ((int(n) & -int(n)).bit_length()) for n in lane]
    expected = [
        np.full(64, 5),
        np.where(lane < 3, lane, lane - 3),
        lane ^ 7,
        lane // 16 * 16 + 1,
        np.full(64, 20),
        np.full(64, 1),
        (np.where(lane > 61, lane, lane + 2) * 0.5).astype(int),
        bits,
    ]
    np.testing.assert_array_equal(out.to_host(), expected)


def test_atomics_in_hip(device):
    kernel = device.compile(EVERYTHING, language="hip")["atomics"]
    start = np.zeros(9, np.int32)
    start[6] = -1
    n, m, f, d = device.asarray(start), device.zeros(1, np.uint64), device.zeros(1), device.zeros(1, np.float64)
    kernel(1, 64, n, m, f, d).synchronize()
    ones = (1 << 31) - 1
    assert n.to_host().tolist() == [64, -128, 63, -63, ones, 0, ~ones, 192, 77]
    assert (m.to_host()[0], f.to_host()[0], d.to_host()[0]) == (64 << 33, 32, 16)


def test_integers_and_atomics_in_opencl(device):
    source = """
    kernel void f(global int *out, global uint *bins) {
      local int shared[2];
      if (get_local_id(0) == 0) { shared[0] = 0; shared[1] = 1000; }
      barrier(CLK_LOCAL_MEM_FENCE);
      atomic_add(&shared[0], 2);
      atomic_min(&shared[1], (int)get_local_id(0) - 5);
      atomic_add(&bins[get_global_id(0) % 4], 1u);
      barrier(CLK_LOCAL_MEM_FENCE);
      if (get_local_id(0) == 0) {
        out[get_group_id(0) * 4] = shared[0]; out[get_group_id(0) * 4 + 1] = shared[1];
        out[get_group_id(0) * 4 + 2] = get_num_groups(0); out[get_group_id(0) * 4 + 3] = get_global_size(0);
      }
    }"""
    out, bins = device.zeros((3, 4), np.int32), device.zeros(4, np.uint32)
    device.compile(source, language="opencl")["f"](3, 64, out, bins).synchronize()
    assert out.to_host().tolist() == [[128, -5, 3, 192]] * 3
    assert bins.to_host().tolist() == [48] * 4


def test_plain_c_and_assembly(device, tmp_path):
    c = "__attribute__((amdgpu_kernel)) void store(__attribute__((address_space(1))) int *p, int v) { *p = v; }"
    asm = """
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl store
.p2align 8
.type store,@function
store:
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_mov_b32_e32 v0, 0
  v_mov_b32_e32 v1, 42
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v1, s[2:3]
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel store
  .amdhsa_next_free_vgpr 2
  .amdhsa_next_free_sgpr 4
  .amdhsa_accum_offset 4
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 8
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx942
amdhsa.kernels:
  - .name: store
    .symbol: store.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 4
    .vgpr_count: 2
    .max_flat_workgroup_size: 64
    .args:
      - .size: 8
        .offset: 0
        .value_kind: global_buffer
        .address_space: global
...
.end_amdgpu_metadata
"""
    cell = device.zeros(1, np.int32)
    device.compile(c, language="c")["store"](1, 1, cell, 17).synchronize()
    assert cell.to_host()[0] == 17
    path = tmp_path / "store.s"
    path.write_text(asm)
    device.compile(path)["store"](1, 1, cell).synchronize()
    assert cell.to_host()[0] == 42


@pytest.mark.parametrize("options", [["-O0"], ["-O3"], ["-DVALUE=9"]])
def test_options_reach_the_compiler(device, options):
    source = """
    #ifndef VALUE
    #define VALUE 3
    #endif
    extern "C" __global__ void f(int *out) { out[threadIdx.x] = VALUE; }"""
    out = device.zeros(64, np.int32)
    device.compile(source, language="hip", options=options)["f"](1, 64, out).synchronize()
    assert out.to_host().tolist() == [9 if "-DVALUE=9" in options else 3] * 64
