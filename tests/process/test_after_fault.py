"""What a fault leaves behind, by the setting `after_fault`. Each case has a process of its own."""

from __future__ import annotations

import signal

import pytest
from support.child import run

CHILD = """
    import ctypes
    from hipgraph_cb import VirtualSettings, open_device
    from hipgraph_cb.samples import path
    from support.hip_callers import RawLibrary

    device = open_device("hip", virtual=VirtualSettings(after_fault=%r))
    raw = RawLibrary()
    module = raw.made("hipModuleLoadData", path("saxpy", "gfx942").read_bytes())
    saxpy, stream = raw.made("hipModuleGetFunction", module, b"saxpy"), raw.made("hipStreamCreate")
    short = raw.made("hipMalloc", 64)
    values = ctypes.c_size_t(short), ctypes.c_size_t(short), ctypes.c_float(1), ctypes.c_uint(1 << 16)
    table = (ctypes.c_size_t * 4)(*[ctypes.addressof(value) for value in values])
    assert raw.hipModuleLaunchKernel(saxpy, 256, 1, 1, 256, 1, 1, 0, stream, table, 0) == 0
    out = ctypes.c_size_t()
    reported = [raw.hipStreamSynchronize(stream), raw.hipMalloc(out, 64), raw.hipEventCreate(out), raw.hipFree(short)]
    print(*reported, raw.hipStreamCreate(out), raw.hipGetLastError())
"""


@pytest.mark.parametrize("after_fault, reported", [("recover", "700 0 0 0 0 700"), ("sticky", "700 700 700 0 700 700")])
def test_a_fault_is_reported_once_or_by_every_call(after_fault, reported):
    """Memory may be released all the same. The line that says that the GPU is virtual says which of them it is."""
    ended = run(CHILD % after_fault)
    assert (ended.returncode, ended.stdout.strip()) == (0, reported), ended.stderr
    words = {"recover": "a fault leaves a device that works", "sticky": "after a fault every call fails"}[after_fault]
    first, second = ended.stderr.splitlines()[:2]
    assert first.endswith(f"as virtual GPU gfx942; {words}")
    assert second.startswith("hipgraph_cb: ")  # codes alone said so, so the whole report is written at exit


def test_a_fault_ends_the_process():
    ended = run(CHILD % "abort")
    assert ended.returncode == -signal.SIGABRT
    assert ended.stdout == ""
    assert "as virtual GPU gfx942; a fault ends the process" in ended.stderr
    assert "kernel saxpy: memory access fault" in ended.stderr
    assert "aborting after a fault of the virtual GPU (after_fault=abort)" in ended.stderr
