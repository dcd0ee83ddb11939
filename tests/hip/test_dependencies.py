"""Dependencies reach HIP as an array of handles."""

import ctypes

from hipgraph_cb.hip.dependencies import DependencyArray


def read(pointer, count):
    return list((ctypes.c_uint64 * count).from_address(int(pointer)))


def test_the_array_holds_the_handles_in_order():
    assert read(DependencyArray().write([0x30, 0x7FFF_0000_1000]), 2) == [0x30, 0x7FFF_0000_1000]


def test_the_array_grows_for_a_wide_layer():
    handles = [0x1000 + node for node in range(5000)]
    assert read(DependencyArray().write(handles), 5000) == handles


def test_each_layer_writes_its_own_dependencies():
    array = DependencyArray()
    array.write([0x10, 0x20])
    assert read(array.write([0x30]), 2) == [0x30, 0x20]


def test_one_handle_may_be_put_in_place_alone():
    array = DependencyArray()
    array.first.value = 0x7FFF_0000_3000
    assert read(array.pointer, 1) == [0x7FFF_0000_3000]
    assert read(array.write([0x10] * 40), 40) == [0x10] * 40
    array.first.value = 0x20
    assert read(array.pointer, 2) == [0x20, 0x10]
