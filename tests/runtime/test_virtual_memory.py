"""Virtual memory: the measured answers of AMD's runtimes."""

from __future__ import annotations

import ctypes
import os

import numpy as np
import pytest
from support.hip_callers import RawLibrary

from hipgraph_cb.abi.hip.structures import AllocationProperties, MemoryAccess, MemoryLocation, PointerAttributes

PAGE, SIZE = 4096, 1 << 16
INVALID_VALUE, OUT_OF_MEMORY, INVALID_DEVICE, UNKNOWN = 1, 2, 101, 999
PINNED, UNCACHED, DEVICE, HOST, DESCRIPTOR, READ, READ_WRITE = 1, 0x40000000, 1, 2, 1, 1, 3
UNTOUCHED = 5


def properties(kind=PINNED, handle=0, place=DEVICE, ordinal=0):
    made = AllocationProperties(type=kind, requestedHandleType=handle)
    made.location.type, made.location.id = place, ordinal
    return made


@pytest.fixture
def raw(profile):
    return RawLibrary()


@pytest.fixture
def memory(raw):
    made = Memory(raw)
    yield made
    made.close()


class Memory:
    """A reserved range of four pieces, of which some are mapped, each with memory of its own."""

    def __init__(self, raw):
        self.raw = raw
        self.address = raw.made("hipMemAddressReserve", 4 * SIZE, 0, 0, 0)
        self.handles = []

    def map(self, count, place=0, handle=0):
        for index in range(place, place + count):
            self.handles.append(self.raw.made("hipMemCreate", SIZE, properties(handle=handle), 0))
            assert self.raw.hipMemMap(self.at(index), SIZE, 0, self.handles[-1], 0) == 0

    def at(self, place):
        return self.address + place * SIZE

    def allow(self, place, size, flags=READ_WRITE, ordinal=0, kind=DEVICE):
        access = MemoryAccess(flags=flags)
        access.location.type, access.location.id = kind, ordinal
        return self.raw.hipMemSetAccess(self.at(place), size, access, 1)

    def access(self, place, ordinal=0, kind=DEVICE):
        out = ctypes.c_size_t(UNTOUCHED)
        return self.raw.hipMemGetAccess(out, MemoryLocation(kind, ordinal), self.at(place)), out.value

    def close(self):
        for place in range(4):
            self.raw.hipMemUnmap(self.at(place), SIZE)
        assert self.raw.hipMemAddressFree(self.address, 4 * SIZE) == 0
        for handle in self.handles:
            self.raw.hipMemRelease(handle)


def test_memory_has_the_granularity_of_a_page(raw, profile):
    def granularity(given, option=0):
        out = ctypes.c_size_t(UNTOUCHED)
        return raw.hipMemGetAllocationGranularity(out, given, option), out.value

    assert granularity(properties()) == granularity(properties(handle=2), 1) == (0, PAGE)
    newer = (0, PAGE) if profile == "7.2" else (INVALID_VALUE, UNTOUCHED)
    assert granularity(properties(UNCACHED)) == granularity(properties(place=HOST)) == newer
    for given, option in ((properties(), 2), (properties(0), 0), (properties(place=0), 0), (properties(ordinal=9), 0)):
        assert granularity(given, option) == (INVALID_VALUE, UNTOUCHED)
    assert raw.hipMemGetAllocationGranularity(0, properties(), 0) == INVALID_VALUE
    assert raw.hipMemGetAllocationGranularity(ctypes.c_size_t(), 0, 0) == INVALID_VALUE


def test_whole_pages_are_reserved(raw, profile):
    def reserved(size, alignment=0, flags=0):
        out = ctypes.c_size_t(UNTOUCHED)
        return raw.hipMemAddressReserve(out, size, alignment, 0, flags), out.value

    refused = INVALID_VALUE if profile == "7.2" else OUT_OF_MEMORY
    for size, alignment in ((0, 0), (100, 0), (SIZE, 3)):
        assert reserved(size, alignment) == (refused, UNTOUCHED)
    assert reserved(SIZE, flags=1) == (INVALID_VALUE, UNTOUCHED)
    assert reserved(1 << 60) == (OUT_OF_MEMORY, 0)
    assert raw.hipMemAddressReserve(0, SIZE, 0, 0, 0) == INVALID_VALUE
    code, address = reserved(PAGE, 8)
    assert (code, raw.hipMemAddressFree(address, PAGE)) == (0, 0)


def test_memory_is_created_where_it_can_be(raw, profile):
    def created(given, size=SIZE, flags=0):
        out = ctypes.c_size_t(UNTOUCHED)
        code = raw.hipMemCreate(out, size, given, flags)
        assert (code != 0) == (out.value == UNTOUCHED)
        return code if code else raw.hipMemRelease(out.value)

    newer, elsewhere = (0, INVALID_DEVICE) if profile == "7.2" else (INVALID_VALUE, INVALID_VALUE)
    assert created(properties()) == created(properties(handle=DESCRIPTOR)) == created(properties(), PAGE) == 0
    assert created(properties(UNCACHED)) == created(properties(place=HOST)) == newer
    assert created(properties(ordinal=9)) == created(properties(ordinal=-1)) == elsewhere
    assert created(properties(handle=2)) == 801
    assert created(properties(), 1 << 40) == OUT_OF_MEMORY
    for given, size, flags in (
        (properties(), 0, 0),
        (properties(), 100, 0),
        (properties(), SIZE, 1),
        (0, SIZE, 0),
        (properties(0), SIZE, 0),
        (properties(place=0), SIZE, 0),
        (properties(place=3), SIZE, 0),
    ):
        assert created(given, size, flags) == INVALID_VALUE
    assert raw.hipMemCreate(0, SIZE, properties(), 0) == raw.hipMemRelease(0) == INVALID_VALUE


def test_mapped_memory_is_device_memory_before_anybody_may_access_it(raw, memory):
    memory.map(2)
    start, size, reported = ctypes.c_size_t(), ctypes.c_size_t(), PointerAttributes()
    assert raw.hipMemGetAddressRange(start, size, memory.at(1) + 8) == 0
    assert (start.value, size.value) == (memory.at(1), SIZE)
    assert raw.hipMemGetAddressRange(start, size, memory.at(3)) == 500
    assert raw.hipPointerGetAttributes(reported, memory.at(0) + 8) == 0
    fields = (reported.type, reported.device, reported.devicePointer, reported.hostPointer, reported.allocationFlags)
    assert fields == (2, 0, memory.at(0) + 8, 0, 0)
    assert raw.hipPointerGetAttributes(reported, memory.at(3)) == 0
    assert (reported.type, reported.device) == (0, -2)


def test_mapped_memory_is_not_shared_by_the_older_functions(raw, memory, profile):
    memory.map(1)
    out = ctypes.c_int(UNTOUCHED)
    expected = (0, 0) if profile == "7.2" else (801, UNTOUCHED)
    assert (raw.hipPointerGetAttribute(out, 10, memory.at(0)), out.value) == expected


def test_access_is_given_to_whole_mappings(memory, profile):
    memory.map(2)
    assert memory.access(0) == (0, 0)
    assert (memory.allow(0, SIZE), memory.access(0), memory.access(1)) == (0, (0, 3), (0, 0))
    assert (memory.allow(0, 2 * SIZE, READ), memory.access(1)) == (0, (0, 1))
    for place, size in ((0, 3 * SIZE), (0, 4 * SIZE), (0, SIZE // 2), (3, SIZE), (0, 0)):
        assert memory.allow(place, size) == INVALID_VALUE
    assert memory.allow(0, 2 * SIZE, 9) == memory.allow(0, 2 * SIZE, ordinal=9) == INVALID_VALUE
    older = INVALID_VALUE if profile == "7.2" else 0
    assert memory.allow(0, 2 * SIZE, 2) == memory.allow(0, 2 * SIZE, kind=0) == older
    assert memory.allow(0, 2 * SIZE, kind=HOST) == 0
    for place, ordinal, kind in ((3, 0, DEVICE), (0, 9, DEVICE), (0, 0, HOST), (0, 0, 0)):
        assert memory.access(place, ordinal, kind) == (INVALID_VALUE, UNTOUCHED)


def test_copies_and_fills_go_across_mappings(raw, memory):
    memory.map(2)
    assert memory.allow(0, 2 * SIZE) == 0
    assert raw.hipMemset(memory.at(0), 3, 2 * SIZE) == 0
    assert raw.hipMemset(memory.at(1) - 8, 4, 16) == 0
    host = np.zeros(2 * SIZE, np.uint8)
    assert raw.hipMemcpy(host, memory.at(0), 2 * SIZE, 2) == 0
    assert (host[: SIZE - 8] == 3).all()
    assert (host[SIZE - 8 : SIZE + 8] == 4).all()


def test_a_copy_beyond_what_is_mapped_or_without_access_faults(raw, memory, runtime):
    memory.map(1)
    host = np.zeros(2 * SIZE, np.uint8)
    assert raw.hipMemcpy(host, memory.at(0), 16, 2) == 700
    assert "where access was not given" in runtime.fault_report()
    assert memory.allow(0, SIZE) == 0
    assert raw.hipMemcpy(host, memory.at(0) + 8, SIZE, 2) == 700
    assert "8 of 65536 bytes past its end" in runtime.fault_report()
    assert raw.hipMemcpy(memory.at(3), host, 16, 1) == INVALID_VALUE


def test_mapping_takes_no_offset_and_no_flags(raw, memory):
    memory.map(1)
    handle = memory.handles[0]
    for address, size, offset, given, flags in (
        (0, SIZE, 0, handle, 0),
        (memory.at(2), 0, 0, handle, 0),
        (memory.at(2), SIZE, PAGE, handle, 0),
        (memory.at(2), SIZE, 0, 0, 0),
        (memory.at(2), SIZE, 0, handle, 1),
    ):
        assert raw.hipMemMap(address, size, offset, given, flags) == INVALID_VALUE
    assert raw.hipMemMap(memory.at(2), SIZE, 0, handle, 0) == 0
    assert raw.hipMemMap(memory.at(3), SIZE // 2, 0, handle, 0) == 0
    assert raw.hipMemUnmap(memory.at(3), SIZE // 2) == 0


def test_mapping_where_something_is_mapped_or_nothing_is_reserved_is_refused(raw, memory):
    memory.map(1)
    handle, other = memory.handles[0], raw.made("hipMalloc", SIZE)
    for address, size in ((memory.at(0), SIZE), (other, SIZE), (memory.at(1), 2 * SIZE), (memory.at(4), SIZE)):
        assert raw.hipMemMap(address, size, 0, handle, 0) == INVALID_VALUE
    assert raw.hipFree(other) == 0
    assert raw.hipFree(memory.at(0)) == INVALID_VALUE


def test_a_handle_is_found_by_any_address_of_its_mapping(raw, memory):
    memory.map(2, handle=DESCRIPTOR)
    for offset in (0, 8, SIZE):
        found = raw.made("hipMemRetainAllocationHandle", memory.address + offset)
        assert found == memory.handles[offset // SIZE]
        assert raw.hipMemRelease(found) == 0
    out = ctypes.c_size_t()
    assert raw.hipMemRetainAllocationHandle(0, memory.address) == INVALID_VALUE
    assert raw.hipMemRetainAllocationHandle(out, 0) == raw.hipMemRetainAllocationHandle(out, memory.at(3)) == 1
    reported = AllocationProperties()
    assert raw.hipMemGetAllocationPropertiesFromHandle(reported, memory.handles[0]) == 0
    assert bytes(reported) == bytes(properties(handle=DESCRIPTOR))
    assert raw.hipMemGetAllocationPropertiesFromHandle(0, memory.handles[0]) == INVALID_VALUE
    assert raw.hipMemGetAllocationPropertiesFromHandle(reported, 0) == INVALID_VALUE


def test_memory_lasts_as_long_as_it_is_mapped_and_unmapping_takes_whole_mappings(raw, memory):
    def used():
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        assert raw.hipMemGetInfo(free, total) == 0
        return total.value - free.value

    before = used()
    memory.map(2)
    assert memory.allow(0, 2 * SIZE) == 0
    assert raw.hipMemset(memory.at(0), 5, 2 * SIZE) == 0
    assert raw.hipMemRelease(memory.handles.pop(0)) == 0
    assert used() == before + 2 * SIZE
    host = np.zeros(16, np.uint8)
    assert raw.hipMemcpy(host, memory.at(0), 16, 2) == 0
    assert set(host) == {5}
    for place, size in ((0, SIZE // 2), (0, 3 * SIZE), (2, SIZE), (0, 0)):
        assert raw.hipMemUnmap(memory.at(place), size) == INVALID_VALUE
    assert raw.hipMemUnmap(memory.at(0), 2 * SIZE) == 0
    assert used() == before + SIZE
    assert raw.hipMemRelease(memory.handles.pop(0)) == 0
    assert used() == before


def test_a_range_is_freed_whole_and_empty(raw, memory):
    memory.map(1)
    assert raw.hipMemAddressFree(memory.address, 2 * SIZE) == UNKNOWN
    assert raw.hipMemAddressFree(memory.address, 4 * SIZE) == UNKNOWN
    assert raw.hipMemAddressFree(0, SIZE) == raw.hipMemAddressFree(memory.address, 0) == INVALID_VALUE
    assert raw.hipMemAddressFree(memory.at(1), SIZE) == INVALID_VALUE


def test_exported_memory_is_imported_as_the_version_has_it(raw, memory, profile):
    memory.map(1, handle=DESCRIPTOR)
    handle, descriptor, out = memory.handles[0], ctypes.c_int(-7), ctypes.c_size_t(UNTOUCHED)
    assert raw.hipMemExportToShareableHandle(descriptor, handle, DESCRIPTOR, 0) == 0
    by_value, by_pointer = descriptor.value, ctypes.addressof(descriptor)
    taken, refused = (by_value, by_pointer) if profile == "7.2" else (by_pointer, by_value)
    assert raw.hipMemImportFromShareableHandle(out, refused, DESCRIPTOR) == INVALID_VALUE
    assert raw.hipMemImportFromShareableHandle(out, taken, DESCRIPTOR) == 0
    assert raw.hipMemMap(memory.at(2), SIZE, 0, out.value, 0) == 0
    assert raw.hipMemRelease(out.value) == 0
    assert memory.allow(0, SIZE) == memory.allow(2, SIZE) == 0
    assert raw.hipMemset(memory.at(0), 9, 16) == 0
    host = np.zeros(16, np.uint8)
    assert raw.hipMemcpy(host, memory.at(2), 16, 2) == 0
    assert set(host) == {9}
    os.close(descriptor.value)
    for place, given, kind, flags in (
        (descriptor, handle, 2, 0),
        (descriptor, handle, DESCRIPTOR, 1),
        (0, handle, DESCRIPTOR, 0),
        (descriptor, 0, DESCRIPTOR, 0),
        (descriptor, handle, 0, 0),
    ):
        assert raw.hipMemExportToShareableHandle(place, given, kind, flags) == INVALID_VALUE
    assert raw.hipMemImportFromShareableHandle(0, taken, DESCRIPTOR) == INVALID_VALUE
    assert raw.hipMemImportFromShareableHandle(out, 0, DESCRIPTOR) == INVALID_VALUE
