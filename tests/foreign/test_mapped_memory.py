"""Tensors in memory that an allocator mapped piece by piece."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from support.mapped_memory import PIECE, mapped_pieces

from hipgraph_cb.errors import InvalidArgumentError, OutOfRangeError
from hipgraph_cb.hip import buffer


@pytest.fixture
def pieces(device):
    """The address of three pieces, of which two are mapped one behind the other."""
    with mapped_pieces(3, 2) as address:
        yield address


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
