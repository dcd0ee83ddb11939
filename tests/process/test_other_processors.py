"""A process that sees a virtual gfx1100 or gfx1201 runs on it what it would run on the default one."""

from __future__ import annotations

import pytest
from support.child import result_of, run

PROGRAM = """
import numpy as np
from hipgraph_cb import open_device, samples

with open_device({backend!r}) as device:
    saxpy = device.load(samples.path("saxpy", device.target))["saxpy"]
    x = device.from_host(np.arange(1000, dtype=np.float32))
    y, copy = device.allocate(4000), device.allocate(4000)
    with device.command_buffer() as cb:
        cb.fill_buffer(y, np.float32(1))
        cb.execution_barrier()
        cb.dispatch(saxpy, workgroup_count=4, workgroup_size=256, args=[y, x, 2.0, 1000])
        cb.execution_barrier()
        cb.copy_buffer(y, copy)
    cb.replay()
    print(device.target, np.array_equal(copy.to_host(np.float32), 2 * np.arange(1000) + 1))
"""


@pytest.mark.parametrize(("backend", "target"), [("hip", "gfx1100"), ("hsa", "gfx1100"), ("hsa", "gfx1201")])
def test_fills_kernels_and_copies_run_on_other_processors(backend, target):
    child = run(PROGRAM.format(backend=backend), HIPGRAPH_CB_VIRTUAL=target)
    status, output, errors = result_of(child)
    assert (status, output) == (0, f"{target} True"), errors
