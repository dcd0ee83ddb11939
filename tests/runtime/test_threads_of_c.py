"""What HIP keeps for each thread, in a thread that C code made: between its calls nothing is lost."""

from __future__ import annotations

import ctypes

import pytest
from support.tools import require_tool, run_tool

SOURCE = """
#include <pthread.h>
#include <stddef.h>
typedef struct { unsigned x, y, z; } dim3;
int hipThreadExchangeStreamCaptureMode(int *mode);
int hipMalloc(void **out, size_t size);
int hipPeekAtLastError(void);
int hipGetLastError(void);
int __hipPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream);
int __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void **stream);

static void *run(void *p)
{
    int *reported = p, mode = 2;
    dim3 grid = {3, 1, 1}, block = {64, 1, 1};
    size_t shared = 0;
    void *stream = 0;
    reported[0] = hipPeekAtLastError();
    reported[1] = hipMalloc(0, 4);
    reported[2] = hipPeekAtLastError();
    reported[3] = hipGetLastError();
    reported[4] = hipGetLastError();
    hipThreadExchangeStreamCaptureMode(&mode);
    reported[5] = mode;
    mode = 1;
    hipThreadExchangeStreamCaptureMode(&mode);
    reported[6] = mode;
    __hipPushCallConfiguration(grid, block, 5, 0);
    grid.x = block.x = 0;
    reported[7] = __hipPopCallConfiguration(&grid, &block, &shared, &stream);
    reported[8] = grid.x;
    reported[9] = (int)shared;
    hipMalloc(0, 4);
    return 0;
}

void in_a_thread(int *reported)
{
    pthread_t thread;
    pthread_create(&thread, 0, run, reported);
    pthread_join(thread, 0);
}
"""
EXPECTED = [0, 1, 1, 1, 0, 0, 2, 0, 3, 5]


@pytest.fixture(scope="module")
def client(tmp_path_factory, runtime):
    require_tool("clang-19")
    folder = tmp_path_factory.mktemp("client")
    (folder / "client.c").write_text(SOURCE)
    run_tool("clang-19", "-shared", "-fPIC", "-o", str(folder / "client.so"), str(folder / "client.c"), "-lpthread")
    ctypes.CDLL("libamdhip64.so", mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(folder / "client.so"))


def test_a_thread_of_c_keeps_its_state_and_leaves_none_to_the_next(client, hip):
    for _ in range(3):  # the system gives each of them the same number
        reported = (ctypes.c_int * len(EXPECTED))()
        client.in_a_thread(reported)
        assert list(reported) == EXPECTED
