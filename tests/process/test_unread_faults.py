"""A fault that no error has reported is written to stderr at exit, once."""

from __future__ import annotations

import pytest
from support.child import ROOT, run

RECORDED = """
from hipgraph_cb import open_device
device = open_device({backend!r})
kernels = device.load("{root}/tests/fixtures/debug_info/shapes.dwarf5.gfx942.hsaco")
x, y = device.empty(32, "float32"), device.empty(64, "float32")
with device.command_buffer() as cb:
    cb.dispatch(kernels["scale"], 1, 64, args=[y, x, 2, 64])
cb.replay()
"""
WAIT = """
try:
    device.synchronize()
except Exception as error:
    print(error)
"""
PLAIN = """
import ctypes
from pathlib import Path
from hipgraph_cb.virtual.install import install
install(["gfx942"])
from hip import hip
code = Path("{root}/tests/fixtures/debug_info/shapes.dwarf5.gfx942.hsaco").read_bytes()
function = hip.hipModuleGetFunction(hip.hipModuleLoadData(code)[1], b"scale")[1]
small, large = int(hip.hipMalloc(128)[1]), int(hip.hipMalloc(256)[1])
values = [ctypes.c_void_p(large), ctypes.c_void_p(small), ctypes.c_float(2), ctypes.c_int(64)]
table = (ctypes.c_void_p * 4)(*[ctypes.addressof(value) for value in values])
hip.hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, None, table, None)
print(int(hip.hipDeviceSynchronize()[0]))
"""
HEAD = "hipgraph_cb: a fault of the virtual GPU that no error has reported:"
LINE = "  source: /src/src/shapes.hip:45 in at"


@pytest.mark.parametrize("backend", ["hip", "hsa"])
def test_a_fault_that_nobody_waited_for_is_written_at_exit(backend):
    done = run(RECORDED.format(root=ROOT, backend=backend), HIPGRAPH_CB_VIRTUAL="gfx942")
    lines = done.stderr.splitlines()
    assert (done.returncode, lines.count(HEAD), lines.count(LINE)) == (0, 1, 1)


@pytest.mark.parametrize("backend", ["hip", "hsa"])
def test_a_fault_that_an_error_has_reported_is_not_written_again(backend):
    done = run(RECORDED.format(root=ROOT, backend=backend) + WAIT, HIPGRAPH_CB_VIRTUAL="gfx942")
    assert (done.returncode, done.stdout.splitlines().count(LINE)) == (0, 1)
    assert "fault of the virtual GPU" not in done.stderr


def test_a_program_that_calls_hip_python_itself_sees_the_report():
    done = run(PLAIN.format(root=ROOT))
    lines = done.stderr.splitlines()
    assert (done.returncode, done.stdout, lines.count(HEAD), lines.count(LINE)) == (0, "700\n", 1, 1)
