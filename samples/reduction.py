"""A sum in HIP C++: shuffles within a wave, LDS between waves, an atomic between workgroups."""

import numpy as np

from hipgraph_cb import open_device

SOURCE = """
#include <hip/hip_runtime.h>

extern "C" __global__ __launch_bounds__(256) void sum(const float *x, float *result, int n) {
  __shared__ float partial[256];
  float value = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) value += x[i];
  for (int offset = warpSize / 2; offset > 0; offset /= 2) value += __shfl_down(value, offset);
  if (threadIdx.x % warpSize == 0) partial[threadIdx.x / warpSize] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int wave = 1; wave < 256 / warpSize; wave++) value += partial[wave];
    atomicAdd(result, value);
  }
}
"""


def main() -> None:
    with open_device() as device:
        kernel = device.compile(SOURCE, language="hip")["sum"]
        x = np.random.default_rng(2).integers(0, 10, 100_000).astype(np.float32)
        result = device.zeros(1)
        kernel(16, 256, device.asarray(x), result, x.size)
        print(f"the sum is {result.to_host()[0]:.0f}; numpy says {x.sum():.0f}")


if __name__ == "__main__":
    main()
