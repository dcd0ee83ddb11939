"""A kernel that never ends, launched by a child process of a test."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

from hipgraph_cb.virtual.install import install

CODE = Path(__file__).resolve().parents[1] / "fixtures" / "virtual" / "endless.gfx942.hsaco"

runtime = install(["gfx942"])

from hip import hip  # noqa: E402 - only after the virtual library is there


def check(result):
    """The out values of a call that must have succeeded."""
    assert int(result[0]) == 0, (result[0].name, runtime.fault_report())
    return result[1] if len(result) == 2 else result[1:]


module = check(hip.hipModuleLoadData(CODE.read_bytes()))
flag = int(check(hip.hipMalloc(4)))
check(hip.hipMemset(flag, 0, 4))


def launch(name: str, *more: ctypes._SimpleCData) -> None:
    """Launch one wave of a kernel with the flag's address, and more, as arguments."""
    function = check(hip.hipModuleGetFunction(module, name.encode()))
    values = [ctypes.c_void_p(flag), *more]
    table = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
    check(hip.hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, None, table, None))


def read_flag() -> int:
    """The flag's value, by a synchronous copy."""
    value = np.zeros(1, np.int32)
    check(hip.hipMemcpyDtoH(value, flag, 4))
    return int(value[0])
