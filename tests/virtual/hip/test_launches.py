"""Launches by a driver configuration and by work-items."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from support.hip_callers import structure

from hipgraph_cb.abi.hip.structures import DriverLaunchConfig
from hipgraph_cb.virtual.hip.objects import kernels


@pytest.fixture
def saxpy(program):
    x, y = program.upload(np.ones(64, np.float32)), program.upload(np.zeros(64, np.float32))
    return int(program.function()), program.saxpy(y, x, 5.0, 64), y


def test_a_launch_by_a_driver_configuration(raw, program, saxpy):
    function, arguments, y = saxpy
    config = structure(DriverLaunchConfig, gridDim=(1, 1, 1), blockDim=(64, 1, 1))
    assert raw.hipDrvLaunchKernelEx(config, function, arguments.table, 0) == 0
    assert (program.download(y, 64) == 5).all()
    assert raw.hipDrvLaunchKernelEx(0, function, arguments.table, 0) == 1
    assert raw.hipDrvLaunchKernelEx(config, 0, arguments.table, 0) == 400


OF_CPP = "_Z24{}ModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_"


@pytest.mark.parametrize(
    "name",
    ["hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel", OF_CPP.format("hipExt") + "j", OF_CPP.format("hipHcc")],
)
def test_a_launch_by_work_items(raw, program, saxpy, name):
    function, arguments, y = saxpy
    start, stop = raw.made("hipEventCreate"), raw.made("hipEventCreate")
    launch = getattr(raw, name)
    assert launch(function, 64, 1, 1, 32, 1, 1, 0, 0, arguments.table, 0, start, stop, 0) == 0
    assert (program.download(y, 64) == 5).all()
    elapsed = ctypes.c_float(-1)
    assert raw.hipEventElapsedTime(elapsed, start, stop) == 0
    assert elapsed.value >= 0
    assert launch(function, 65, 1, 1, 32, 1, 1, 0, 0, arguments.table, 0, 0, 0, 0) == 1
    assert launch(function, 64, 1, 1, 0, 1, 1, 0, 0, arguments.table, 0, 0, 0, 0) == 1


def test_a_launch_that_wants_too_much_scratch_is_refused(raw, program, monkeypatch):
    monkeypatch.setattr(kernels, "MAX_SCRATCH", 15)
    path = Path(__file__).parents[2] / "fixtures" / "memory" / "generic.gfx942.hsaco"
    function = int(program.function("sort_private", path))
    arguments = program.saxpy(0, 0, 0.0, 1)
    assert raw.hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, 0, arguments.table, 0) == 701
