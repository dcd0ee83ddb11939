"""The blocks we write are what hip-python's own accessors read back: the layout of the C structs."""

import ctypes

import pytest

from hipgraph_cb.hip.node_parameters import (
    KERNEL_NODE,
    MEMSET_NODE,
    KernelParameters,
    MemsetParameters,
)
from hipgraph_cb.recording.commands import Dispatch


def test_a_kernel_block_has_the_fields_where_the_c_struct_has_them():
    kernel = KernelParameters(0x1234_5678_9ABC, [0, 8, 16], 20)
    (native,) = kernel.write(dispatch(bytes(20), (5, 6, 7), (64, 2, 3), 512), [])
    assert native.c_sizeof() == KERNEL_NODE.size
    assert int(native.func) == 0x1234_5678_9ABC
    assert (native.gridDim.x, native.gridDim.y, native.gridDim.z) == (5, 6, 7)
    assert (native.blockDim.x, native.blockDim.y, native.blockDim.z) == (64, 2, 3)
    assert native.sharedMemBytes == 512
    assert not native.extra


def test_the_pointer_table_leads_to_each_argument_at_its_metadata_offset():
    kernel = KernelParameters(1, [0, 8, 24], 28)
    scalar = (0xC0FFEE).to_bytes(4, "little")
    (native,) = kernel.write(dispatch(bytes(24) + scalar), [(0, 0x1000), (8, 0xFFFF_0000_0000)])
    table = (ctypes.c_void_p * 3).from_address(table_address(native))
    assert ctypes.c_uint64.from_address(table[0]).value == 0x1000
    assert ctypes.c_uint64.from_address(table[1]).value == 0xFFFF_0000_0000
    assert ctypes.string_at(table[2], 4) == scalar
    assert table[2] - table[0] == 24


def test_a_pointer_that_is_null_this_time_does_not_keep_the_address_of_the_last_dispatch():
    kernel = KernelParameters(1, [0], 8)
    kernel.write(dispatch(bytes(8)), [(0, 0x1000)])
    (native,) = kernel.write(dispatch(bytes(8)), [])
    table = (ctypes.c_void_p * 1).from_address(table_address(native))
    assert ctypes.c_uint64.from_address(table[0]).value == 0


@pytest.mark.parametrize("offsets", [[0, 16], [4, 18], [0, 8], [8, 0]])
def test_pointers_of_ranges_lie_at_their_offsets(offsets):
    kernel = KernelParameters(1, offsets, 32)
    kernel.write(dispatch(b"\xff" * 32), [(offsets[0], 0x1010), (offsets[1], 0x7FFF_0000_2010)])
    table = (ctypes.c_void_p * 2).from_address(table_address(kernel.native))
    found = [int.from_bytes(ctypes.string_at(address, 8), "little") for address in table]
    assert found == [0x1010, 0x7FFF_0000_2010]
    assert table[1] - table[0] == offsets[1] - offsets[0]


def test_a_shape_is_written_again_when_it_changes_back():
    kernel = KernelParameters(1, [], 0)
    for count in ((1, 1, 1), (9, 1, 1), (1, 1, 1)):
        (native,) = kernel.write(dispatch(b"", count), [])
        assert native.gridDim.x == count[0]


def test_a_kernel_without_arguments_gets_no_table():
    (native,) = KernelParameters(1, [], 0).write(dispatch(b""), [])
    assert table_address(native) == 0


def test_a_memset_block_counts_elements_and_is_one_row():
    (native,) = MemsetParameters().write(0x2000, b"\x45\xcd\x23\xab", 64)
    assert native.c_sizeof() == MEMSET_NODE.size
    assert int(native.dst) == 0x2000
    assert (native.elementSize, native.width, native.height) == (4, 16, 1)
    assert native.value == 0xAB23CD45


def test_a_memset_of_one_byte_elements_counts_bytes():
    (native,) = MemsetParameters().write(0x2001, b"\x07", 5)
    assert (native.elementSize, native.width, native.value) == (1, 5, 7)


def dispatch(kernarg, count=(1, 1, 1), size=(1, 1, 1), dynamic_lds=0):
    return Dispatch(0, "kernel", count, size, dynamic_lds, kernarg, ())


def table_address(native):
    """The kernelParams field, at the offset that the C struct has it."""
    return ctypes.c_uint64.from_address(int(native) + 48).value
