"""The HSA backend works in a process that knows no HIP, and ends cleanly with work in flight."""

from support.child import run
from support.hip_program import KERNELS

PROGRAM = f"""
import sys
sys.modules["hip"] = sys.modules["rocm"] = None  # importing them fails from here on
import numpy as np
from hipgraph_cb import open_device
device = open_device("hsa")
x, y = device.from_host(np.arange(1024, dtype=np.float32)), device.from_host(np.ones(1024, np.float32))
with device.command_buffer() as cb:
    cb.dispatch(device.load({str(KERNELS)!r})["saxpy"], 4, 256, args=[y, x, 2.0, 1024])
cb.replay()
print(y.to_host(np.float32)[:4])
"""


def test_a_replay_needs_no_hip_python() -> None:
    result = run(PROGRAM, HIPGRAPH_CB_VIRTUAL="gfx942")
    assert (result.stdout, result.returncode) == ("[1. 3. 5. 7.]\n", 0), result.stderr


def test_a_process_may_end_with_work_in_flight() -> None:
    result = run(PROGRAM + "for _ in range(50): cb.replay()\n", HIPGRAPH_CB_VIRTUAL="gfx942")
    assert (result.stdout, result.returncode) == ("[1. 3. 5. 7.]\n", 0), result.stderr
    assert "Traceback" not in result.stderr
