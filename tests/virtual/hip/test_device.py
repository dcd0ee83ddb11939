"""Devices, properties and attributes, read through hip-python's own accessors."""

from __future__ import annotations

import ctypes

from support.devices import VIRTUAL_GPUS

from hipgraph_cb.abi.hip.structures import DeviceProperties, DevicePropertiesR0000


def test_the_first_device_is_a_gfx942(hip):
    code, properties = hip.hipGetDeviceProperties(0)
    assert code == 0
    assert properties.gcnArchName == "gfx942:sramecc+:xnack-"
    assert properties.name == "Virtual AMD Instinct MI300X"
    assert (properties.major, properties.minor, properties.warpSize) == (9, 4, 64)
    assert (properties.sharedMemPerBlock, properties.maxThreadsPerBlock) == (65536, 1024)
    assert list(properties.maxThreadsDim) == [1024, 1024, 1024]
    assert (properties.totalGlobalMem, properties.isLargeBar) == (16 << 30, 1)


def test_attributes_agree_with_properties(hip):
    _, properties = hip.hipGetDeviceProperties(0)
    names = hip.hipDeviceAttribute_t
    expected = {
        names.hipDeviceAttributeWarpSize: properties.warpSize,
        names.hipDeviceAttributeMultiprocessorCount: properties.multiProcessorCount,
        names.hipDeviceAttributeMaxSharedMemoryPerBlock: properties.sharedMemPerBlock,
        names.hipDeviceAttributeMaxBlockDimY: properties.maxThreadsDim[1],
        names.hipDeviceAttributeMaxGridDimX: properties.maxGridSize[0],
        names.hipDeviceAttributeComputeCapabilityMajor: properties.major,
        names.hipDeviceAttributeL2CacheSize: properties.l2CacheSize,
        names.hipDeviceAttributePciBusId: properties.pciBusID,
    }
    assert {name: hip.hipDeviceGetAttribute(name, 0) for name in expected} == {
        name: (0, value) for name, value in expected.items()
    }


def test_an_ordinal_that_is_not_there_is_an_invalid_device(hip):
    assert hip.hipSetDevice(len(VIRTUAL_GPUS)) == (101,)
    assert hip.hipGetDeviceProperties(-1)[0] == 101
    assert hip.hipDeviceGetAttribute(hip.hipDeviceAttribute_t.hipDeviceAttributeWarpSize, len(VIRTUAL_GPUS))[0] == 101
    assert hip.hipGetDevice() == (0, 0)


def test_names_ids_and_versions_are_reported(hip):
    library = ctypes.CDLL("libamdhip64.so")
    name, bus, uuid = (ctypes.create_string_buffer(16) for _ in range(3))
    assert library.hipDeviceGetName(name, 12, 0) == 0
    assert name.value == b"Virtual AMD"
    assert library.hipDeviceGetPCIBusId(bus, 16, 0) == 0
    assert bus.value == b"0000:01:00.0"
    assert library.hipDeviceGetUuid(uuid, 0) == 0
    assert uuid.raw == b"virtualgpu000000"
    assert hip.hipDeviceGetByPCIBusId(b"0000:01:00.0") == (0, 0)
    assert hip.hipRuntimeGetVersion() == hip.hipDriverGetVersion() == (0, 70253211)
    assert (hip.hipInit(0), hip.hipInit(1)) == ((0,), (1,))


def test_errors_have_names_and_texts(hip):
    assert str(hip.hipGetErrorName(hip.hipError_t.hipErrorNoBinaryForGpu)[1]) == "hipErrorNoBinaryForGpu"
    assert str(hip.hipGetErrorString(hip.hipError_t.hipErrorOutOfMemory)[1]) == "out of memory"
    library, name = ctypes.CDLL("libamdhip64.so"), ctypes.c_char_p()
    assert library.hipDrvGetErrorName(700, ctypes.byref(name)) == 0
    assert name.value == b"hipErrorIllegalAddress"
    assert library.hipDrvGetErrorName(12345, ctypes.byref(name)) == 1


def test_the_last_error_stays_until_it_is_read(hip):
    assert hip.hipSetDevice(9) == (101,)
    assert hip.hipGetDeviceCount() == (0, len(VIRTUAL_GPUS))
    assert hip.hipPeekAtLastError() == (101,)
    assert hip.hipGetLastError() == (101,)
    assert hip.hipGetLastError() == (0,)


def test_properties_in_the_layout_of_rocm_5(raw):
    """The offsets are those of that header: 792 bytes as a whole."""
    reported, now = DevicePropertiesR0000(), DeviceProperties()
    assert ctypes.sizeof(reported) == 792
    offsets = [getattr(DevicePropertiesR0000, name).offset for name in ("warpSize", "totalConstMem", "gcnArchName")]
    assert offsets == [276, 320, 396]
    assert raw.hipGetDeviceProperties(reported, 0) == raw.hipGetDevicePropertiesR0600(now, 0) == 0
    assert raw.hipGetDeviceProperties(0, 0) == 1
    for name in ("name", "gcnArchName", "warpSize", "multiProcessorCount", "totalGlobalMem", "l2CacheSize"):
        assert getattr(reported, name) == getattr(now, name), name
    assert list(reported.maxThreadsDim) == [1024, 1024, 1024]
