"""A matrix product in HIP C++ with tiles in LDS, recorded with the fill and the copy around it."""

import numpy as np

from hipgraph_cb import open_device

SOURCE = """
#include <hip/hip_runtime.h>
extern "C" __global__ void matmul(float *c, const float *a, const float *b, int n) {
  __shared__ float tile_a[16][16], tile_b[16][16];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    tile_a[y][x] = a[row * n + k + x];
    tile_b[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int i = 0; i < 16; i++) sum += tile_a[y][i] * tile_b[i][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
"""


def main(n: int = 64) -> None:
    with open_device() as device:
        matmul = device.compile(SOURCE, language="hip")["matmul"]
        a, b = np.random.default_rng(3).random((2, n, n), np.float32)
        product, kept = device.empty((n, n)), device.empty((n, n))
        with device.command_buffer(label="product", dependencies="inferred") as cb:
            cb.dispatch(matmul, (n // 16, n // 16), (16, 16), args=[product, device.asarray(a), device.asarray(b), n])
            cb.copy_buffer(product, kept)
        cb.replay()
        np.testing.assert_allclose(kept.to_host(), a @ b, rtol=1e-5)
        print(f"{n} x {n}: the product is that of numpy; {cb.recording.to_mermaid().count('-->')} dependency inferred")


if __name__ == "__main__":
    main()
