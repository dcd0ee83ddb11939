"""Tensors in memory that an allocator mapped piece by piece, as PyTorch's expandable segments are."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from support.hip_callers import RawLibrary

from hipgraph_cb.abi.hip.structures import AllocationProperties, MemoryAccess
from hipgraph_cb.errors import InvalidArgumentError, OutOfRangeError
from hipgraph_cb.hip import buffer

PIECE = 4096


@pytest.fixture
def pieces(device):
    """The address of three pieces, of which two are mapped one behind the other."""
    raw, properties, access = RawLibrary(), AllocationProperties(type=1), MemoryAccess(flags=3)
    properties.location.type = access.location.type = 1
    address = raw.made("hipMemAddressReserve", 3 * PIECE, 0, 0, 0)
    handles = [raw.made("hipMemCreate", PIECE, properties, 0) for _ in range(2)]
    for place, handle in enumerate(handles):
        assert raw.hipMemMap(address + place * PIECE, PIECE, 0, handle, 0) == 0
    assert raw.hipMemSetAccess(address, 2 * PIECE, access, 1) == 0
    yield address
    device.synchronize()
    assert raw.hipMemUnmap(address, 2 * PIECE) == raw.hipMemAddressFree(address, 3 * PIECE) == 0
    assert [raw.hipMemRelease(handle) for handle in handles] == [0, 0]


def test_memory_across_mappings_is_one_buffer(device, pieces):
    tensor = device.import_buffer(pieces + 64, size=2 * PIECE - 64)
    with device.command_buffer() as cb:
        cb.fill_buffer(tensor, 0x01020304)
    cb.replay()
    assert set(tensor.to_host(np.uint32)) == {0x01020304}
    assert ctypes.string_at(pieces + 2 * PIECE - 4, 4) == b"\4\3\2\1"


def test_memory_ends_where_nothing_is_mapped(refused, pieces):
    assert refused(pieces + 64, size=2 * PIECE, kind=OutOfRangeError) == (
        "import_buffer: the memory reaches past the end of its allocation\n"
        f"  where: the memory at {pieces + 64:#x}\n  found: 8192 bytes\n  allowed: 8128 bytes"
    )
    assert refused(pieces + 2 * PIECE, size=64, kind=InvalidArgumentError) == (
        "import_buffer: HIP knows of no memory there\n"
        f"  where: the memory at {pieces + 2 * PIECE:#x}\n  found: address {pieces + 2 * PIECE:#x}"
    )


def test_allocations_side_by_side_are_not_one_buffer(device, refused, monkeypatch):
    first = device.allocate(PIECE)
    end = first.address + PIECE
    monkeypatch.setattr(buffer, "_allocation", lambda device, at: (first.address if at < end else end, PIECE))
    refused(first.address, size=PIECE + 4, kind=OutOfRangeError)
