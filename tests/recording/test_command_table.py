"""Commands as columns: what is read is what was recorded, and what a command costs in memory."""

import gc
import tracemalloc

import pytest
from support.captures import everything
from support.fakes import FakeBuffer
from support.kernels import clang_kernels

from hipgraph_cb.errors import OutOfRangeError
from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.command_table import CommandTable
from hipgraph_cb.recording.commands import Copy, Dispatch, Fill, Range, SlotRange, Update
from hipgraph_cb.recording.place_table import KIND_BITS, PlaceTable
from hipgraph_cb.recording.resources import Slot
from hipgraph_cb.recording.validation import LARGEST

SIZES = ((2, 1, 1), (64, 1, 1), 0)
STRANGE = [
    Dispatch(0, "k", *SIZES, bytes(16), ((4, Range(0, 0, 8)), (12, Range(1, 4, 4)))),
    Dispatch(0, "k", *SIZES, bytes(range(16)), ((0, Range(0, 0, 8)),)),
    Dispatch(0, "k", *SIZES, bytes(8), ((0, Range(0, 0, 8)), (4, Range(0, 0, 8)))),
    Dispatch(0, "k", *SIZES, b"", ((24, Range(0, 0, 8)),)),
    Dispatch(0, "k", (1 << 40, 1, 1), (1, 1, 1), 0, bytes(8), ()),
    Dispatch(0, "k", *SIZES, bytes(8), (), ((SlotRange(1, 0, None), True, False), (Range(0, 0, 4), False, True))),
    Fill(Range(0, 0, 15), b"abcde"),
    Fill(SlotRange(3, LARGEST, LARGEST), b"ab", "far"),
    Update(Range(1, 2, 3), b"abc"),
    Copy(SlotRange(0, 0, None), Range(LARGEST >> KIND_BITS, LARGEST, LARGEST)),
]


@pytest.mark.parametrize("commands", [list(everything()), STRANGE], ids=["recorded", "strange"])
def test_commands_are_read_as_they_were_entered(commands):
    table = CommandTable(commands)
    assert list(table) == commands
    assert list(table.part(1, len(commands))) == commands[1:]
    assert table.kinds == set(map(type, commands))


def test_commands_with_other_ids_name_other_resources_and_stay_the_same_otherwise():
    table = CommandTable([STRANGE[0], STRANGE[5], Fill(SlotRange(2, 0, 4), b"a"), Copy(Range(1, 0, 4), Range(0, 0, 4))])
    moved = list(table.with_ids({0: 7, 1: 8}))
    assert moved[0] == STRANGE[0]._replace(executable=7, pointers=((4, Range(7, 0, 8)), (12, Range(8, 4, 4))))
    assert moved[1].accesses == ((SlotRange(1, 0, None), True, False), (Range(7, 0, 4), False, True))
    assert moved[2:] == [Fill(SlotRange(2, 0, 4), b"a"), Copy(Range(8, 0, 4), Range(7, 0, 4))]


def test_places_have_64_bits_and_no_more():
    table = PlaceTable()
    assert table[table.add(Range(5, LARGEST, LARGEST))] == Range(5, LARGEST, LARGEST)
    with pytest.raises(OutOfRangeError) as raised:
        table.add(Range(0, LARGEST + 1, 4))
    assert str(raised.value) == (
        f"a range does not fit in 64 bits\n  found: offset {LARGEST + 1}, length 4\n  allowed: 0 to 2^64 - 1"
    )
    assert len(table) == 2
    assert table[table.add(SlotRange(0, 0, None))] == SlotRange(0, 0, None)


def record(count):
    """Dispatches that all differ, with buffers and numbers that vary."""
    saxpy = clang_kernels()["saxpy"]
    buffers = [FakeBuffer(4096) for _ in range(100)]
    with CommandBuffer() as cb:
        for index in range(count):
            args = [buffers[index * 7 % 100], buffers[index * 13 % 100], index / 3, index]
            cb.dispatch(saxpy, index % 1000 + 1, 64, args=args)
            cb.execution_barrier()
    return cb.recording


def test_a_dispatch_that_differs_from_all_others_takes_less_than_200_bytes_and_no_object_that_is_collected():
    record(1)
    gc.collect()
    objects = len(gc.get_objects())
    tracemalloc.start()
    try:
        recording = record(5000)
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert taken < 200 * 5000
    assert len(gc.get_objects()) - objects < 1000
    assert len(recording) == 5000


def test_nothing_that_a_failed_call_named_is_left(cb, x):
    stranger = FakeBuffer(64)
    for _ in range(3):
        with pytest.raises(OutOfRangeError):
            cb.copy_buffer(x.view(0, 8), stranger, target_offset=60, length=8)
    cb.fill_buffer(stranger, 1)
    cb.end()
    assert list(cb.recording.resources.buffers) == [0]
    assert len(cb.recording.table.places) == 2


def test_a_null_pointer_is_none_or_the_int_0_and_nothing_else(cb, x):
    saxpy = clang_kernels()["saxpy"]
    for null in (None, 0, None, 0):
        cb.dispatch(saxpy, 1, 64, args=[null, x, 1.0, 1])
    for other in (0.0, False, 1):
        with pytest.raises(Exception, match="does not fit"):
            cb.dispatch(saxpy, 1, 64, args=[other, x, 1.0, 1])
    cb.end()
    assert [command.pointers for command in cb.recording] == [((8, Range(0, 0, 4096)),)] * 4


def test_views_beyond_those_that_are_remembered_are_recorded_right(cb, monkeypatch):
    monkeypatch.setattr("hipgraph_cb.recording.resource_builder.MOST_REMEMBERED", 4)
    x, saxpy = FakeBuffer(4096), clang_kernels()["saxpy"]
    views = [x.view(4 * index, 4) for index in range(50)]
    for view in views + views:
        cb.dispatch(saxpy, 1, 64, args=[view, Slot(0), 1.0, 1])
    cb.end()
    assert [command.pointers[0][1].offset for command in cb.recording] == 2 * [4 * index for index in range(50)]


@pytest.mark.long
def test_200_000_commands_take_memory_that_grows_with_their_number():
    sizes = []
    for count in (50_000, 200_000):
        tracemalloc.start()
        recording = record(count)
        sizes.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        assert len(recording) == count
    assert sizes[1] < 4.4 * sizes[0]
