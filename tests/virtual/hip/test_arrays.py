"""Arrays as linear memory, on GPUs whose AMD counterpart has images; the other ones refuse them."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from hipgraph_cb.abi.hip.structures import (
    ArrayDescriptor,
    ArrayDescriptor3D,
    ChannelDescriptor,
    DriverMemcpy2D,
    DriverMemcpy3D,
    Extent,
    Memcpy3DParams,
    PitchedPointer,
)

INVALID_VALUE, BAD_PITCH, BAD_KIND, INVALID_HANDLE, NOT_SUPPORTED = 1, 12, 21, 400, 801
TO_DEVICE, TO_HOST, ON_DEVICE, DEFAULT = 1, 2, 3, 4
SIGNED, UNSIGNED, FLOAT = range(3)
WIDTH, HEIGHT, DEPTH = 6, 4, 3
HOST, DEVICE, ARRAY = 1, 2, 10
ROW = 4 * WIDTH
DESCRIPTOR = ChannelDescriptor(32, 0, 0, 0, FLOAT)


@pytest.fixture
def raw(raw):
    """The library, with the device current that has arrays."""
    assert raw.hipSetDevice(1) == 0
    yield raw
    assert raw.hipSetDevice(0) == 0


@pytest.fixture
def make(raw):
    """Makes arrays of floats, which are freed at the end."""
    made = []

    def make_array(width=WIDTH, height=HEIGHT, descriptor=DESCRIPTOR):
        made.append(raw.made("hipMallocArray", descriptor, width, height, 0))
        return made[-1]

    yield make_array
    for array in made:
        assert raw.hipFreeArray(array) == 0


@pytest.fixture
def make_3d(raw):
    made = []

    def make_array(width=WIDTH, height=HEIGHT, depth=DEPTH, flags=0):
        allocate = ctypes.CDLL("libamdhip64.so").hipMalloc3DArray
        allocate.argtypes = (ctypes.c_void_p, ctypes.c_void_p, Extent, ctypes.c_uint)
        out = ctypes.c_size_t()
        code = allocate(ctypes.byref(out), ctypes.addressof(DESCRIPTOR), Extent(width, height, depth), flags)
        made.extend([out.value] if code == 0 else [])
        return out.value if code == 0 else -code

    yield make_array
    for array in made:
        assert raw.hipFreeArray(array) == 0


def numbers(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def filled(raw, array, values):
    assert raw.hipMemcpyToArray(array, 0, 0, values, values.nbytes, TO_DEVICE) == 0
    return values


def content(raw, array, *shape):
    host = np.zeros(shape, np.float32)
    assert raw.hipMemcpyFromArray(host, array, 0, 0, host.nbytes, TO_HOST) == 0
    return host


def test_a_gpu_without_images_has_no_arrays(raw, runtime):
    assert raw.hipSetDevice(0) == 0
    out, plain, solid = ctypes.c_size_t(), ArrayDescriptor(4, 4, 32, 1), ArrayDescriptor3D(4, 4, 4, 32, 1, 0)
    assert raw.hipMallocArray(out, DESCRIPTOR, 4, 4, 0) == NOT_SUPPORTED
    assert runtime.fault_report() == "hipMallocArray: gfx942 has no images, and so no arrays"
    assert raw.hipArrayCreate(out, plain) == raw.hipArray3DCreate(out, solid) == NOT_SUPPORTED
    for function, given in (("hipArrayCreate", plain), ("hipArray3DCreate", solid)):
        assert getattr(raw, function)(0, given) == getattr(raw, function)(out, 0) == INVALID_VALUE
    assert raw.hipMallocArray(0, DESCRIPTOR, 4, 4, 0) == raw.hipMallocArray(out, 0, 4, 4, 0) == INVALID_VALUE


def test_an_array_says_what_it_is(raw, make, make_3d):
    channels, extent, flags = ChannelDescriptor(), Extent(), ctypes.c_uint(9)
    array = make(descriptor=ChannelDescriptor(16, 16, 0, 0, UNSIGNED))
    assert raw.hipArrayGetInfo(channels, extent, flags, array) == raw.hipArrayGetInfo(0, 0, 0, array) == 0
    assert (channels.x, channels.y, channels.z, channels.w, channels.f) == (16, 16, 0, 0, UNSIGNED)
    assert (extent.width, extent.height, extent.depth, flags.value) == (WIDTH, HEIGHT, 0, 0)
    assert raw.hipGetChannelDesc(channels, make()) == 0
    assert (channels.x, channels.y, channels.f) == (32, 0, FLOAT)
    plain, solid = ArrayDescriptor(), ArrayDescriptor3D()
    assert raw.hipArrayGetDescriptor(plain, array) == 0
    assert (plain.Width, plain.Height, plain.Format, plain.NumChannels) == (WIDTH, HEIGHT, 2, 2)
    layered = make_3d(flags=1)
    assert raw.hipArray3DGetDescriptor(solid, layered) == 0
    assert (solid.Width, solid.Height, solid.Depth) == (WIDTH, HEIGHT, DEPTH)
    assert (solid.Format, solid.NumChannels, solid.Flags) == (32, 1, 1)
    assert raw.hipArrayGetDescriptor(plain, layered) == INVALID_VALUE


def test_descriptors_of_drivers_make_the_same_arrays(raw):
    plain = raw.made("hipArrayCreate", ArrayDescriptor(WIDTH, HEIGHT, 32, 1))
    solid = raw.made("hipArray3DCreate", ArrayDescriptor3D(WIDTH, HEIGHT, DEPTH, 16, 4, 2))
    channels = ChannelDescriptor()
    assert raw.hipGetChannelDesc(channels, solid) == 0
    assert (channels.x, channels.y, channels.z, channels.w, channels.f) == (16, 16, 16, 16, FLOAT)
    assert raw.hipArrayDestroy(plain) == raw.hipArrayDestroy(solid) == 0
    assert raw.hipArrayDestroy(plain) == INVALID_HANDLE
    assert raw.hipFreeArray(0) == raw.hipArrayDestroy(0) == INVALID_VALUE


@pytest.mark.parametrize(
    "bits",
    [(0, 0, 0, 0), (32, 16, 0, 0), (32, 0, 32, 0), (8, 8, 8, 0), (24, 0, 0, 0), (64, 0, 0, 0), (-8, 0, 0, 0)],
)
def test_channels_are_one_two_or_four_of_one_size(raw, bits):
    assert raw.hipMallocArray(ctypes.c_size_t(), ChannelDescriptor(*bits, SIGNED), 4, 4, 0) == INVALID_VALUE


def test_an_array_has_a_width_and_known_flags(raw, make_3d):
    out = ctypes.c_size_t()
    assert raw.hipMallocArray(out, DESCRIPTOR, 0, 4, 0) == raw.hipMallocArray(out, DESCRIPTOR, 4, 4, 16) == 1
    assert raw.hipMallocArray(out, ChannelDescriptor(8, 0, 0, 0, FLOAT), 4, 4, 0) == INVALID_VALUE
    assert raw.hipMallocArray(out, ChannelDescriptor(8, 0, 0, 0, 9), 4, 4, 0) == INVALID_VALUE
    assert raw.hipArrayCreate(out, ArrayDescriptor(4, 4, 7, 1)) == INVALID_VALUE
    assert raw.hipArrayCreate(out, ArrayDescriptor(4, 4, 32, 3)) == INVALID_VALUE
    assert make_3d(4, 0, 4) == make_3d(4, 3, 6, flags=4) == make_3d(4, 4, 5, flags=4) == -INVALID_VALUE
    assert make_3d(4, 0, 4, flags=1) > 0
    assert make_3d(4, 4, 6, flags=4) > 0


def test_memory_of_arrays_counts_and_is_given_back(raw):
    def used():
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        assert raw.hipMemGetInfo(free, total) == 0
        return total.value - free.value

    before = used()
    array = raw.made("hipMallocArray", DESCRIPTOR, 100, 10, 0)
    assert used() == before + 4000
    assert raw.hipFreeArray(array) == 0
    assert used() == before
    assert raw.hipMallocArray(ctypes.c_size_t(), DESCRIPTOR, 1 << 30, 1 << 20, 0) == 2


def test_rows_go_in_and_come_out_again(raw, make):
    array, values = make(), numbers(HEIGHT, WIDTH + 2)
    copied = raw.hipMemcpy2DToArray(array, 0, 0, values, values.strides[0], ROW, HEIGHT, TO_DEVICE)
    assert copied == 0
    assert (content(raw, array, HEIGHT, WIDTH) == values[:, :WIDTH]).all()
    host = np.zeros((2, 8), np.float32)
    assert raw.hipMemcpy2DFromArray(host, host.strides[0], array, 8, 1, 12, 2, TO_HOST) == 0
    assert (host[:, :3] == values[1:3, 2:5]).all()
    assert (host[:, 3:] == 0).all()


@pytest.mark.parametrize("form", ["_spt", "Async", "Async_spt"])
def test_rows_are_copied_by_each_form(raw, make, form):
    array, values, host = make(), numbers(HEIGHT, WIDTH), np.zeros((HEIGHT, WIDTH), np.float32)
    stream = (raw.made("hipStreamCreate"),) if "Async" in form else ()
    copy_in, copy_out = getattr(raw, f"hipMemcpy2DToArray{form}"), getattr(raw, f"hipMemcpy2DFromArray{form}")
    assert copy_in(array, 0, 0, values, ROW, ROW, HEIGHT, TO_DEVICE, *stream) == 0
    assert copy_out(host, ROW, array, 0, 0, ROW, HEIGHT, TO_HOST, *stream) == 0
    assert raw.hipDeviceSynchronize() == 0
    assert (host == values).all()
    assert all(raw.hipStreamDestroy(each) == 0 for each in stream)


def test_rows_are_checked(raw, make):
    array, host = make(), np.zeros((HEIGHT, WIDTH), np.float32)

    def copy(x=0, y=0, width=ROW, height=HEIGHT, pitch=ROW, kind=TO_DEVICE, source=host, target=array):
        into = raw.hipMemcpy2DToArray(target, x, y, source, pitch, width, height, kind)
        back = {TO_DEVICE: TO_HOST, TO_HOST: TO_DEVICE}.get(kind, kind)
        assert raw.hipMemcpy2DFromArray(source, pitch, target, x, y, width, height, back) == into
        return into

    assert copy() == copy(width=0) == copy(height=0) == copy(kind=DEFAULT) == 0
    assert copy(x=4) == copy(y=1) == copy(height=HEIGHT + 1) == copy(x=1 << 63) == INVALID_VALUE
    assert copy(source=0) == copy(kind=TO_HOST) == copy(kind=ON_DEVICE) == INVALID_VALUE
    assert (copy(pitch=4), copy(kind=9), copy(target=77)) == (BAD_PITCH, BAD_KIND, INVALID_HANDLE)


def test_arrays_are_copied_into_each_other(raw, make):
    source, target = make(), make()
    values, zeros = filled(raw, source, numbers(HEIGHT, WIDTH)), filled(raw, target, np.zeros((HEIGHT, WIDTH), "f4"))
    assert raw.hipMemcpy2DArrayToArray(target, 4, 1, source, 8, 2, 8, 2, ON_DEVICE) == 0
    zeros[1:3, 1:3] = values[2:4, 2:4]
    assert (content(raw, target, HEIGHT, WIDTH) == zeros).all()
    assert raw.hipMemcpyAtoA(target, 0, source, ROW, ROW) == 0
    assert (content(raw, target, HEIGHT, WIDTH)[0] == values[1]).all()
    assert raw.hipMemcpyAtoA(target, 4, source, 0, ROW * HEIGHT) == INVALID_VALUE
    assert raw.hipMemcpy2DArrayToArray(target, 4, 0, source, 0, 0, ROW, 1, ON_DEVICE) == INVALID_VALUE


def test_bytes_of_an_array_are_copied_as_one_piece(raw, make):
    array, values, stream = make(), numbers(HEIGHT * WIDTH), raw.made("hipStreamCreate")
    host, device = np.zeros(5, np.float32), raw.made("hipMalloc", 64)
    assert raw.hipMemcpyHtoA(array, 0, values, values.nbytes) == 0
    assert raw.hipMemcpyAtoH(host, array, 12, 20) == 0
    assert host.tolist() == [3, 4, 5, 6, 7]
    assert raw.hipMemcpyHtoAAsync(array, 4, host, 20, stream) == 0
    assert raw.hipMemcpyAtoHAsync(host, array, 8, 20, stream) == 0
    assert raw.hipStreamSynchronize(stream) == raw.hipStreamDestroy(stream) == 0
    assert host.tolist() == [4, 5, 6, 7, 6]
    assert raw.hipMemcpyAtoD(device, array, 4, 20) == raw.hipMemcpyDtoA(array, 40, device, 20) == 0
    assert raw.hipMemcpyFromArray_spt(host, array, 16, 1, 20, TO_HOST) == raw.hipFree(device) == 0
    assert host.tolist() == [3, 4, 5, 6, 7]
    end = HEIGHT * ROW
    assert raw.hipMemcpyAtoH(host, array, end - 16, 20) == raw.hipMemcpyHtoA(array, end, host, 4) == INVALID_VALUE
    assert raw.hipMemcpyAtoH(host, 77, 0, 4) == INVALID_HANDLE


def box(array, host, *, into, position=(0, 0, 0), extent=(WIDTH, HEIGHT, DEPTH)):
    """A hipMemcpy3DParms between an array and rows of the host; the extent is in elements."""
    _, height, width = host.shape
    made = Memcpy3DParams(kind=TO_DEVICE if into else TO_HOST)
    pointer = PitchedPointer(host.ctypes.data, 4 * width, 4 * width, height)
    made.dstArray, made.srcPtr = (array, pointer) if into else (0, PitchedPointer())
    if not into:
        made.srcArray, made.dstPtr = array, pointer
    place = made.dstPos if into else made.srcPos
    place.x, place.y, place.z = position
    made.extent.width, made.extent.height, made.extent.depth = extent
    return made


def test_boxes_go_in_and_come_out_in_elements(raw, make_3d):
    array, values, host = make_3d(), numbers(DEPTH, HEIGHT, WIDTH), np.zeros((2, 3, 4), np.float32)
    assert raw.hipMemcpy3D(box(array, values, into=True)) == 0
    assert raw.hipMemcpy3D(box(array, host, into=False, position=(1, 1, 1), extent=(4, 3, 2))) == 0
    assert (host == values[1:3, 1:4, 1:5]).all()
    outside = box(array, host, into=False, position=(3, 1, 1), extent=(4, 3, 2))
    assert raw.hipMemcpy3D(outside) == INVALID_VALUE
    both = box(array, host, into=False)
    both.srcPtr = both.dstPtr
    assert raw.hipMemcpy3D(both) == INVALID_VALUE
    assert raw.hipMemcpy3D(box(77, host, into=True)) == INVALID_HANDLE


def test_boxes_between_arrays_need_elements_of_one_size(raw, make_3d, make):
    source, target, other = make_3d(), make_3d(), make(descriptor=ChannelDescriptor(8, 0, 0, 0, UNSIGNED))
    values = numbers(DEPTH, HEIGHT, WIDTH)
    assert raw.hipMemcpy3D(box(source, values, into=True)) == 0
    made = Memcpy3DParams(kind=ON_DEVICE, srcArray=source, dstArray=target)
    made.extent.width, made.extent.height, made.extent.depth = WIDTH, HEIGHT, DEPTH
    assert raw.hipMemcpy3D(made) == 0
    assert (content(raw, target, DEPTH, HEIGHT, WIDTH) == values).all()
    made.dstArray, made.extent.depth = other, 1
    assert raw.hipMemcpy3D(made) == INVALID_VALUE


def test_a_node_of_a_graph_copies_into_an_array(raw, make_3d):
    array, values = make_3d(), numbers(DEPTH, HEIGHT, WIDTH)
    graph = raw.made("hipGraphCreate", 0)
    raw.made("hipGraphAddMemcpyNode", graph, 0, 0, box(array, values, into=True))
    executable = raw.made("hipGraphInstantiateWithFlags", graph, 0)
    assert raw.hipGraphLaunch(executable, 0) == raw.hipDeviceSynchronize() == 0
    assert (content(raw, array, DEPTH, HEIGHT, WIDTH) == values).all()
    assert raw.hipGraphExecDestroy(executable) == raw.hipGraphDestroy(graph) == 0


def test_structures_of_drivers_name_arrays_in_bytes(raw, make, make_3d):
    array, values, host = make(), numbers(HEIGHT, WIDTH), np.zeros((2, 2), np.float32)
    into = DriverMemcpy2D(srcMemoryType=HOST, srcHost=values.ctypes.data, dstMemoryType=ARRAY, dstArray=array)
    into.WidthInBytes, into.Height = ROW, HEIGHT
    assert raw.hipMemcpyParam2D(into) == 0
    out = DriverMemcpy2D(srcMemoryType=ARRAY, srcArray=array, srcXInBytes=4, srcY=1, dstMemoryType=HOST)
    out.dstHost, out.WidthInBytes, out.Height = host.ctypes.data, 8, 2
    assert raw.hipMemcpyParam2D(out) == 0
    assert (host == values[1:3, 1:3]).all()
    out.srcXInBytes = 20
    assert raw.hipMemcpyParam2D(out) == INVALID_VALUE
    out.srcArray = 0
    assert raw.hipMemcpyParam2D(out) == INVALID_VALUE
    solid, values = make_3d(), numbers(DEPTH, HEIGHT, WIDTH)
    into = DriverMemcpy3D(srcMemoryType=HOST, srcHost=values.ctypes.data, dstMemoryType=ARRAY, dstArray=solid)
    into.WidthInBytes, into.Height, into.Depth = ROW, HEIGHT, DEPTH
    assert raw.hipDrvMemcpy3D(into) == 0
    assert (content(raw, solid, DEPTH, HEIGHT, WIDTH) == values).all()


@pytest.mark.parametrize("failing", ["hipMallocArray", "hipMemcpy2DToArray", "hipArrayGetInfo"])
def test_a_call_that_is_made_to_fail_has_done_nothing(raw, runtime, make, failing):
    array, host, out = make(), numbers(HEIGHT, WIDTH), ctypes.c_size_t()
    zeros = filled(raw, array, np.zeros((HEIGHT, WIDTH), "f4"))
    calls = {
        "hipMallocArray": (out, DESCRIPTOR, 4, 4, 0),
        "hipMemcpy2DToArray": (array, 0, 0, host, ROW, ROW, HEIGHT, TO_DEVICE),
        "hipArrayGetInfo": (0, 0, out, array),
    }
    with runtime.inject(failing, 1, 2):
        assert getattr(raw, failing)(*calls[failing]) == 2
    assert out.value == 0
    assert (content(raw, array, HEIGHT, WIDTH) == zeros).all()
