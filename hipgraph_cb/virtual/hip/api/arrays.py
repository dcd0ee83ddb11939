"""Arrays, as linear memory: making and freeing them, and asking what they are. Only GPUs with images have arrays."""

from __future__ import annotations

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import ArrayFlag, MemoryType
from hipgraph_cb.abi.hip.structures import ArrayDescriptor, ArrayDescriptor3D, ChannelDescriptor, Extent
from hipgraph_cb.virtual.hip.api.memory import free
from hipgraph_cb.virtual.hip.function_table import HANDLE, POINTER, SIZE, UINT, api
from hipgraph_cb.virtual.hip.native import require, store_int, store_pointer
from hipgraph_cb.virtual.hip.objects.array import Array, Elements
from hipgraph_cb.virtual.hip.objects.capture import forbid_unsafe_call
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime

_KNOWN_FLAGS = sum(ArrayFlag)
_FACES = 6


def _make(runtime: HipRuntime, out: int, elements: Elements, extent: tuple[int, int, int], flags: int) -> None:
    width, height, depth = extent
    require(width and not flags & ~_KNOWN_FLAGS)
    require(
        height or not depth or flags & ArrayFlag.LAYERED, note="only an array of layers has a depth without a height"
    )
    if flags & ArrayFlag.CUBEMAP:
        require(width == height and depth and depth % _FACES == 0, note="a cube has six square faces")
    forbid_unsafe_call(runtime)
    planned = Array(0, elements, width, height, depth, flags)
    address = runtime.allocations.allocate(planned.size, MemoryType.DEVICE, runtime.gpu.ordinal)
    store_pointer(out, runtime.arrays.add(Array(address, elements, width, height, depth, flags)))


def _check_support(runtime: HipRuntime) -> None:
    processor = runtime.gpu.model.processor
    require(runtime.gpu.model.has_arrays, Code.NOT_SUPPORTED, f"{processor} has no images, and so no arrays")


def _make_of_channels(runtime: HipRuntime, out: int, descriptor: int, extent: tuple[int, int, int], flags: int) -> None:
    require(out and descriptor)
    _check_support(runtime)
    given = ChannelDescriptor.from_address(descriptor)
    _make(runtime, out, Elements.of_channels((given.x, given.y, given.z, given.w), given.f), extent, flags)


@api("hipMallocArray", POINTER, POINTER, SIZE, SIZE, UINT)
def malloc_array(runtime: HipRuntime, out: int, descriptor: int, width: int, height: int, flags: int) -> None:
    _make_of_channels(runtime, out, descriptor, (width, height, 0), flags)


@api("hipMalloc3DArray", POINTER, POINTER, Extent, UINT)
def malloc_3d_array(runtime: HipRuntime, out: int, descriptor: int, extent: Extent, flags: int) -> None:
    _make_of_channels(runtime, out, descriptor, (extent.width, extent.height, extent.depth), flags)


@api("hipArrayCreate", POINTER, POINTER)
def array_create(runtime: HipRuntime, out: int, descriptor: int) -> None:
    require(out and descriptor)
    _check_support(runtime)
    given = ArrayDescriptor.from_address(descriptor)
    elements = Elements.of_format(given.Format, given.NumChannels)
    _make(runtime, out, elements, (given.Width, given.Height, 0), 0)


@api("hipArray3DCreate", POINTER, POINTER)
def array_create_3d(runtime: HipRuntime, out: int, descriptor: int) -> None:
    require(out and descriptor)
    _check_support(runtime)
    given = ArrayDescriptor3D.from_address(descriptor)
    elements = Elements.of_format(given.Format, given.NumChannels)
    _make(runtime, out, elements, (given.Width, given.Height, given.Depth), given.Flags)


@api("hipFreeArray", HANDLE, releases=True)
@api("hipArrayDestroy", HANDLE, releases=True)
def free_array(runtime: HipRuntime, handle: int) -> None:
    """It waits for all work of the device, as hipFree does."""
    require(handle)
    free(runtime, runtime.arrays.pop(handle).address)


# -- what an array is --------------------------------------------------------------------------------------------------


def _store_channels(out: int, elements: Elements) -> None:
    target = ChannelDescriptor.from_address(out)
    target.x, target.y, target.z, target.w, target.f = elements.channels


@api("hipGetChannelDesc", POINTER, HANDLE)
def get_channel_descriptor(runtime: HipRuntime, out: int, handle: int) -> None:
    require(out)
    _store_channels(out, runtime.arrays[handle].elements)


@api("hipArrayGetInfo", POINTER, POINTER, POINTER, HANDLE)
def array_get_info(runtime: HipRuntime, channels_out: int, extent_out: int, flags_out: int, handle: int) -> None:
    """Each of the three is written where there is room for it."""
    array = runtime.arrays[handle]
    if channels_out:
        _store_channels(channels_out, array.elements)
    if extent_out:
        extent = Extent.from_address(extent_out)
        extent.width, extent.height, extent.depth = array.width, array.height, array.depth
    if flags_out:
        store_int(flags_out, array.flags)


@api("hipArrayGetDescriptor", POINTER, HANDLE)
def array_get_descriptor(runtime: HipRuntime, out: int, handle: int) -> None:
    require(out)
    array, target = runtime.arrays[handle], ArrayDescriptor.from_address(out)
    require(not array.depth, note="an array of three dimensions has a hipArray3DGetDescriptor")
    target.Width, target.Height = array.width, array.height
    target.Format, target.NumChannels = array.elements.format, array.elements.count


@api("hipArray3DGetDescriptor", POINTER, HANDLE)
def array_get_descriptor_3d(runtime: HipRuntime, out: int, handle: int) -> None:
    require(out)
    array, target = runtime.arrays[handle], ArrayDescriptor3D.from_address(out)
    target.Width, target.Height, target.Depth = array.width, array.height, array.depth
    target.Format, target.NumChannels, target.Flags = array.elements.format, array.elements.count, array.flags
