"""Memory that was mapped piece by piece into a reserved range, as PyTorch's expandable segments are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from support.hip_callers import RawLibrary

from hipgraph_cb.abi.hip.structures import AllocationProperties, MemoryAccess

PIECE = 4096


@contextmanager
def mapped_pieces(reserved: int, mapped: int) -> Iterator[int]:
    """The address of a range of pieces, of which the first ones are mapped, each with memory of its own."""
    raw, properties, access = RawLibrary(), AllocationProperties(type=1), MemoryAccess(flags=3)
    properties.location.type = access.location.type = 1
    address = raw.made("hipMemAddressReserve", reserved * PIECE, 0, 0, 0)
    handles = [raw.made("hipMemCreate", PIECE, properties, 0) for _ in range(mapped)]
    for place, handle in enumerate(handles):
        assert raw.hipMemMap(address + place * PIECE, PIECE, 0, handle, 0) == 0
    assert raw.hipMemSetAccess(address, mapped * PIECE, access, 1) == 0
    yield address
    assert raw.hipDeviceSynchronize() == raw.hipMemUnmap(address, mapped * PIECE) == 0
    assert raw.hipMemAddressFree(address, reserved * PIECE) == 0
    assert [raw.hipMemRelease(handle) for handle in handles] == [0] * mapped
