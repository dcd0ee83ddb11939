"""What commands of rows do to memory, and when their rows share bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fakes import FakeBuffer

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.commands import Range
from hipgraph_cb.recording.commands.rows import MOST_ROWS, check_rows_apart, extent

numbers = st.integers(0, 40)


def bytes_of(offset, pitch, width, height):
    return {offset + row * pitch + byte for row in range(height) for byte in range(width)}


@given(numbers, numbers, st.integers(1, 12), st.integers(1, 5), numbers, numbers)
def test_rows_are_refused_where_they_share_bytes(first, second, width, height, more, other):
    """Exactly so where the pitches are equal; with others also where only the stretches share bytes."""
    pitches = width + more, width + more if other % 2 else width + other
    source, target = (
        Range(0, offset, extent(pitch, width, height)) for offset, pitch in zip((first, second), pitches, strict=True)
    )
    ours, theirs = (bytes_of(*each, width, height) for each in ((first, pitches[0]), (second, pitches[1])))
    refused = False
    try:
        check_rows_apart(source, target, pitches, width, height, "x")
    except InvalidArgumentError:
        refused = True
    shared = not ours.isdisjoint(theirs)
    assert refused if shared else not refused or pitches[0] != pitches[1]


def halves(height):
    """Two fills of the left and the right half of a picture, with nothing between them."""
    x = FakeBuffer(16 * height, "x")
    with CommandBuffer() as cb:
        cb.fill_buffer_2d(x, 1, width=8, height=height, pitch=16)
        cb.fill_buffer_2d(x, 2, width=8, height=height, pitch=16, offset=8)
    return cb.recording


def test_halves_of_a_picture_may_be_written_at_once():
    assert halves(MOST_ROWS).hazards() == ()


def test_of_many_rows_it_is_only_possible_that_they_share_bytes():
    (finding,) = halves(MOST_ROWS + 1).hazards()
    assert not finding.certain
    assert "may write" in finding.text


def test_a_missing_barrier_names_the_bytes_of_the_row():
    x, y = FakeBuffer(64, "x"), FakeBuffer(64, "y")
    with CommandBuffer(label="step") as cb:
        cb.copy_buffer_2d(y, x, width=4, height=3, target_pitch=16)
        cb.fill_buffer(x, 0, offset=16, length=8)
    (finding,) = cb.recording.hazards()
    assert finding.certain
    assert finding.text == (
        "command 1 in 'step' writes `x`[16:20], which command 0 in 'step' writes: no barrier between them"
    )


def test_inferred_order_follows_rows():
    x = FakeBuffer(64, "x")
    with CommandBuffer(dependencies="inferred") as cb:
        cb.fill_buffer_2d(x, 1, width=4, height=4, pitch=16)
        cb.fill_buffer_2d(x, 2, width=4, height=4, pitch=16, offset=4)
        cb.fill_buffer(x, 3, offset=20, length=4)
    assert cb.recording.dependencies == ((), (), (1,))


def test_the_extent_is_that_of_numpy():
    array = np.zeros((5, 16), np.uint8)[1:4, 2:9]
    low, high = np.lib.array_utils.byte_bounds(array) if hasattr(np.lib, "array_utils") else np.byte_bounds(array)
    assert extent(16, 7, 3) == high - low


@pytest.mark.parametrize("verb", ["copy", "fill"])
def test_without_validation_rows_are_taken_on_trust(verb):
    x = FakeBuffer(64, "x")
    with CommandBuffer(validate=False) as cb:
        if verb == "copy":
            cb.copy_buffer_2d(x, x, width=8, height=2, source_pitch=4)
        else:
            cb.fill_buffer_2d(x, 1, width=6, height=2, pitch=4)
    assert len(cb.recording) == 1
