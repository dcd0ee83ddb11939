"""The blocks we write are what hip-python's own accessors read back: the layout of the C structs."""

import ctypes

import numpy as np
import pytest

from hipgraph_cb.errors import OutOfRangeError
from hipgraph_cb.hip.node_parameters import (
    KernelLaunch,
    kernel_block,
    kernel_images,
    memset_block,
    memset_images,
)


def dimensions(*rows):
    return np.array(rows, np.uint32)


def kernels(function, counts, sizes, lds, tables=0):
    return kernel_images(function, dimensions(*counts), dimensions(*sizes), np.array(lds, np.uint64), tables)


def memsets(target, value, length, element):
    words = (np.array([each], np.uint64) for each in (target, value, length))
    return memset_images(*words, element)


def test_a_kernel_block_has_the_fields_where_the_c_struct_has_them():
    block = kernel_block()
    tables = np.array([0x7FFF_0000_1000], np.uint64)
    (block.image.raw,) = kernels(0x1234_5678_9ABC, [(5, 6, 7)], [(64, 2, 3)], [512], tables)
    native = block.native
    assert native.c_sizeof() == len(block.image)
    assert int(native.func) == 0x1234_5678_9ABC
    assert (native.gridDim.x, native.gridDim.y, native.gridDim.z) == (5, 6, 7)
    assert (native.blockDim.x, native.blockDim.y, native.blockDim.z) == (64, 2, 3)
    assert native.sharedMemBytes == 512
    assert not native.extra
    assert table_address(native) == 0x7FFF_0000_1000


def test_each_image_is_whole_so_that_nothing_of_the_node_before_shows_through():
    block = kernel_block()
    for image, count in zip(kernels(1, [(1, 1, 1), (9, 8, 7)], [(4, 1, 1)] * 2, [64, 0]), (1, 9), strict=True):
        block.image.raw = image
        assert block.native.gridDim.x == count
    assert block.native.sharedMemBytes == 0


def test_more_lds_than_the_field_holds_is_refused():
    with pytest.raises(OutOfRangeError) as raised:
        kernels(1, [(1, 1, 1)], [(1, 1, 1)], [1 << 32])
    assert str(raised.value) == "dynamic_lds is out of range\n  found: 4294967296\n  allowed: 0 to 4294967295"


def test_a_memset_block_counts_elements_and_is_one_row():
    block = memset_block()
    (block.image.raw,) = memsets(0x2000, 0xAB23CD45, 64, 4)
    native = block.native
    assert native.c_sizeof() == len(block.image)
    assert int(native.dst) == 0x2000
    assert (native.elementSize, native.width, native.height) == (4, 16, 1)
    assert native.value == 0xAB23CD45


def test_a_memset_of_one_byte_elements_counts_bytes():
    block = memset_block()
    (block.image.raw,) = memsets(0x2001, 7, 5, 1)
    assert (block.native.elementSize, block.native.width, block.native.value) == (1, 5, 7)


def test_the_pointer_table_of_a_launch_leads_to_each_argument():
    launch = KernelLaunch(1, [0, 8, 24], 28)
    launch.values.raw = (0x1000).to_bytes(8, "little") + (0xFFFF_0000_0000).to_bytes(16, "little") + b"\xee\xff\xc0\0"
    table = (ctypes.c_void_p * 3).from_address(launch.table)
    read = [int.from_bytes(ctypes.string_at(at, size), "little") for at, size in zip(table, (8, 8, 4), strict=True)]
    assert read == [0x1000, 0xFFFF_0000_0000, 0xC0FFEE]


def test_a_kernel_without_arguments_gets_no_table():
    assert KernelLaunch(1, [], 0).table == 0


def table_address(native):
    """The kernelParams field, at the offset that the C struct has it."""
    return ctypes.c_uint64.from_address(int(native) + 48).value
