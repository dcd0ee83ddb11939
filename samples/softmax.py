"""A softmax over rows in OpenCL C, replayed for new inputs."""

import numpy as np

from hipgraph_cb import Slot, open_device

SOURCE = """
kernel void softmax(global float *y, global const float *x, int columns) {
  local float shared[64];
  const int lane = get_local_id(0), row = get_group_id(0) * columns;
  float largest = -INFINITY, total = 0;
  for (int i = 0; i < columns; i++) largest = fmax(largest, x[row + i]);
  for (int i = lane; i < columns; i += 64) total += exp(x[row + i] - largest);
  shared[lane] = total;
  barrier(CLK_LOCAL_MEM_FENCE);
  total = 0;
  for (int i = 0; i < 64; i++) total += shared[i];
  for (int i = lane; i < columns; i += 64) y[row + i] = exp(x[row + i] - largest) / total;
}
"""


def main() -> None:
    with open_device() as device:
        softmax = device.compile(SOURCE, language="opencl")["softmax"]
        y = device.empty((8, 100))
        with device.command_buffer(binding_capacity=1) as cb:
            cb.dispatch(softmax, 8, 64, args=[y, Slot(0), 100])
        for seed in range(3):
            x = np.random.default_rng(seed).normal(size=(8, 100)).astype(np.float32)
            cb.replay(bindings=[device.asarray(x)])
            powers = np.exp(x - x.max(axis=1, keepdims=True))
            np.testing.assert_allclose(y.to_host(), powers / powers.sum(axis=1, keepdims=True), rtol=1e-5)
            print(f"replay {seed}: rows add up to {y.to_host().sum(axis=1).mean():.3f}")


if __name__ == "__main__":
    main()
