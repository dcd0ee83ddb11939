"""Binding tables: what the commands ask of a slot, and which tables are refused at replay."""

import itertools

import pytest
from support.fakes import FakeBuffer, FakeDevice, FakeView, saxpy

from hipgraph_cb.errors import HipGraphError, OutOfRangeError
from hipgraph_cb.recording.binding_table import BoundRange
from hipgraph_cb.recording.bindings import resolve
from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.resources import Slot
from hipgraph_cb.recording.slot_uses import SlotUse


def record(*calls):
    with CommandBuffer(label="step", binding_capacity=4) as cb:
        for call in calls:
            call(cb)
    return cb.recording


def refused(recording, table, **options):
    with pytest.raises(HipGraphError) as caught:
        resolve(recording, table, **options)
    return str(caught.value)


FILL = record(lambda cb: cb.fill_buffer(Slot(1, 8), 0, length=24, label="clear"))


def test_what_the_commands_ask_of_each_slot():
    x = FakeBuffer(64)
    recording = record(
        lambda cb: cb.fill_buffer(Slot(0, 8), 0, pattern_length=2, length=24),
        lambda cb: cb.fill_buffer(Slot(0), b"\1"),
        lambda cb: cb.dispatch(saxpy(), 1, 64, args=[Slot(2, 4), Slot(2, 100, 20), 1.0, 1]),
        lambda cb: cb.copy_buffer(Slot(0, 0, 64), x),
    )
    assert recording.slots == (
        SlotUse(end=64, alignment=2, commands=(0, 1, 3), late=(1, 3)),
        SlotUse(),
        SlotUse(end=120, alignment=1, commands=(2,), late=()),
    )


@pytest.mark.parametrize("order", list(itertools.permutations([1, 2, 4])))
def test_a_slot_is_aligned_for_every_fill_that_uses_it_whatever_their_order(order):
    fills = [lambda cb, length=length: cb.fill_buffer(Slot(0, 0, 8), 0, pattern_length=length) for length in order]
    assert record(*fills).slots[0].alignment == 4


def test_a_table_is_resolved_to_ranges_of_whole_buffers():
    buffer = FakeBuffer(64)
    bound = resolve(FILL, [None, FakeView(buffer, 16, 40)])
    assert bound == {1: BoundRange(buffer, 16, 40)}
    assert bound[1].part(FILL[0].target) == BoundRange(buffer, 24, 24)


def test_an_open_slot_range_takes_the_rest_of_the_binding():
    buffer = FakeBuffer(64)
    recording = record(lambda cb: cb.dispatch(saxpy(), 1, 64, args=[Slot(0, 4), None, 1.0, 1]))
    bound = resolve(recording, [FakeView(buffer, 8, 40)])
    (place,) = (place for _, place in recording[0].pointers)
    assert bound[0].part(place) == BoundRange(buffer, 12, 36)


@pytest.mark.parametrize("table", [None, (), [None], ["junk"], [FakeBuffer(8)]])
def test_a_recording_without_slots_ignores_any_table(table):
    assert resolve(record(lambda cb: cb.fill_buffer(FakeBuffer(64), 0)), table) == {}


def test_entries_beyond_the_last_used_slot_and_of_unused_slots_are_ignored():
    assert list(resolve(FILL, ["unused", FakeBuffer(64), "beyond", None])) == [1]


@pytest.mark.parametrize("table", [None, []])
def test_a_missing_table_is_refused(table):
    assert refused(FILL, table) == (
        "the recording uses slots and no binding table was given\n"
        "  found: no bindings\n"
        "  allowed: 2 entries or more\n"
        "  next: pass replay(bindings=[...])"
    )


def test_a_short_table_is_refused():
    assert refused(FILL, [FakeBuffer(64)]) == (
        "the binding table is too short\n  found: 1 entries\n  allowed: 2 entries or more"
    )


@pytest.mark.parametrize(("entry", "found"), [(None, "None"), (0, "int"), ("x", "str"), (b"1234", "bytes")])
def test_a_used_slot_without_memory_is_refused(entry, found):
    assert refused(FILL, [None, entry]) == (
        "slot 1 of the binding table holds no device memory\n"
        "  where: slot 1, first used by command 0 'clear' in 'step'\n"
        f"  found: {found}\n"
        "  allowed: a Buffer or a BufferView"
    )


def test_a_binding_smaller_than_the_largest_range_used_is_refused():
    assert refused(FILL, [None, FakeView(FakeBuffer(64), 0, 28)]) == (
        "the binding in slot 1 is too small\n"
        "  where: slot 1, first used by command 0 'clear' in 'step'\n"
        "  found: 28 bytes\n"
        "  allowed: 32 bytes or more, the end of the largest range used"
    )


def test_the_sum_of_a_binding_never_wraps():
    huge = record(lambda cb: cb.fill_buffer(Slot(0, (1 << 64) - 4), 0, length=(1 << 64) - 4))
    with pytest.raises(OutOfRangeError, match="too small"):
        resolve(huge, [FakeBuffer(64)])
    with pytest.raises(OutOfRangeError, match="reaches past the end"):
        resolve(FILL, [None, FakeView(FakeBuffer(64), (1 << 64) - 32, 64)])
    open_ended = record(lambda cb: cb.fill_buffer(Slot(0, 128), 0))
    with pytest.raises(OutOfRangeError, match="too small"):
        resolve(open_ended, [FakeBuffer(64)])


def test_a_misaligned_binding_is_refused():
    assert refused(FILL, [None, FakeView(FakeBuffer(64), 2, 62)]) == (
        "the binding in slot 1 is misaligned\n"
        "  where: slot 1, first used by command 0 'clear' in 'step'\n"
        "  found: offset 2\n"
        "  allowed: a multiple of 4, for the fills that use it"
    )


def test_a_view_that_reaches_beyond_its_buffer_is_refused():
    assert refused(FILL, [None, FakeView(FakeBuffer(64), 8, 64)]) == (
        "the view in slot 1 reaches past the end of its buffer\n"
        "  where: slot 1, first used by command 0 'clear' in 'step'\n"
        "  found: offset 8 + length 64 = 72\n"
        "  allowed: offset + length <= 64"
    )


def test_a_closed_buffer_is_refused():
    assert refused(FILL, [None, FakeBuffer(64, closed=True)]) == (
        "the buffer in slot 1 is closed\n"
        "  where: slot 1, first used by command 0 'clear' in 'step'\n"
        "  found: a closed buffer\n"
        "  next: record with a buffer that is still open"
    )


def test_a_buffer_of_another_device_is_refused():
    here, there = FakeDevice("here"), FakeDevice("there", 1)
    assert resolve(FILL, [None, FakeBuffer(64, device=here)], owner=here)
    assert refused(FILL, [None, FakeBuffer(64, device=there)], owner=here) == (
        "the buffer in slot 1 belongs to another device\n"
        "  where: slot 1, first used by command 0 'clear' in 'step'\n"
        "  found: a buffer of there (device 1)\n"
        "  allowed: a buffer of here (device 0), whose command buffer this is"
    )


def test_a_fill_to_the_end_of_a_binding_is_checked_when_the_binding_is_known():
    recording = record(lambda cb: cb.fill_buffer(Slot(0, 4), 0))
    assert resolve(recording, [FakeView(FakeBuffer(64), 0, 12)])
    assert "whole, aligned patterns" in refused(recording, [FakeView(FakeBuffer(64), 0, 13)])
    assert refused(recording, [FakeView(FakeBuffer(64), 0, 4)]) == (
        "the binding leaves nothing to write\n"
        "  where: command 0 in 'step'\n"
        "  found: 0 bytes\n"
        "  next: bind more memory, or record without it"
    )


def test_a_copy_between_open_slots_is_checked_for_length_when_the_bindings_are_known():
    recording = record(lambda cb: cb.copy_buffer(Slot(0), Slot(1)))
    assert len(resolve(recording, [FakeBuffer(64), FakeBuffer(64)])) == 2
    assert refused(recording, [FakeBuffer(64), FakeBuffer(32)]) == (
        "source and target of the copy have different lengths\n"
        "  where: command 0 in 'step'\n"
        "  found: source 64 bytes, target 32 bytes\n"
        "  next: pass length="
    )


@pytest.mark.parametrize(("second", "overlap"), [(0, True), (15, True), (16, False)])
def test_bindings_that_make_a_copy_overlap_are_refused(second, overlap):
    buffer = FakeBuffer(64)
    recording = record(lambda cb: cb.copy_buffer(Slot(0, 0, 16), Slot(1, 0, 16)))
    table = [FakeView(buffer, 0, 16), FakeView(buffer, second, 16)]
    if overlap:
        assert refused(recording, table) == (
            "source and target of the copy overlap\n"
            "  where: command 0 in 'step'\n"
            f"  found: bytes 0 to 16 and {second} to {second + 16} of one buffer\n"
            "  next: copy through a scratch buffer"
        )
    else:
        assert len(resolve(recording, table)) == 2


def test_a_binding_that_overlaps_the_direct_end_of_a_copy_is_refused():
    buffer, other = FakeBuffer(64), FakeBuffer(64)
    recording = record(lambda cb: cb.copy_buffer(buffer, Slot(0), length=16))
    assert "overlap" in refused(recording, [buffer])
    assert resolve(recording, [other])
    assert resolve(recording, [buffer], objects={0: other})
    assert "overlap" in refused(recording, [other], objects={0: other})


@pytest.mark.parametrize("table", [FakeBuffer(64), {None}, iter([None, FakeBuffer(64)]), "xy", 5])
def test_a_table_that_is_no_list_is_refused(table):
    assert refused(FILL, table) == (
        f"the binding table is not a list\n  found: {type(table).__name__}\n"
        "  allowed: a list or a tuple of buffers and views"
    )


def test_bindings_of_a_nested_recording_that_are_no_list_are_refused():
    with pytest.raises(HipGraphError, match="bindings is not a list"):
        record(lambda cb: cb.execute_commands(FILL, bindings=FakeBuffer(64)))
