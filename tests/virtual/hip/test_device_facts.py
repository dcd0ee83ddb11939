"""Everything a device says about itself, field by field through hip-python's accessors."""

from __future__ import annotations

import ctypes

import pytest
from support.devices import VIRTUAL_GPUS
from support.hip_program import done

from hipgraph_cb.abi.hip.structures import DeviceProperties
from hipgraph_cb.virtual.models import MODELS

MODEL = MODELS["gfx942"]


def test_every_field_is_where_hip_python_looks_for_it(raw, hip):
    ours = DeviceProperties()
    assert raw.hipGetDevicePropertiesR0600(ours, 0) == 0
    theirs = done(hip.hipGetDeviceProperties(0))
    compared = 0
    for name, *_ in DeviceProperties._fields_:
        if not hasattr(theirs, name) or name in ("uuid", "arch", "reserved", "hipReserved"):
            continue
        value = getattr(ours, name)
        reported = getattr(theirs, name)
        if isinstance(value, bytes):
            reported = (reported if isinstance(reported, bytes) else reported.encode()).rstrip(b"\0")
        elif isinstance(value, ctypes.Array):
            value, reported = list(value), list(reported)
        elif name.startswith("hdp"):
            reported = int(reported or 0)
        assert reported == value, name
        compared += 1
    assert compared > 95


def test_the_properties_are_those_of_the_model(hip):
    reported = done(hip.hipGetDeviceProperties(0))
    assert (reported.name, reported.major, reported.minor) == (MODEL.name, MODEL.major, MODEL.minor)
    assert (reported.warpSize, reported.multiProcessorCount) == (MODEL.wavefront_size, MODEL.compute_units)
    assert (reported.clockRate, reported.memoryClockRate, reported.memoryBusWidth) == (
        MODEL.clock, MODEL.memory_clock, MODEL.memory_bus_bits,
    )  # fmt: skip
    assert (reported.sharedMemPerBlock, reported.l2CacheSize) == (MODEL.lds, MODEL.l2_cache)
    assert (reported.maxThreadsPerBlock, reported.maxThreadsPerMultiProcessor) == (1024, MODEL.threads_per_compute_unit)
    assert (reported.managedMemory, reported.memoryPoolsSupported, reported.cooperativeLaunch) == (1, 1, 1)
    assert reported.uuid.bytes == b"virtualgpu000000"


def test_every_attribute_agrees_with_its_property(hip):
    answer = done(hip.hipGetDeviceProperties(0))
    pairs = {
        "MaxThreadsPerBlock": answer.maxThreadsPerBlock, "MaxBlockDimX": answer.maxThreadsDim[0],
        "MaxBlockDimZ": answer.maxThreadsDim[2], "MaxGridDimY": answer.maxGridSize[1],
        "MaxGridDimZ": answer.maxGridSize[2],
        "MaxRegistersPerBlock": answer.regsPerBlock, "ClockRate": answer.clockRate,
        "MemoryClockRate": answer.memoryClockRate, "MemoryBusWidth": answer.memoryBusWidth,
        "MaxThreadsPerMultiProcessor": answer.maxThreadsPerMultiProcessor,
        "ConcurrentKernels": answer.concurrentKernels,
        "PciDeviceId": answer.pciDeviceID, "PciDomainId": answer.pciDomainID, "Integrated": answer.integrated,
        "ManagedMemory": answer.managedMemory, "CanMapHostMemory": answer.canMapHostMemory,
        "CooperativeLaunch": answer.cooperativeLaunch, "MemoryPoolsSupported": answer.memoryPoolsSupported,
        "UnifiedAddressing": answer.unifiedAddressing, "ComputeCapabilityMinor": answer.minor,
    }  # fmt: skip
    names = hip.hipDeviceAttribute_t
    got = {name: done(hip.hipDeviceGetAttribute(getattr(names, f"hipDeviceAttribute{name}"), 0)) for name in pairs}
    assert got == pairs


def test_the_driver_interface_tells_the_same(raw, hip):
    major, minor, total, device = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t(), ctypes.c_int(9)
    assert raw.hipDeviceGet(device, 0) == 0
    assert device.value == 0
    assert raw.hipDeviceGet(device, len(VIRTUAL_GPUS)) == 101
    assert raw.hipDeviceComputeCapability(major, minor, 0) == 0
    assert raw.hipDeviceTotalMem(total, 0) == 0
    assert (major.value, minor.value, total.value) == (9, 4, 16 << 30)


def test_priorities_have_a_range(raw):
    least, greatest = ctypes.c_int(), ctypes.c_int()
    assert raw.hipDeviceGetStreamPriorityRange(least, greatest) == 0
    assert (least.value, greatest.value) == (1, -1)


def test_flags_of_a_device_are_kept(raw):
    flags = ctypes.c_uint()
    for given in (4, 0, 1):  # the last is what there is at first
        assert raw.hipSetDeviceFlags(given) == 0
        assert raw.hipGetDeviceFlags(flags) == 0
        assert flags.value == given
    assert raw.hipSetDeviceFlags(3) == 1


@pytest.mark.parametrize("kind", ["CacheConfig", "SharedMemConfig"])
@pytest.mark.parametrize("owner", ["Device", "Ctx"])
def test_hints_are_taken_and_change_nothing(raw, owner, kind):
    value = ctypes.c_int(9)
    assert getattr(raw, f"hip{owner}Set{kind}")(2) == 0
    assert getattr(raw, f"hip{owner}Get{kind}")(value) == 0
    assert value.value == 0
    assert getattr(raw, f"hip{owner}Set{kind}")(4) == 1


def test_a_reset_waits_and_leaves_the_device_usable(raw):
    assert raw.hipDeviceReset() == 0
    address = raw.made("hipMalloc", 8)
    assert raw.hipFree(address) == 0


def test_texts_of_errors(raw):
    text = ctypes.c_size_t()
    assert raw.hipDrvGetErrorString(700, text) == 0
    assert ctypes.string_at(text.value) == b"an illegal memory access was encountered"
    assert raw.hipSetDevice(9) == 101
    assert raw.hipExtGetLastError() == 101
    assert raw.hipGetLastError() == 0


def test_the_profiler_is_not_supported(raw):
    assert (raw.hipProfilerStart(), raw.hipProfilerStop()) == (801, 801)


def test_sizes_of_images_are_those_of_devices_that_have_arrays(raw):
    sizes = {0: [0, 0, 0, 0, 0, 0, 0], 1: [16384, 134217728, 16384, 16384, 16384, 16384, 8192]}
    for ordinal, expected in sizes.items():
        found = []
        for attribute in (39, 41, 43, 44, 49, 50, 51):
            out = ctypes.c_int()
            assert raw.hipDeviceGetAttribute(out, attribute, ordinal) == 0
            found.append(out.value)
        assert found == expected


def test_a_device_says_that_it_has_virtual_memory_and_registers_host_memory(raw):
    for attribute in (89, 90):
        out = ctypes.c_int()
        assert raw.hipDeviceGetAttribute(out, attribute, 0) == 0
        assert out.value == 1
