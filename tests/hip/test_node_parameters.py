"""The blocks we write are what hip-python's own accessors read back: the layout of the C structs."""

import ctypes

import pytest

from hipgraph_cb.hip.node_parameters import (
    KERNEL_NODE,
    MEMSET_NODE,
    KernelParameters,
    MemsetParameters,
)


def test_a_kernel_block_has_the_fields_where_the_c_struct_has_them():
    kernel = KernelParameters(0x1234_5678_9ABC, [(0, True), (8, True), (16, False)], 20)
    kernel.write_shape(((5, 6, 7), (64, 2, 3), 512))
    native = kernel.native
    assert native.c_sizeof() == KERNEL_NODE.size
    assert int(native.func) == 0x1234_5678_9ABC
    assert (native.gridDim.x, native.gridDim.y, native.gridDim.z) == (5, 6, 7)
    assert (native.blockDim.x, native.blockDim.y, native.blockDim.z) == (64, 2, 3)
    assert native.sharedMemBytes == 512
    assert not native.extra


def test_the_pointer_table_leads_to_each_argument():
    kernel = KernelParameters(1, [(0, True), (8, True), (24, False)], 28)
    scalar = (0xC0FFEE).to_bytes(4, "little")
    write(kernel, bytes(24) + scalar, [(0, 0x1000), (8, 0xFFFF_0000_0000)])
    assert arguments(kernel, 8, 8, 4) == [0x1000, 0xFFFF_0000_0000, 0xC0FFEE]


def test_a_pointer_that_is_null_this_time_does_not_keep_the_address_of_the_last_dispatch():
    kernel = KernelParameters(1, [(0, True)], 8)
    write(kernel, bytes(8), [(0, 0x1000)])
    write(kernel, bytes(8), [])
    assert arguments(kernel, 8) == [0]


@pytest.mark.parametrize("offsets", [[0, 16], [4, 18], [0, 8], [8, 0]])
def test_pointers_keep_their_order_and_leave_the_values_beside_them_alone(offsets):
    kernel = KernelParameters(1, [(offsets[0], True), (28, False), (offsets[1], True)], 32)
    write(kernel, bytes(28) + b"\xff" * 4, [(offsets[0], 0x1010), (offsets[1], 0x7FFF_0000_2010)])
    assert arguments(kernel, 8, 4, 8) == [0x1010, 0xFFFF_FFFF, 0x7FFF_0000_2010]


def test_a_shape_is_written_again_when_it_changes_back():
    kernel = KernelParameters(1, [], 0)
    for count in ((1, 1, 1), (9, 1, 1), (1, 1, 1)):
        kernel.write_shape((count, (1, 1, 1), 0))
        assert kernel.native.gridDim.x == count[0]


def test_a_kernel_without_arguments_gets_no_table():
    kernel = KernelParameters(1, [], 0)
    write(kernel, b"", [])
    assert table_address(kernel.native) == kernel.table == 0


def test_a_memset_block_counts_elements_and_is_one_row():
    (native,) = MemsetParameters().write(0x2000, b"\x45\xcd\x23\xab", 64)
    assert native.c_sizeof() == MEMSET_NODE.size
    assert int(native.dst) == 0x2000
    assert (native.elementSize, native.width, native.height) == (4, 16, 1)
    assert native.value == 0xAB23CD45


def test_a_memset_of_one_byte_elements_counts_bytes():
    (native,) = MemsetParameters().write(0x2001, b"\x07", 5)
    assert (native.elementSize, native.width, native.value) == (1, 5, 7)


def write(kernel, kernarg, pointers):
    kernel.write_shape(((1, 1, 1), (1, 1, 1), 0))
    kernel.values.raw = kernarg
    kernel.addresses.raw = kernel.address_block(pointers)


def arguments(kernel, *sizes):
    """What HIP reads through the pointer table: arguments of so many bytes."""
    table = (ctypes.c_void_p * len(sizes)).from_address(table_address(kernel.native))
    return [
        int.from_bytes(ctypes.string_at(address, size), "little") for address, size in zip(table, sizes, strict=True)
    ]


def table_address(native):
    """The kernelParams field, at the offset that the C struct has it."""
    return ctypes.c_uint64.from_address(int(native) + 48).value
