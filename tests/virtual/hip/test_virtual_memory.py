"""Virtual memory below HIP: kernels reach what is mapped, and nothing else; failed calls leave nothing behind."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from support.hip_program import KERNELS, Arguments

from hipgraph_cb.abi.hip.structures import AllocationProperties, MemoryAccess, PointerAttributes

SIZE = 1 << 16
COUNT = SIZE // 4


def properties(ordinal=0):
    made = AllocationProperties(type=1)
    made.location.type, made.location.id = 1, ordinal
    return made


def access(ordinal=0):
    made = MemoryAccess(flags=3)
    made.location.type, made.location.id = 1, ordinal
    return made


@pytest.fixture
def saxpy(raw):
    module = raw.made("hipModuleLoadData", KERNELS.read_bytes())
    function = raw.made("hipModuleGetFunction", module, b"saxpy")

    def launch(y, x, count):
        arguments = Arguments(
            ctypes.c_uint64(y), ctypes.c_uint64(x), ctypes.c_float(2), ctypes.c_int32(count)
        )  # y += 2 x
        blocks = -(-count // 256)
        assert raw.hipModuleLaunchKernel(function, blocks, 1, 1, 256, 1, 1, 0, 0, arguments.address, 0) == 0
        return raw.hipDeviceSynchronize()

    yield launch
    assert raw.hipModuleUnload(module) == 0


@pytest.fixture
def mapped(raw):
    """Makes ranges of pieces that are mapped one behind the other, which are given back at the end."""
    made = []

    def make(pieces, handles=None, ordinal=0):
        address = raw.made("hipMemAddressReserve", pieces * SIZE, 0, 0, 0)
        handles = handles or [raw.made("hipMemCreate", SIZE, properties(ordinal), 0) for _ in range(pieces)]
        for place, handle in enumerate(handles):
            assert raw.hipMemMap(address + place * SIZE, SIZE, 0, handle, 0) == 0
        assert raw.hipMemSetAccess(address, len(handles) * SIZE, access(), 1) == 0
        made.append((address, pieces, handles))
        return address, handles

    yield make
    for address, pieces, handles in made:
        for place in range(pieces):
            raw.hipMemUnmap(address + place * SIZE, SIZE)
        assert raw.hipMemAddressFree(address, pieces * SIZE) == 0
        for handle in handles:
            raw.hipMemRelease(handle)


def used(raw, ordinal=0):
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    assert raw.hipSetDevice(ordinal) == raw.hipMemGetInfo(free, total) == raw.hipSetDevice(0) == 0
    return total.value - free.value


def read(raw, address, count):
    host = np.empty(count, np.float32)
    assert raw.hipMemcpy(host, address, host.nbytes, 2) == 0
    return host


def test_a_kernel_reads_and_writes_across_mappings_and_under_two_addresses(raw, saxpy, mapped):
    y, handles = mapped(2)
    again, _ = mapped(2, handles[::-1])
    values = np.arange(2 * COUNT, dtype=np.float32)
    assert raw.hipMemcpy(y, values, values.nbytes, 1) == 0
    x = raw.made("hipMalloc", values.nbytes)
    assert raw.hipMemcpy(x, np.ones_like(values), values.nbytes, 1) == 0
    assert saxpy(y, x, 2 * COUNT) == 0
    assert (read(raw, y, 2 * COUNT) == values + 2).all()
    assert (read(raw, again, COUNT) == values[COUNT:] + 2).all()
    assert raw.hipFree(x) == 0


def test_a_range_grows_while_its_first_part_is_in_use(raw, saxpy, mapped):
    y, handles = mapped(1)
    assert raw.hipMemset(y, 0, SIZE) == 0
    more = raw.made("hipMemCreate", SIZE, properties(), 0)
    larger, _ = mapped(2, [handles[0]])
    assert saxpy(larger, larger, COUNT) == 0
    assert raw.hipMemMap(larger + SIZE, SIZE, 0, more, 0) == 0
    assert raw.hipMemSetAccess(larger + SIZE, SIZE, access(), 1) == 0
    assert raw.hipMemRelease(more) == 0
    assert saxpy(larger, larger, 2 * COUNT) == 0
    assert (read(raw, y, COUNT) == 0).all()


def test_a_kernel_beyond_what_is_mapped_faults_with_the_range(raw, saxpy, mapped, runtime):
    y, _ = mapped(2, [raw.made("hipMemCreate", SIZE, properties(), 0)])
    assert saxpy(y, y, COUNT + 1) == 700
    report = runtime.fault_report()
    assert "65536 bytes into `reserved memory #" in report
    assert ", 131072 bytes, where nothing is mapped" in report


def test_a_kernel_that_runs_after_unmapping_faults_and_one_before_does_not(raw, saxpy, mapped, runtime):
    y, _ = mapped(1)
    assert saxpy(y, y, 16) == 0
    assert raw.hipMemUnmap(y, SIZE) == 0
    assert saxpy(y, y, 16) == 700
    assert raw.hipMemcpy(np.zeros(4, np.float32), y, 16, 2) == 1


def test_memory_of_another_device_says_whose_it_is_and_counts_there(raw, mapped):
    before = used(raw, 1)
    y, _ = mapped(1, ordinal=1)
    reported = PointerAttributes()
    assert raw.hipPointerGetAttributes(reported, y) == 0
    assert reported.device == 1
    assert used(raw, 1) == before + SIZE


@pytest.mark.parametrize("failing", ["hipMemCreate", "hipMemMap", "hipMemSetAccess", "hipMemAddressReserve"])
def test_a_call_that_is_made_to_fail_has_done_nothing(raw, runtime, failing):
    before = used(raw)
    address, out = raw.made("hipMemAddressReserve", SIZE, 0, 0, 0), ctypes.c_size_t()
    handle = raw.made("hipMemCreate", SIZE, properties(), 0)
    calls = {
        "hipMemCreate": (out, SIZE, properties(), 0),
        "hipMemMap": (address, SIZE, 0, handle, 0),
        "hipMemSetAccess": (address, SIZE, access(), 1),
        "hipMemAddressReserve": (out, SIZE, 0, 0, 0),
    }
    with runtime.inject(failing, 1, 2):
        assert getattr(raw, failing)(*calls[failing]) == 2
    assert out.value == 0
    assert used(raw) == before + SIZE
    assert raw.hipMemRelease(handle) == 0
    assert raw.hipMemAddressFree(address, SIZE) == 0
    assert used(raw) == before
