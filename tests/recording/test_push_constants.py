"""The older call shape: push_constants and push_descriptor_set."""

import struct

import numpy as np
import pytest
from support.kernels import clang_kernels

from hipgraph_cb.errors import FailedPreconditionError, HipGraphError, InvalidArgumentError, OutOfRangeError
from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.commands import Range

TWO_AND_A_HALF = struct.unpack("<I", struct.pack("<f", 2.5))[0]


@pytest.fixture
def saxpy():
    return clang_kernels()["saxpy"]


def refused(call):
    with pytest.raises(HipGraphError) as caught:
        call()
    return str(caught.value)


def test_pushed_arguments_give_the_command_of_bindings_and_constants(x, y, saxpy):
    with CommandBuffer() as pushed:
        pushed.push_constants(0, [TWO_AND_A_HALF, 7])
        pushed.push_descriptor_set(0, [y, x])
        pushed.dispatch(saxpy, 1, 64)
    with CommandBuffer() as given:
        given.dispatch(saxpy, 1, 64, bindings=[y, x], constants=[TWO_AND_A_HALF, 7])
    assert pushed.recording == given.recording


def test_sets_follow_each_other_in_the_order_of_their_numbers(cb, x, y, saxpy):
    cb.push_descriptor_set(2, [x])
    cb.push_descriptor_set(1, {0: y.view(8, 8)})
    cb.push_constants(0, struct.pack("<fI", 1.0, 3))
    cb.dispatch(saxpy, 1, 64)
    cb.end()
    assert [place for _, place in cb.recording[0].pointers] == [Range(0, 8, 8), Range(1, 0, 4096)]
    assert cb.recording[0].kernarg[16:24] == struct.pack("<fI", 1.0, 3)


def test_explicit_arguments_do_not_look_at_what_was_pushed(cb, x, y, saxpy):
    cb.push_descriptor_set(0, [x, x, x])
    cb.push_constants(0, [1, 2])
    cb.dispatch(saxpy, 1, 64, args=[y, y, 1.0, 5])
    cb.end()
    assert len(cb.recording.resources.buffers) == 1
    assert cb.recording[0].kernarg[20:24] == struct.pack("<I", 5)


@pytest.mark.parametrize("given", [{"constants": [1, 2]}, {"bindings": []}, {"args": []}])
def test_explicit_arguments_are_never_mixed_with_what_was_pushed(cb, x, saxpy, given):
    cb.push_descriptor_set(0, [x, x])
    cb.push_constants(0, [1, 2])
    with pytest.raises(InvalidArgumentError):
        cb.dispatch(saxpy, 1, 64, **given)


def test_the_whole_area_can_be_set_and_not_a_byte_more(cb):
    cb.push_constants(0, np.zeros(64, np.uint32))
    cb.push_constants(252, [1])
    for offset, values in ((0, [0] * 65), (256, [1]), (252, [1, 2])):
        with pytest.raises(OutOfRangeError, match="reach past the end of their area"):
            cb.push_constants(offset, values)
    assert refused(lambda: cb.push_constants(256, [1])) == (
        "the constants reach past the end of their area\n"
        "  where: push_constants before command 0 in 'step'\n"
        "  found: offset 256 + 4 bytes = 260\n"
        "  allowed: offset + bytes <= 256"
    )


def test_an_offset_near_the_end_of_64_bits_does_not_wrap(cb):
    with pytest.raises(OutOfRangeError, match="reach past the end"):
        cb.push_constants((1 << 64) - 4, [1])


@pytest.mark.parametrize("offset", range(8))
def test_constants_are_bytes_of_which_the_rest_stays_as_it_was_pushed(cb, x, saxpy, offset):
    area = np.zeros(8, np.uint8)
    cb.push_descriptor_set(0, [x, x])
    cb.push_constants(0, area)
    for value, size in ((0x11, 8 - offset), (0x22, 1)):
        cb.push_constants(offset, bytes([value]) * size)
        area[offset : offset + size] = value
    cb.dispatch(saxpy, 1, 64)
    cb.end()
    assert cb.recording[0].kernarg[16:24] == area.tobytes()


@pytest.mark.parametrize("constants", [b"12345678", b"123", [1, b"2"], np.zeros(3, np.uint16)])
def test_the_constants_of_a_dispatch_are_whole_words(cb, x, saxpy, constants):
    with pytest.raises(InvalidArgumentError):
        cb.dispatch(saxpy, 1, 64, bindings=[x, x], constants=constants)


def test_words_stand_at_any_byte(cb, x, saxpy):
    cb.push_descriptor_set(0, [x, x])
    cb.push_constants(0, b"\xaa" * 8)
    cb.push_constants(3, [0x01020304])
    cb.dispatch(saxpy, 1, 64)
    cb.end()
    assert cb.recording[0].kernarg[16:24] == b"\xaa" * 3 + b"\4\3\2\1" + b"\xaa"


@pytest.mark.parametrize("values", [[1 << 32], [-(1 << 31) - 1], [1.5], ["1"], [True], "1234", 7, None])
def test_what_is_no_word_is_refused_and_changes_nothing(cb, x, saxpy, values):
    cb.push_constants(0, [TWO_AND_A_HALF, 9])
    with pytest.raises(HipGraphError):
        cb.push_constants(0, values)
    cb.push_descriptor_set(0, [x, x])
    cb.dispatch(saxpy, 1, 64)
    cb.end()
    assert cb.recording[0].kernarg[16:24] == struct.pack("<fI", 2.5, 9)


def test_negative_words_are_twos_complement(cb, x, saxpy):
    cb.push_constants(0, [0, -1])
    cb.push_descriptor_set(0, [x, x])
    cb.dispatch(saxpy, 1, 64)
    cb.end()
    assert cb.recording[0].kernarg[20:24] == b"\xff" * 4


@pytest.mark.parametrize("pushed", [4, 5, 7])
def test_a_byte_that_nobody_pushed_is_refused(cb, x, saxpy, pushed):
    cb.push_constants(0, bytes(pushed))
    cb.push_descriptor_set(0, [x, x])
    assert refused(lambda: cb.dispatch(saxpy, 1, 64)) == (
        "saxpy: a constant was never pushed\n"
        "  where: command 0 in 'step'\n"
        f"  found: nothing at byte {pushed}\n"
        "  allowed: 2 words, bytes 0 to 8\n"
        "  next: call push_constants for all of them, or pass args="
    )


@pytest.mark.parametrize("count", [0, 1, 3])
def test_another_number_of_bindings_than_the_kernel_has_pointers_is_refused(cb, x, saxpy, count):
    cb.push_constants(0, [0, 0])
    cb.push_descriptor_set(0, [x] * count)
    with pytest.raises(InvalidArgumentError, match="saxpy: bindings and constants do not fit the kernel"):
        cb.dispatch(saxpy, 1, 64)


def test_a_list_of_bindings_replaces_the_whole_set(cb, x, y, saxpy):
    cb.push_constants(0, [0, 0])
    cb.push_descriptor_set(0, [x, y])
    cb.dispatch(saxpy, 1, 64)
    cb.push_descriptor_set(0, [y])
    with pytest.raises(InvalidArgumentError, match="1 bindings"):
        cb.dispatch(saxpy, 1, 64)


@pytest.mark.parametrize("number", [4, 1 << 40, -1])
def test_there_are_four_sets(cb, x, number):
    with pytest.raises(OutOfRangeError):
        cb.push_descriptor_set(number, [x])
    cb.push_descriptor_set(3, [x])


def test_bindings_by_number_leave_the_others_as_they_were(cb, x, y, saxpy):
    cb.push_constants(0, [0, 0])
    cb.push_descriptor_set(0, [x, x])
    cb.push_descriptor_set(0, {1: y})
    cb.dispatch(saxpy, 1, 64)
    cb.push_descriptor_set(0, {0: y})
    cb.push_descriptor_set(0, {})
    cb.dispatch(saxpy, 1, 64)
    cb.end()
    first, second = ([place for _, place in command.pointers] for command in cb.recording)
    assert (first, second) == ([Range(0, 0, 4096), Range(1, 0, 4096)], [Range(1, 0, 4096)] * 2)


def test_a_set_with_a_gap_is_refused_by_the_dispatch_that_uses_it(cb, x, saxpy):
    cb.push_constants(0, [0, 0])
    cb.push_descriptor_set(1, {0: x, 2: x})
    assert refused(lambda: cb.dispatch(saxpy, 1, 64)) == (
        "saxpy: descriptor set 1 has a gap\n"
        "  where: command 0 in 'step'\n"
        "  found: bindings 0, 2\n"
        "  allowed: bindings 0 to 2; 1 was never pushed\n"
        "  next: call push_descriptor_set for it, or pass bindings="
    )
    cb.push_descriptor_set(1, [x, x])
    cb.dispatch(saxpy, 1, 64)


def test_a_set_has_no_strange_bindings(cb, x):
    for bindings in ({-1: x}, {"0": x}, {1 << 70: x}, 7, "xy"):
        with pytest.raises(HipGraphError):
            cb.push_descriptor_set(0, bindings)


def test_a_set_holds_sixteen_bindings(cb, x):
    cb.push_descriptor_set(0, [x] * 16)
    with pytest.raises(HipGraphError, match="descriptor set 0 is too large") as caught:
        cb.push_descriptor_set(0, [x] * 17)
    with pytest.raises(HipGraphError, match="descriptor set 0 is too large"):
        cb.push_descriptor_set(0, {16: x})
    assert caught.value.status == "RESOURCE_EXHAUSTED"


def test_what_is_no_memory_is_refused_by_the_dispatch_that_uses_it(cb, x, saxpy):
    cb.push_constants(0, [0, 0])
    cb.push_descriptor_set(0, [x, object()])
    with pytest.raises(InvalidArgumentError, match="a pointer argument is no device memory"):
        cb.dispatch(saxpy, 1, 64)


@pytest.mark.parametrize("state", ["INITIAL", "FINAL"])
def test_pushing_belongs_between_begin_and_end(x, state):
    cb = CommandBuffer()
    if state == "FINAL":
        cb.begin().end()
    with pytest.raises(FailedPreconditionError, match=f"^push_constants: the command buffer is in state {state}"):
        cb.push_constants(0, [1])
    with pytest.raises(FailedPreconditionError, match=f"^push_descriptor_set: the command buffer is in state {state}"):
        cb.push_descriptor_set(0, [x])
