"""What a recorded dispatch takes in memory: its block and its row, and nothing that the garbage collector visits."""

import gc
import random
import tracemalloc

from support.fakes import FakeBuffer
from support.kernels import clang_kernels

from hipgraph_cb.recording.command_buffer import CommandBuffer

COUNT = 4_000


def recorded(kernel, buffers, count):
    rng = random.Random(3)
    with CommandBuffer() as cb:
        for _ in range(count):
            args = [rng.choice(buffers), rng.choice(buffers), rng.random(), rng.randrange(1 << 20)]
            cb.dispatch(kernel, rng.randint(1, 64), rng.choice((64, 128, 256)), args=args)
            if not rng.randrange(3):
                cb.execution_barrier()
    return cb.recording


def test_a_recorded_dispatch_takes_less_than_200_bytes_and_no_object_that_is_visited():
    kernel, buffers = clang_kernels()["saxpy"], [FakeBuffer(4096) for _ in range(30)]
    recorded(kernel, buffers, 10)  # what is remembered at the first one does not count
    gc.collect()
    few = len(gc.get_objects())
    recording = recorded(kernel, buffers, 100)
    gc.collect()
    objects = len(gc.get_objects()) - few
    del recording
    gc.collect()
    tracemalloc.start()
    try:
        before = len(gc.get_objects())
        recording = recorded(kernel, buffers, COUNT)
        gc.collect()
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < 200 * COUNT, f"{taken // COUNT} bytes"
    assert abs(len(gc.get_objects()) - before - objects) < 20  # the same for 40 times as many
    assert len(recording) == COUNT
