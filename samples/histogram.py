"""A histogram in OpenCL C: atomics in LDS, then in memory."""

import numpy as np

from hipgraph_cb import open_device

SOURCE = """
kernel void histogram(global uint *bins, global const uchar *bytes, uint n) {
  local uint counts[256];
  const uint lane = get_local_id(0);
  counts[lane] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = get_global_id(0); i < n; i += get_global_size(0)) atomic_add(&counts[bytes[i]], 1u);
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&bins[lane], counts[lane]);
}
"""


def main() -> None:
    with open_device() as device:
        histogram = device.compile(SOURCE, language="opencl")["histogram"]
        data = np.random.default_rng(4).normal(128, 30, 50_000).clip(0, 255).astype(np.uint8)
        bins = device.zeros(256, np.uint32)
        histogram(8, 256, bins, device.asarray(data), data.size)
        np.testing.assert_array_equal(bins.to_host(), np.bincount(data, minlength=256))
        print(f"{bins.to_host().sum()} bytes counted, most of them {bins.to_host().argmax()}")


if __name__ == "__main__":
    main()
