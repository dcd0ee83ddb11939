"""Fills write the pattern, least significant byte first, over exactly the bytes they name."""

import numpy as np
import pytest

# name, buffer size, offset, length, pattern length, pattern
ROWS = [
    ("one byte", 1, 0, 1, 1, 0x07),
    ("a whole odd buffer", 5, 0, 5, 1, 0x07),
    ("the first byte", 16, 0, 1, 1, 0x07),
    ("the first three bytes", 16, 0, 3, 1, 0x07),
    ("the first half", 16, 0, 8, 1, 0x07),
    ("the middle", 16, 2, 8, 1, 0x07),
    ("one half-word", 2, 0, 2, 2, 0xAB23),
    ("half of the half-words", 16, 0, 8, 2, 0xAB23),
    ("an odd number of half-words", 16, 0, 10, 2, 0xAB23),
    ("half-words in the middle", 16, 2, 8, 2, 0xAB23),
    ("one word", 4, 0, 4, 4, 0xAB23CD45),
    ("the last word", 20, 16, 4, 4, 0xAB23CD45),
    ("half of the words", 16, 0, 8, 4, 0xAB23CD45),
    ("the last half", 16, 8, 8, 4, 0xAB23CD45),
]
CLASSES = {
    1: [(0, 4, 0xA5), (3, 31, 0x5A), (17, 32, 0xC3), (1, 33, 0x3C), (16, 64, 0xD7), (7, 1024, 0x19), (31, 65536, 0xE1)],
    2: [(0, 4, 0xBEEF), (2, 30, 0xCAFE), (6, 32, 0x1234), (18, 34, 0xA1B2), (4, 1024, 0x0F0E), (14, 65536, 0x55AA)],
    4: [
        (0, 4, 0xDEADCAFE),
        (4, 28, 0xCAFEF00D),
        (8, 32, 0x12345678),
        (20, 36, 0xA5A55A5A),
        (4, 1024, 0x0F1E2D3C),
        (12, 65536, 0x55AA33CC),
    ],
}
PLACES = [(width, *row) for width, rows in CLASSES.items() for row in rows]
BOTH = pytest.mark.parametrize("fill", ["memset", "kernel"])


@pytest.fixture
def run(run, fill):
    run.options = {"fill": fill}
    return run


def filled(size, offset, length, width, pattern):
    expected = np.zeros(size, np.uint8)
    pattern_bytes = np.frombuffer(pattern.to_bytes(width, "little"), np.uint8)
    expected[offset : offset + length] = np.tile(pattern_bytes, length // width)
    return expected


@BOTH
@pytest.mark.parametrize(
    ("size", "offset", "length", "width", "pattern"), [row[1:] for row in ROWS], ids=[r[0] for r in ROWS]
)
def test_a_fill_writes_the_pattern_and_nothing_else(run, zeros, size, offset, length, width, pattern):
    target = zeros(size)
    run(lambda cb, a: cb.fill_buffer(a, pattern, pattern_length=width, offset=offset, length=length), target)
    assert np.array_equal(target.to_host(), filled(size, offset, length, width, pattern))


@BOTH
@pytest.mark.parametrize(("width", "offset", "length", "pattern"), PLACES)
def test_every_class_of_size_and_alignment_is_filled_exactly(run, zeros, width, offset, length, pattern):
    size = offset + length + 16
    target = zeros(size)
    run(lambda cb, a: cb.fill_buffer(a, pattern, pattern_length=width, offset=offset, length=length), target)
    assert np.array_equal(target.to_host(), filled(size, offset, length, width, pattern))


@pytest.mark.parametrize("fill", ["memset", pytest.param("kernel", marks=pytest.mark.long)])
def test_every_small_offset_and_length_agrees_with_numpy(device, zeros, fill):
    """All fills of 1, 2 and 4 bytes at offsets 0 to 7 over 0 to 33 bytes, where they fit: one row of 64 bytes each."""
    patterns = {1: 0x9C, 2: 0x9C31, 4: 0x9C31E7B2}
    cases = [
        (width, offset, length)
        for width in patterns
        for offset in range(0, 8, width)
        for length in range(34)
        if length % width == 0
    ]
    target = zeros(64 * len(cases))
    with device.command_buffer(fill=fill) as cb:
        for row, (width, offset, length) in enumerate(cases):
            cb.fill_buffer(
                target.view(64 * row, 64), patterns[width], pattern_length=width, offset=offset, length=length
            )
    cb.replay()
    expected = np.concatenate([filled(64, offset, length, width, patterns[width]) for width, offset, length in cases])
    assert np.array_equal(target.to_host(), expected)


@BOTH
@pytest.mark.parametrize(
    "pattern", [b"\x01", b"\x01\x02", b"\x01\x02\x03\x04", np.float32(1.5), np.int16(-2), np.uint8(9)]
)
def test_bytes_and_numpy_scalars_are_patterns_of_their_own_size(run, zeros, pattern):
    target = zeros(16)
    run(lambda cb, a: cb.fill_buffer(a, pattern), target)
    raw = pattern if isinstance(pattern, bytes) else pattern.tobytes()
    assert target.to_host().tobytes() == raw * (16 // len(raw))


@BOTH
def test_a_fill_without_a_length_goes_to_the_end_of_the_view(run, zeros):
    target = zeros(32)
    run(lambda cb, a: cb.fill_buffer(a, 0x01010101, offset=4), target.view(8, 16))
    assert target.to_host().tolist() == [0] * 12 + [1] * 12 + [0] * 8
