"""Dependencies reach HIP as an array of handles."""

import ctypes

from hipgraph_cb.hip.dependencies import DependencyArray


def read(pointer, count):
    return list((ctypes.c_uint64 * count).from_address(int(pointer)))


def test_the_array_holds_the_handles_of_the_nodes_in_order():
    assert read(DependencyArray().write((2, 0), [0x10, 0x20, 0x30]), 2) == [0x30, 0x10]


def test_the_array_grows_for_a_wide_layer():
    handles = [0x1000 + node for node in range(5000)]
    assert read(DependencyArray().write(tuple(range(5000)), handles), 5000) == handles


def test_commands_of_one_layer_share_what_was_written():
    array, shared = DependencyArray(), (0, 1)
    array.write(shared, [0x10, 0x20])
    assert read(array.write(shared, []), 2) == [0x10, 0x20]


def test_an_equal_but_different_tuple_is_written_again():
    array, first, second = DependencyArray(), (0, 1), tuple(range(2))
    assert first is not second
    array.write(first, [0x10, 0x10])
    assert read(array.write(second, [0x20, 0x30]), 2) == [0x20, 0x30]
