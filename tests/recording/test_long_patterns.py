"""Fills with patterns of 8 and 16 bytes, which no memset node takes."""

import numpy as np
import pytest
from support.fakes import FakeBuffer

from hipgraph_cb.errors import HipGraphError, InvalidArgumentError
from hipgraph_cb.recording.commands import Fill, Range, SlotRange, Update
from hipgraph_cb.recording.resources import Slot
from hipgraph_cb.recording.transfers import LARGEST_LONG_FILL


def only(cb):
    cb.end()
    (command,) = cb.recording
    return command


@pytest.mark.parametrize(
    ("pattern", "length"),
    [
        (0x0102030405060708, 8),
        (0x0F0E0D0C0B0A09080706050403020100, 16),
        (-2, 8),
        (np.float64(1.5), 4),
        (np.complex128(1 + 2j), 4),
        (bytes(range(16)), 4),
        (bytes(range(8)) * 2, 16),
    ],
)
def test_a_long_pattern_gives_the_bytes_of_a_numpy_oracle(cb, x, pattern, length):
    if isinstance(pattern, int):
        raw = np.frombuffer(pattern.to_bytes(length, "little", signed=pattern < 0), np.uint8)
    else:
        raw = np.frombuffer(bytes(memoryview(pattern)), np.uint8)
    cb.fill_buffer(x, pattern, pattern_length=length, offset=16, length=96, label="long")
    command = only(cb)
    assert isinstance(command, Update)
    assert (command.target, command.label) == (Range(0, 16, 96), "long")
    assert np.array_equal(np.frombuffer(command.data, np.uint8), np.resize(raw, 96))


@pytest.mark.parametrize(
    ("pattern", "short"),
    [
        (0, "00"),
        (0x0101010101010101, "01"),
        (0x0201020102010201, "0102"),
        (0x0403020104030201, "01020304"),
    ],
)
@pytest.mark.parametrize("length", [8, 16])
def test_a_long_pattern_that_repeats_a_short_one_is_a_fill_with_it(cb, x, pattern, short, length):
    cb.fill_buffer(x, pattern | pattern << 64 * (length == 16), pattern_length=length)
    assert only(cb) == Fill(Range(0, 0, 4096), bytes.fromhex(short))


@pytest.mark.parametrize(("offset", "length"), [(4, 8), (0, 12), (8, 20)])
def test_a_long_pattern_is_aligned_to_its_own_length(cb, x, offset, length):
    with pytest.raises(InvalidArgumentError, match="whole, aligned patterns"):
        cb.fill_buffer(x, 0, pattern_length=8, offset=offset, length=length)


def test_a_long_pattern_fills_a_slot_whose_length_is_known(cb):
    cb.fill_buffer(Slot(1, 8, 16), bytes(range(8)))
    assert only(cb) == Update(SlotRange(1, 8, 16), bytes(range(8)) * 2)


def refused(call):
    with pytest.raises(HipGraphError) as caught:
        call()
    return str(caught.value)


def test_a_long_pattern_cannot_fill_an_open_slot(cb):
    assert refused(lambda: cb.fill_buffer(Slot(1), bytes(range(8)))) == (
        "a long pattern cannot fill a slot to its end\n"
        "  where: command 0 in 'step'\n"
        "  found: a pattern of 8 bytes and no length\n"
        "  next: pass length=, or give the slot a length"
    )


def test_too_much_data_for_a_long_pattern_is_refused(cb):
    big = FakeBuffer(LARGEST_LONG_FILL + 8)
    assert refused(lambda: cb.fill_buffer(big, bytes(range(8)))) == (
        "a fill with a long pattern is kept as host data, and this is too much of it\n"
        "  where: command 0 in 'step'\n"
        "  found: 67108872 bytes with a pattern of 8\n"
        "  allowed: 67108864 bytes\n"
        "  next: fill with a kernel, or in parts that are copied"
    )
    cb.fill_buffer(big, 0, pattern_length=8)
    assert only(cb).target.length == LARGEST_LONG_FILL + 8
