"""Fills, updates and copies: what is recorded and what is refused."""

import array
from datetime import datetime

import numpy as np
import pytest
from support.fakes import FakeBuffer

from hipgraph_cb.errors import HipGraphError, InvalidArgumentError, OutOfRangeError
from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.commands import Copy, Fill, Range, SlotRange, Update
from hipgraph_cb.recording.resources import Slot


def only(cb):
    cb.end()
    (command,) = cb.recording
    return command


def refused(call):
    with pytest.raises(HipGraphError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(
    ("pattern", "length", "expected"),
    [
        (0x07, 1, "07"),
        (0xAB23, 2, "23ab"),
        (0xAB23CD45, 4, "45cd23ab"),
        (-1, 4, "ffffffff"),
        (-2, 1, "fe"),
        (0, 4, "00000000"),
        (b"\x01", 4, "01"),
        (bytearray(b"\x01\x02"), 2, "0102"),
        (memoryview(b"\x01\x02\x03\x04"), 4, "01020304"),
        (np.uint8(7), 4, "07"),
        (np.float16(1.0), 4, "003c"),
        (np.float32(1.0), 4, "0000803f"),
        (np.int32(-1), 4, "ffffffff"),
    ],
)
def test_a_pattern_is_an_int_bytes_or_a_numpy_scalar(cb, x, pattern, length, expected):
    cb.fill_buffer(x, pattern, pattern_length=length)
    assert only(cb) == Fill(Range(0, 0, 4096), bytes.fromhex(expected))


@pytest.mark.parametrize("pattern", [1.0, True, "ab", None, [1], np.bool_, 1j])
def test_a_pattern_without_fixed_bytes_is_refused(cb, x, pattern):
    with pytest.raises(InvalidArgumentError, match="the pattern has no fixed bytes"):
        cb.fill_buffer(x, pattern)


@pytest.mark.parametrize("length", [0, 3, 5, 7, 12, 32])
def test_a_pattern_of_another_length_is_refused(cb, x, length):
    for call in (
        lambda: cb.fill_buffer(x, 0, pattern_length=length, length=480),
        lambda: cb.fill_buffer(x, bytes(length), length=480),
    ):
        assert refused(call) == (
            "the pattern has the wrong length\n"
            "  where: command 0 in 'step'\n"
            f"  found: {length} bytes\n"
            "  allowed: 1, 2, 4, 8 or 16 bytes"
        )


def test_a_pattern_that_does_not_fit_is_refused_and_not_cut(cb, x):
    assert refused(lambda: cb.fill_buffer(x, 0x1FF, pattern_length=1)) == (
        "the pattern does not fit in 1 bytes\n  where: command 0 in 'step'\n  found: 511\n  allowed: -128 to 255"
    )


def test_a_pattern_length_that_contradicts_the_pattern_is_refused(cb, x):
    with pytest.raises(InvalidArgumentError, match="pattern_length contradicts the pattern"):
        cb.fill_buffer(x, b"\1\2", pattern_length=1)


@pytest.mark.parametrize(("offset", "length"), [(1, 4), (2, 4), (0, 6), (4, 1)])
def test_a_fill_is_made_of_whole_aligned_patterns(cb, x, offset, length):
    assert refused(lambda: cb.fill_buffer(x, 0, offset=offset, length=length)) == (
        "the fill is not made of whole, aligned patterns\n"
        "  where: command 0 in 'step'\n"
        f"  found: offset {offset}, length {length}, pattern of 4 bytes\n"
        "  allowed: offset and length multiples of 4\n"
        "  next: fill with a shorter pattern, or use update_buffer for the rest"
    )


def test_the_alignment_of_a_fill_counts_from_the_start_of_the_buffer(cb, x):
    with pytest.raises(InvalidArgumentError, match="whole, aligned patterns"):
        cb.fill_buffer(x.view(2, 8), 0)
    cb.fill_buffer(x.view(2, 8), 0, offset=2, length=4)
    assert only(cb).target == Range(0, 4, 4)


@pytest.mark.parametrize("dtype", ["<u1", "<u2", "<u4", "<i2", "<f4", "<f8", "<c16"])
def test_a_number_as_a_pattern_has_its_least_significant_byte_first(dtype):
    """As numpy lays it out, which says the order in so many words."""
    number = np.frombuffer(bytes(range(0xA1, 0xB1)), dtype)[0]
    size = number.dtype.itemsize
    given = [number]
    if number.dtype.kind in "ui":
        given.append(int(number))
    for pattern in given:
        with CommandBuffer() as cb:
            cb.fill_buffer(FakeBuffer(64), pattern, pattern_length=size, length=32)
        (command,) = cb.recording
        found = command.data if isinstance(command, Update) else command.pattern * (32 // size)
        assert found == number.tobytes() * (32 // size)


def test_patterns_offsets_and_lengths_give_the_bytes_of_a_numpy_oracle():
    """What a fill means: `pattern` repeated over the range. Whatever is not refused must be exactly that."""
    accepted = 0
    for size in (1, 2, 4):
        pattern = bytes(range(0xA1, 0xA1 + size))
        for offset in range(8):
            for length in range(34):
                cb = CommandBuffer().begin()
                target = FakeBuffer(64)
                if offset % size or length % size:
                    if length:
                        with pytest.raises(InvalidArgumentError):
                            cb.fill_buffer(target, pattern, offset=offset, length=length)
                    continue
                cb.fill_buffer(target, pattern, offset=offset, length=length)
                cb.end()
                memory = np.zeros(64, np.uint8)
                for command in cb.recording:
                    where, found = command.target, np.frombuffer(command.pattern, np.uint8)
                    memory[where.offset : where.offset + where.length] = np.tile(found, where.length // found.size)
                expected = np.zeros(64, np.uint8)
                expected[offset : offset + length] = np.resize(np.frombuffer(pattern, np.uint8), length)
                assert np.array_equal(memory, expected)
                accepted += 1
    assert accepted == 8 * 34 + 4 * 17 + 2 * 9


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"abcd", b"abcd"),
        (bytearray(b"abcd"), b"abcd"),
        (memoryview(b"abcdef")[::2], b"ace"),
        (array.array("H", [1, 2]), b"\1\0\2\0"),
        (np.arange(3, dtype=np.uint16), b"\0\0\1\0\2\0"),
        (np.arange(6, dtype=np.uint8)[::2], b"\0\2\4"),
        (np.arange(6, dtype=np.uint8).reshape(2, 3).T, bytes([0, 3, 1, 4, 2, 5])),
        (np.asfortranarray(np.arange(6, dtype=np.uint8).reshape(2, 3)), bytes(range(6))),
        (np.float32(1.0), bytes.fromhex("0000803f")),
        (np.array(7, np.uint32), b"\7\0\0\0"),
        (np.array(["1970-01-02"], "datetime64[D]"), b"\1\0\0\0\0\0\0\0"),
    ],
)
def test_an_update_takes_anything_with_bytes_in_c_order(cb, x, data, expected):
    cb.update_buffer(x, data, offset=8)
    assert only(cb) == Update(Range(0, 8, len(expected)), expected)


@pytest.mark.parametrize("data", [3, "text", [1, 2], None, np.array([object()]), datetime(2020, 1, 1)])
def test_an_update_without_host_data_is_refused(cb, x, data):
    with pytest.raises(InvalidArgumentError, match=r"data (is not host data|holds Python objects)"):
        cb.update_buffer(x, data)


def test_host_data_is_copied_at_the_call(cb, x):
    host = np.arange(4, dtype=np.uint8)
    cb.update_buffer(x, host)
    host[:] = 0xFF
    assert only(cb).data == b"\0\1\2\3"


def test_an_update_has_no_largest_size():
    big = FakeBuffer(1 << 20)
    with CommandBuffer() as cb:
        cb.update_buffer(big, bytes(1 << 20))
    assert cb.recording[0].target == Range(0, 0, 1 << 20)


@pytest.mark.parametrize(
    ("call", "found"),
    [
        (lambda cb, x, y: cb.fill_buffer(x, 0, offset=4000, length=200), "offset 4000 + length 200 = 4200"),
        (lambda cb, x, y: cb.fill_buffer(x, b"1", offset=4000, length=97), "offset 4000 + length 97 = 4097"),
        (lambda cb, x, y: cb.fill_buffer(x, 0, offset=4100), "offset 4100 + length 0 = 4100"),
        (lambda cb, x, y: cb.update_buffer(x, bytes(200), offset=4000), "offset 4000 + length 200 = 4200"),
        (lambda cb, x, y: cb.copy_buffer(x, y, source_offset=4000, length=200), "offset 4000 + length 200 = 4200"),
        (lambda cb, x, y: cb.copy_buffer(y, x, target_offset=4000, length=200), "offset 4000 + length 200 = 4200"),
        (
            lambda cb, x, y: cb.fill_buffer(x, 0, offset=(1 << 64) - 4, length=8),
            f"offset {(1 << 64) - 4} + length 8 = {(1 << 64) + 4}",
        ),
    ],
)
def test_a_range_outside_the_buffer_is_refused_with_its_sum(cb, x, y, call, found):
    assert refused(lambda: call(cb, x, y)) == (
        "the range reaches past the end of `x`\n"
        "  where: command 0 in 'step'\n"
        f"  found: {found}\n"
        "  allowed: offset + length <= 4096, the size of `x`"
    )


def test_a_range_outside_its_view_is_refused_though_the_buffer_has_room(cb, x):
    assert refused(lambda: cb.update_buffer(x.view(16, 32), bytes(33))) == (
        "the range reaches past the end of `x`[16:48]\n"
        "  where: command 0 in 'step'\n"
        "  found: offset 0 + length 33 = 33\n"
        "  allowed: offset + length <= 32, the size of `x`[16:48]"
    )


def test_a_view_that_reaches_beyond_its_buffer_is_refused(cb, x):
    with pytest.raises(OutOfRangeError, match="reaches past the end of `x`"):
        cb.fill_buffer(x.view(4000, 200), 0)


def test_offsets_beyond_four_gib_stay_whole():
    huge, other = FakeBuffer(1 << 40), FakeBuffer(1 << 40)
    with CommandBuffer() as cb:
        cb.copy_buffer(huge, other, source_offset=(1 << 32) + 8, target_offset=(1 << 33) + 4, length=(1 << 34) + 1)
    assert cb.recording[0] == Copy(Range(0, (1 << 32) + 8, (1 << 34) + 1), Range(1, (1 << 33) + 4, (1 << 34) + 1))


@pytest.mark.parametrize("value", [-1, -(1 << 70), 1 << 64])
@pytest.mark.parametrize("name", ["offset", "length"])
def test_numbers_outside_64_bits_are_refused(cb, x, name, value):
    with pytest.raises(OutOfRangeError, match=f"{name} is out of range"):
        cb.fill_buffer(x, 0, **{name: value})


@pytest.mark.parametrize("value", [1.0, "4", True, b"4", [4]])
@pytest.mark.parametrize("name", ["offset", "length"])
def test_numbers_that_are_no_ints_are_refused(cb, x, name, value):
    with pytest.raises(InvalidArgumentError, match=f"{name} is not a whole number"):
        cb.fill_buffer(x, 0, **{name: value})


def test_numpy_integers_are_numbers(cb, x):
    cb.fill_buffer(x, 0, offset=np.int64(4), length=np.uint8(8))
    assert only(cb).target == Range(0, 4, 8)
    assert type(cb.recording[0].target.offset) is int


@pytest.mark.parametrize("target", [None, 0, 0x7F00_0000_0000, "x", np.zeros(4), b"1234"])
def test_what_is_no_device_memory_is_refused(cb, x, target):
    for call in (
        lambda: cb.fill_buffer(target, 0),
        lambda: cb.update_buffer(target, b""),
        lambda: cb.copy_buffer(x, target, length=0),
        lambda: cb.copy_buffer(target, x, length=0),
    ):
        with pytest.raises(InvalidArgumentError, match="is no device memory"):
            call()


@pytest.mark.parametrize(
    "call",
    [
        lambda cb, x, y: cb.fill_buffer(x, 0, length=0),
        lambda cb, x, y: cb.fill_buffer(x, 0, offset=4096),
        lambda cb, x, y: cb.fill_buffer(x, 0, offset=9999, length=0),
        lambda cb, x, y: cb.update_buffer(x, b""),
        lambda cb, x, y: cb.update_buffer(x, np.zeros(0, np.float32), offset=9999),
        lambda cb, x, y: cb.copy_buffer(x, y, length=0),
        lambda cb, x, y: cb.copy_buffer(x, x, length=0),
        lambda cb, x, y: cb.copy_buffer(x, y, source_offset=9999, length=0),
        lambda cb, x, y: cb.copy_buffer(x.view(0, 0), y.view(5, 0)),
        lambda cb, x, y: cb.fill_buffer(Slot(0, 4, 0), 0),
        lambda cb, x, y: cb.copy_buffer(Slot(0), Slot(1), length=0),
    ],
)
def test_a_transfer_of_no_bytes_records_nothing_and_holds_nothing(cb, x, y, call):
    call(cb, x, y)
    cb.end()
    assert len(cb.recording) == 0
    assert not cb.recording.resources.buffers


def test_copies_take_whole_ranges_of_one_length(cb, x, y):
    cb.copy_buffer(x, y)
    assert only(cb) == Copy(Range(0, 0, 4096), Range(1, 0, 4096))


@pytest.mark.parametrize("length", [8, 0])
def test_copies_between_ranges_of_different_length_are_refused(cb, x, y, length):
    assert refused(lambda: cb.copy_buffer(x.view(0, 16), y.view(0, length))) == (
        "source and target of the copy have different lengths\n"
        "  where: command 0 in 'step'\n"
        f"  found: source 16 bytes, target {length} bytes\n"
        "  next: pass length="
    )


@pytest.mark.parametrize(
    ("source", "target", "length", "overlap"),
    [(0, 0, 8, True), (0, 7, 8, True), (7, 0, 8, True), (0, 8, 8, False), (8, 0, 8, False)],
)
def test_copies_within_one_buffer_must_not_overlap(cb, x, source, target, length, overlap):
    def call():
        cb.copy_buffer(x.view(100, 50), x.view(100, 50), source_offset=source, target_offset=target, length=length)

    if not overlap:
        call()
        assert only(cb) == Copy(Range(0, 100 + source, length), Range(0, 100 + target, length))
        return
    assert refused(call) == (
        "source and target of the copy overlap\n"
        "  where: command 0 in 'step'\n"
        f"  found: bytes {100 + source} to {108 + source} and {100 + target} to {108 + target} of `x`\n"
        "  next: copy through a scratch buffer"
    )


def test_the_whole_buffer_overlaps_its_own_view(cb, x):
    with pytest.raises(InvalidArgumentError, match="overlap"):
        cb.copy_buffer(x, x.view(4000, 96), length=96, source_offset=3990)


def test_copies_within_one_slot_must_not_overlap_where_both_lengths_are_known(cb):
    with pytest.raises(InvalidArgumentError) as caught:
        cb.copy_buffer(Slot(2, 0, 16), Slot(2, 8, 16))
    assert str(caught.value) == (
        "source and target of the copy overlap\n"
        "  where: command 0 in 'step'\n"
        "  found: bytes 0 to 16 and 8 to 24 of slot 2\n"
        "  next: copy through a scratch buffer"
    )
    cb.copy_buffer(Slot(2, 0, 16), Slot(2, 16, 16))
    cb.copy_buffer(Slot(2, 0, 16), Slot(1, 8, 16))


def test_slots_stand_where_buffers_stand(cb, x):
    cb.fill_buffer(Slot(0, 4, 8), 0)
    cb.update_buffer(Slot(1, 4), b"abcd", offset=2)
    cb.copy_buffer(Slot(2, 8), x.view(0, 16))
    cb.copy_buffer(Slot(2), Slot(3, 4), source_offset=1, target_offset=2)
    cb.end()
    assert list(cb.recording) == [
        Fill(SlotRange(0, 4, 8), bytes(4)),
        Update(SlotRange(1, 6, 4), b"abcd"),
        Copy(SlotRange(2, 8, 16), Range(0, 0, 16)),
        Copy(SlotRange(2, 1, None), SlotRange(3, 6, None)),
    ]


def test_a_slot_beyond_the_binding_table_is_refused(cb):
    assert refused(lambda: cb.fill_buffer(Slot(4), 0)) == (
        "slot 4 is outside the binding table\n"
        "  where: command 0 in 'step'\n"
        "  found: slot 4\n"
        "  allowed: slots below binding_capacity=4\n"
        "  next: make the command buffer with binding_capacity=5 or more"
    )


def test_a_range_beyond_its_slot_is_refused(cb):
    assert refused(lambda: cb.update_buffer(Slot(1, 4, 8), bytes(9))) == (
        "the range reaches past the end of the range of slot 1\n"
        "  where: command 0 in 'step'\n"
        "  found: offset 0 + length 9 = 9\n"
        "  allowed: offset + length <= 8, the size of the range of slot 1"
    )


@pytest.mark.parametrize("values", [(-1,), (0, -1), (0, 0, -1)])
def test_a_slot_has_no_negative_numbers(values):
    with pytest.raises(OutOfRangeError, match=r"slot (index|offset|length) is out of range"):
        Slot(*values)


@pytest.mark.parametrize("label", [1, b"x", object()])
def test_a_label_is_a_text(cb, x, label):
    with pytest.raises(InvalidArgumentError, match="label is not a text"):
        cb.fill_buffer(x, 0, label=label)


def test_without_validation_ranges_are_taken_on_trust_but_not_types(x, y):
    cb = CommandBuffer(validate=False, binding_capacity=1).begin()
    cb.fill_buffer(x, 0, offset=4000, length=202)
    cb.copy_buffer(x, x, length=8)
    with pytest.raises(InvalidArgumentError):
        cb.fill_buffer(None, 0)
    with pytest.raises(OutOfRangeError):
        cb.fill_buffer(Slot(1), 0)
    cb.end()
    assert list(cb.recording) == [Fill(Range(0, 4000, 202), bytes(4)), Copy(Range(0, 0, 8), Range(0, 0, 8))]
