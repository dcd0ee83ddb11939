"""Copies and fills of rows, on both backends, against numpy."""

import itertools

import numpy as np
import pytest

from hipgraph_cb import Recording, Slot
from hipgraph_cb.errors import InvalidArgumentError, OutOfRangeError

MODES = pytest.mark.parametrize("mode", ["graph", "stream"])
SIZE = 512


def random_bytes(seed):
    return np.random.default_rng(seed).integers(0, 256, SIZE, np.uint8)


def rows_of(array, offset, pitch, width, height):
    """A view of the rows."""
    return np.lib.stride_tricks.as_strided(array[offset:], (height, width), (pitch, 1))


SHAPES = [
    # width, height, source pitch and offset, target pitch and offset
    (16, 4, 64, 32, 48, 16),
    (8, 5, 20, 4, 36, 12),
    (7, 3, 11, 1, 13, 5),
    (1, 9, 3, 2, 5, 0),
    (64, 1, 64, 0, 70, 3),
    (32, 4, 32, 128, 32, 0),
    (5, 2, 5, 3, 300, 9),
]


@MODES
@pytest.mark.parametrize(("width", "height", "pitch", "start", "target_pitch", "offset"), SHAPES)
def test_a_copy_moves_its_rows_and_no_others(device, run, mode, width, height, pitch, start, target_pitch, offset):
    given, before = random_bytes(1), random_bytes(2)
    source, target = device.from_host(given), device.from_host(before)

    def record(cb, source, target):
        cb.copy_buffer_2d(
            source,
            target,
            width=width,
            height=height,
            source_pitch=pitch,
            target_pitch=target_pitch,
            source_offset=start,
            target_offset=offset,
        )

    run(record, source, target, mode=mode)
    rows_of(before, offset, target_pitch, width, height)[:] = rows_of(given, start, pitch, width, height)
    np.testing.assert_array_equal(target.to_host(), before)
    np.testing.assert_array_equal(source.to_host(), given)


FILLS = [(16, 3, 48, 16), (4, 5, 12, 8), (8, 1, 8, 4), (20, 4, 20, 0), (12, 2, 256, 4), (64, 2, 128, 0)]


@MODES
@pytest.mark.parametrize("pattern", [b"\x5a", b"\x01\x02", b"\x01\x02\x03\x04", b"\x07\x08" * 4])
def test_a_fill_writes_its_rows_and_nothing_else(device, run, mode, pattern):
    for width, height, pitch, offset in FILLS:
        if any(number % min(len(pattern), 4) for number in (width, pitch, offset)):
            continue
        before = random_bytes(3)
        target = device.from_host(before)

        def record(cb, target, shape=(width, height, pitch, offset)):
            width, height, pitch, offset = shape
            cb.fill_buffer_2d(target, pattern, width=width, height=height, pitch=pitch, offset=offset)

        if width % len(pattern) or (pitch % len(pattern)) or offset % len(pattern):
            continue
        run(record, target, mode=mode)
        rows_of(before, offset, pitch, width, height)[:] = np.frombuffer((pattern * width)[:width], np.uint8)
        np.testing.assert_array_equal(target.to_host(), before)


def test_a_fill_begins_each_row_with_its_pattern_at_any_address(device):
    """Also where rows are odd bytes apart: then single bytes are written."""
    before = random_bytes(4)
    target = device.from_host(before)
    with device.command_buffer() as cb:
        cb.fill_buffer_2d(target, b"\x01\x02", width=6, height=7, pitch=10, offset=2)
    cb.replay()
    rows_of(before, 2, 10, 6, 7)[:] = [1, 2] * 3
    np.testing.assert_array_equal(target.to_host(), before)


def test_rows_are_rebound_one_slot_at_a_time(device):
    sources = [device.from_host(random_bytes(seed)) for seed in (5, 6)]
    targets = [device.from_host(np.zeros(SIZE, np.uint8)) for _ in range(2)]
    with device.command_buffer(binding_capacity=2) as cb:
        cb.copy_buffer_2d(Slot(0), Slot(1, 8), width=12, height=3, source_pitch=20, target_pitch=16)
        cb.fill_buffer_2d(Slot(1), 0xFF, pattern_length=1, width=3, height=2, pitch=5, offset=100)
    for source, target in itertools.product((0, 1), (0, 1)):
        cb.replay(bindings=[sources[source], targets[target]], check="stream")
        expected = np.zeros(SIZE, np.uint8)
        rows_of(expected, 8, 16, 12, 3)[:] = rows_of(random_bytes(5 + source), 0, 20, 12, 3)
        rows_of(expected, 100, 5, 3, 2)[:] = 255
        np.testing.assert_array_equal(targets[target].to_host(), expected)


def test_rows_may_go_to_memory_of_the_host(device):
    given = random_bytes(7)
    source, host = device.from_host(given), device.host_buffer(24)
    with device.command_buffer() as cb:
        cb.copy_buffer_2d(source, host, width=8, height=3, source_pitch=32, source_offset=5)
    cb.replay()
    device.synchronize()
    np.testing.assert_array_equal(host.array.reshape(3, 8), rows_of(given, 5, 32, 8, 3))


def test_rows_of_one_buffer_between_each_other_are_copied(device):
    given = random_bytes(8)
    buffer = device.from_host(given)
    with device.command_buffer() as cb:
        cb.copy_buffer_2d(
            buffer, buffer, width=8, height=10, source_pitch=32, target_pitch=32, source_offset=4, target_offset=12
        )
    cb.replay()
    expected = given.copy()
    rows_of(expected, 12, 32, 8, 10)[:] = rows_of(given, 4, 32, 8, 10)
    np.testing.assert_array_equal(buffer.to_host(), expected)


def test_a_nested_recording_copies_rows_of_what_stands_for_its_slots(device):
    source, target = device.from_host(random_bytes(9)), device.from_host(bytes(SIZE))
    with device.command_buffer(binding_capacity=1) as inner:
        inner.copy_buffer_2d(source, Slot(0), width=4, height=2, source_pitch=8, target_pitch=6)
    with device.command_buffer() as outer:
        outer.execute_commands(inner, bindings=[target.view(10, 20)])
    outer.replay()
    expected = np.zeros(SIZE, np.uint8)
    rows_of(expected, 10, 6, 4, 2)[:] = rows_of(random_bytes(9), 0, 8, 4, 2)
    np.testing.assert_array_equal(target.to_host(), expected)


def test_no_rows_and_rows_of_no_bytes_record_nothing(device, zeros):
    x = zeros(64)
    with device.command_buffer() as cb:
        for width, height in ((0, 4), (4, 0), (0, 0)):
            cb.copy_buffer_2d(x, zeros(64), width=width, height=height)
            cb.fill_buffer_2d(x, 1, width=width, height=height)
    assert len(cb.recording) == 0


def test_files_diffs_and_drawings_have_rows(device, zeros, tmp_path):
    x, y = zeros(64, "x"), zeros(64, "y")
    with device.command_buffer() as cb:
        cb.copy_buffer_2d(x, y, width=4, height=3, source_pitch=8, target_offset=2, label="columns")
        cb.fill_buffer_2d(x, 7, width=4, height=2, pitch=16)
    recording = cb.recording
    recording.save(tmp_path / "a.hgcb")
    assert list(Recording.load(tmp_path / "a.hgcb")) == list(recording)
    dot = recording.to_dot()
    for text in ("copy_buffer_2d", "3 rows of 4 bytes", "from `x`[0:20], pitch 8", "to `y`[2:14], pitch 4"):
        assert text in dot
    assert '"source_pitch": 8' in recording.to_json()
    from hipgraph_cb.capture.diff import compare

    with device.command_buffer() as other:
        other.copy_buffer_2d(x, y, width=4, height=3, source_pitch=12, target_offset=2, label="columns")
        other.fill_buffer_2d(x, 7, width=4, height=2, pitch=16)
    assert "    source_pitch: 8 -> 12" in list(compare(recording, other.recording).lines())


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda cb, x, y: cb.copy_buffer_2d(x, y, width=8, height=4, source_pitch=16, target_pitch=24),
            OutOfRangeError,
            "the range reaches past the end of `y`\n"
            "  where: command 0 in 'step'\n"
            "  found: offset 0 + length 80 = 80\n"
            "  allowed: offset + length <= 64, the size of `y`",
        ),
        (
            lambda cb, x, y: cb.copy_buffer_2d(x, y, width=8, height=4, target_pitch=7),
            InvalidArgumentError,
            "target_pitch is less than the width of a row\n"
            "  where: command 0 in 'step'\n"
            "  found: target_pitch 7, width 8\n"
            "  allowed: 8 bytes or more",
        ),
        (
            lambda cb, x, y: cb.copy_buffer_2d(
                x, x, width=8, height=4, source_pitch=16, target_pitch=16, target_offset=5
            ),
            InvalidArgumentError,
            "source and target of the copy overlap\n"
            "  where: command 0 in 'step'\n"
            "  found: 4 rows of 8 bytes in `x`, from byte 0 with pitch 16 and from byte 5 with pitch 16\n"
            "  allowed: rows that share no bytes; where the pitches differ, none from the first row to the last\n"
            "  next: copy through a scratch buffer",
        ),
        (
            lambda cb, x, y: cb.fill_buffer_2d(x, 1, width=8, height=2, pitch=10),
            InvalidArgumentError,
            "the rows are not made of whole, aligned patterns\n"
            "  where: command 0 in 'step'\n"
            "  found: offset 0, pitch 10, width 8, pattern of 4 bytes\n"
            "  allowed: multiples of 4\n"
            "  next: fill with a shorter pattern",
        ),
        (
            lambda cb, x, y: cb.fill_buffer_2d(x, b"12345678", width=8, height=2),
            InvalidArgumentError,
            "the pattern is too long for rows\n"
            "  where: command 0 in 'step'\n"
            "  found: 8 bytes that repeat nothing shorter\n"
            "  allowed: 1, 2 or 4 bytes, or a longer pattern that repeats so many\n"
            "  next: write the rows with a kernel, or copy them from a buffer that holds them",
        ),
        (
            lambda cb, x, y: cb.fill_buffer_2d(x, 1, width=4, height=1 << 62, pitch=1 << 32),
            OutOfRangeError,
            "length is out of range\n"
            "  where: command 0 in 'step'\n"
            f"  found: {((1 << 62) - 1) * (1 << 32) + 4}\n"
            "  allowed: 0 to 18446744073709551615",
        ),
    ],
)
def test_refusals_are_whole(device, zeros, call, error, message):
    x, y = zeros(64, "x"), zeros(64, "y")
    cb = device.command_buffer(label="step").begin()
    with pytest.raises(error) as caught:
        call(cb, x, y)
    assert str(caught.value) == message
    cb.end()
    assert len(cb.recording) == 0


def test_bindings_whose_rows_share_bytes_are_refused(device, zeros):
    x = zeros(64, "x")
    with device.command_buffer(label="step", binding_capacity=2) as cb:
        cb.copy_buffer_2d(Slot(0), Slot(1), width=4, height=3, source_pitch=8, target_pitch=8)
    with pytest.raises(InvalidArgumentError) as caught:
        cb.replay(bindings=[x, x.view(2)])
    assert str(caught.value) == (
        "source and target of the copy overlap\n"
        "  where: command 0 in 'step'\n"
        "  found: 3 rows of 4 bytes in one buffer, from byte 0 with pitch 8 and from byte 2 with pitch 8\n"
        "  allowed: rows that share no bytes; where the pitches differ, none from the first row to the last\n"
        "  next: copy through a scratch buffer"
    )
    cb.replay(bindings=[x, x.view(4)])
    device.synchronize()
