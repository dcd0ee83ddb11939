"""A struct by value, given as a record of numpy."""

import numpy as np

from hipgraph_cb import open_device

SOURCE = """
#include <hip/hip_runtime.h>

struct Step { float rate, decay; int first; };

extern "C" __global__ void update(float *weights, const float *gradient, Step step, int n) {
  int i = step.first + blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) weights[i] -= step.rate * (gradient[i] + step.decay * weights[i]);
}
"""
STEP = np.dtype([("rate", np.float32), ("decay", np.float32), ("first", np.int32)])


def main() -> None:
    with open_device() as device:
        update = device.compile(SOURCE, language="hip")["update"]
        weights = np.linspace(-1, 1, 500, dtype=np.float32)
        gradient = np.full(500, 0.5, np.float32)
        on_device = device.asarray(weights)
        update(2, 256, on_device, device.asarray(gradient), np.array((0.1, 0.01, 100), STEP)[()], 500)
        weights[100:] -= np.float32(0.1) * (gradient[100:] + np.float32(0.01) * weights[100:])
        np.testing.assert_allclose(on_device.to_host(), weights, rtol=1e-6)
        print("400 of 500 weights updated")


if __name__ == "__main__":
    main()
