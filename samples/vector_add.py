"""A first kernel in HIP C++: compiled, launched, compared."""

import numpy as np

from hipgraph_cb import open_device

SOURCE = """
#include <hip/hip_runtime.h>

extern "C" __global__ void add(const float *a, const float *b, float *sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = a[i] + b[i];
}
"""


def main() -> None:
    with open_device() as device:
        add = device.compile(SOURCE, language="hip")["add"]
        a, b = np.random.default_rng(1).random((2, 1000), np.float32)
        total = device.empty(1000)
        add(4, 256, device.asarray(a), device.asarray(b), total, 1000)
        np.testing.assert_array_equal(total.to_host(), a + b)
        print(f"1000 sums are those of numpy, on {device.name}")


if __name__ == "__main__":
    main()
