"""2-D and 3-D copies, as calls and as nodes."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from support.hip_program import code_of, done

from hipgraph_cb.abi.hip.structures import DriverMemcpy2D, DriverMemcpy3D, Extent, Memcpy3DParams, PitchedPointer

HOST, DEVICE, UNIFIED = 1, 2, 11


@pytest.fixture
def library(runtime):
    return ctypes.CDLL("libamdhip64.so")


@pytest.fixture
def source(program):
    """1024 bytes that count up, modulo 256."""
    return program.upload(np.arange(1024, dtype=np.uint16).astype(np.uint8))


@pytest.fixture
def target(program):
    return program.upload(np.zeros(1024, np.uint8))


def params_3d(target, source, extent, target_pitch=16, source_pitch=32, height=4, kind=3):
    params = Memcpy3DParams()
    params.dstPtr.ptr, params.dstPtr.pitch, params.dstPtr.xsize, params.dstPtr.ysize = target, target_pitch, 0, height
    params.srcPtr.ptr, params.srcPtr.pitch, params.srcPtr.xsize, params.srcPtr.ysize = source, source_pitch, 0, height
    params.extent.width, params.extent.height, params.extent.depth = extent
    params.kind = kind
    return params


def driver_3d(target, source, extent, **changes):
    params = DriverMemcpy3D()
    params.dstMemoryType = params.srcMemoryType = DEVICE
    params.dstDevice, params.srcDevice = target, source
    params.dstPitch, params.srcPitch, params.dstHeight, params.srcHeight = 16, 32, 4, 4
    params.WidthInBytes, params.Height, params.Depth = extent
    for name, value in changes.items():
        setattr(params, name, value)
    return params


def expected_copy(extent, target_pitch=16, source_pitch=32, height=4):
    data = np.arange(1024, dtype=np.uint16).astype(np.uint8)
    result = np.zeros(1024, np.uint8)
    width, rows, planes = extent
    for z in range(planes):
        for y in range(rows):
            to, start = (z * height + y) * target_pitch, (z * height + y) * source_pitch
            result[to : to + width] = data[start : start + width]
    return result


def test_rows_are_copied_at_their_pitches(hip, program, source, target):
    done(hip.hipMemcpy2D(target, 16, source, 32, 10, 5, hip.hipMemcpyKind.hipMemcpyDeviceToDevice))
    assert (program.download(target, 1024, np.uint8) == expected_copy((10, 5, 1))).all()


def test_rows_go_to_the_host(hip, source):
    rows = np.zeros((4, 8), np.uint8)
    done(hip.hipMemcpy2D(rows, 8, source, 32, 8, 4, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
    assert rows.tolist() == [[32 * y + x for x in range(8)] for y in range(4)]


@pytest.mark.parametrize(
    "pitch, width, height, expected", [(8, 9, 1, 12), (16, 16, 65, 1), (16, 0, 5, 0), (16, 16, 64, 0)]
)
def test_rows_must_fit_their_pitch_and_the_allocation(hip, source, target, pitch, width, height, expected):
    kind = hip.hipMemcpyKind.hipMemcpyDeviceToDevice
    assert code_of(hip.hipMemcpy2D(target, pitch, source, pitch, width, height, kind)) == expected


def test_the_driver_structure_for_rows(library, program, source, target):
    params = DriverMemcpy2D()
    params.srcMemoryType = params.dstMemoryType = DEVICE
    params.srcDevice, params.dstDevice, params.srcPitch, params.dstPitch = source, target, 32, 16
    params.WidthInBytes, params.Height = 10, 5
    assert library.hipMemcpyParam2D(ctypes.byref(params)) == 0
    assert (program.download(target, 1024, np.uint8) == expected_copy((10, 5, 1))).all()


def test_3d_copies_are_done_plane_by_plane(library, program, source, target):
    params = params_3d(target, source, (10, 3, 4))
    assert library.hipMemcpy3D(ctypes.byref(params)) == 0
    assert (program.download(target, 1024, np.uint8) == expected_copy((10, 3, 4))).all()


def test_a_3d_memcpy_node_copies_and_returns_its_parameters(hip, library, program, source, target):
    graph, node = done(hip.hipGraphCreate(0)), ctypes.c_void_p()
    params = params_3d(target, source, (10, 3, 4))
    add = (ctypes.byref(node), ctypes.c_void_p(int(graph)), None, ctypes.c_size_t(0), ctypes.byref(params))
    assert library.hipGraphAddMemcpyNode(*add) == 0
    returned = Memcpy3DParams()
    assert library.hipGraphMemcpyNodeGetParams(node, ctypes.byref(returned)) == 0
    assert bytes(returned) == bytes(params)
    done(hip.hipGraphLaunch(program.instantiate(graph), None))
    assert (program.download(target, 1024, np.uint8) == expected_copy((10, 3, 4))).all()


def test_a_driver_node_copies_and_returns_its_parameters(hip, library, program, source, target):
    graph, node = done(hip.hipGraphCreate(0)), ctypes.c_void_p()
    context = int(done(hip.hipDevicePrimaryCtxRetain(0)))
    params = driver_3d(target, source, (10, 3, 4))
    add = [ctypes.byref(node), ctypes.c_void_p(int(graph)), None, ctypes.c_size_t(0), ctypes.byref(params)]
    assert library.hipDrvGraphAddMemcpyNode(*add, None) == 1
    assert library.hipDrvGraphAddMemcpyNode(*add, ctypes.c_void_p(context)) == 0
    returned = DriverMemcpy3D()
    assert library.hipDrvGraphMemcpyNodeGetParams(node, ctypes.byref(returned)) == 0
    assert bytes(returned) == bytes(params)
    done(hip.hipGraphLaunch(program.instantiate(graph), None))
    assert (program.download(target, 1024, np.uint8) == expected_copy((10, 3, 4))).all()


def test_a_3d_memset_leaves_what_is_between_the_rows(library, program, target):
    pointer = (PitchedPointer(target, 16, 10, 4), 7, Extent(10, 3, 2))
    assert library.hipMemset3D(*pointer) == 0
    planes = program.download(target, 128, np.uint8).reshape(2, 4, 16)
    assert (planes[:, :3, :10] == 7).all()
    assert (planes[:, 3:] == 0).all()
    assert (planes[:, :, 10:] == 0).all()
    assert library.hipMemset3D(PitchedPointer(target, 16, 10, 4), 7, Extent(10, 4, 17)) == 1
