"""Cooperative launches: as many workgroups as the device holds at once, and no more."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from support.hip_callers import RawLibrary

MOST = 304 * 8  # gfx942: compute units, and blocks of 256 work-items that one of them holds


@pytest.fixture
def raw(profile):
    return RawLibrary()


def test_a_cooperative_launch_computes_what_a_plain_one_does(raw, saxpy, arguments):
    x, y = raw.made("hipMalloc", 256), raw.made("hipMalloc", 256)
    ones = np.ones(64, np.float32)
    assert raw.hipMemcpyHtoD(x, ones, 256) == raw.hipMemset(y, 0, 256) == 0
    table = arguments(y, x, 3.0, 64).table
    assert raw.hipModuleLaunchCooperativeKernel(saxpy, 1, 1, 1, 64, 1, 1, 0, 0, table) == 0
    reported = np.zeros(64, np.float32)
    assert raw.hipMemcpyDtoH(reported, y, 256) == 0
    assert (reported == 3).all()
    assert raw.hipFree(x) == raw.hipFree(y) == 0


@pytest.mark.parametrize("groups, expected", [(MOST, 0), (MOST + 1, 720)])
def test_a_grid_has_to_fit(raw, saxpy, arguments, groups, expected):
    table = arguments().table
    assert raw.hipModuleLaunchCooperativeKernel(saxpy, groups, 1, 1, 256, 1, 1, 0, 0, table) == expected
    assert raw.hipDeviceSynchronize() == 0


def test_dynamic_lds_leaves_less_room(raw, saxpy, arguments):
    table = arguments().table
    assert raw.hipModuleLaunchCooperativeKernel(saxpy, 305, 1, 1, 64, 1, 1, 65536, 0, table) == 720


def test_a_device_says_that_it_can(raw):
    out = ctypes.c_int()
    assert (raw.hipDeviceGetAttribute(out, 10, 0), out.value) == (0, 1)
    assert raw.hipModuleLaunchCooperativeKernel(0, 1, 1, 1, 64, 1, 1, 0, 0, 0) == 400
