"""Relocations: every address where the number of its place stood, for fixed memory and for slots."""

import struct
from types import SimpleNamespace

import numpy as np
import pytest

from hipgraph_cb.backend.arena import Arena, PlaceExtents, Ragged
from hipgraph_cb.errors import OutOfRangeError
from hipgraph_cb.recording.binding_table import BoundRange
from hipgraph_cb.recording.command_table import CommandTable
from hipgraph_cb.recording.commands import Copy, Dispatch, Fill, Range, SlotRange

SIZES = ((2, 1, 1), (64, 1, 1), 0)


def bound(address, offset=0, length=64):
    return BoundRange(SimpleNamespace(bound_address=address), offset, length)


def dispatch(pointers, kernarg=bytes(24)):
    return Dispatch(9, "k", *SIZES, kernarg, tuple(pointers))


def test_addresses_stand_where_the_words_stood_and_numbers_stay():
    kernarg = bytes(16) + struct.pack("<fI", 2.5, 1000)
    table = CommandTable(
        [dispatch([(0, Range(1, 16, 8)), (8, Range(0, 0, 8))], kernarg), dispatch([(8, Range(1, 0, 4))])]
    )
    arena = Arena(table)
    arena.apply(PlaceExtents(table.places, {0: 0x1000, 1: 0x2000}).bound({}))
    first, second = (int(start) for start in arena.starts)
    assert struct.unpack_from("<QQfI", arena.bytes, first) == (0x2010, 0x1000, 2.5, 1000)
    assert struct.unpack_from("<QQ", arena.bytes, second) == (0, 0x2000)


def test_pointers_at_any_offset_are_written_whole():
    table = CommandTable([dispatch([(4, Range(0, 1, 8)), (13, SlotRange(2, 3, None))])])
    arena = Arena(table)
    extents = PlaceExtents(table.places, {0: 0x1122334455667788})
    arena.apply(extents.bound({2: bound(0x7F0000000000, 16)}))
    assert struct.unpack_from("<4xQxQ", arena.bytes) == (0x1122334455667789, 0x7F0000000013)
    assert arena.apply(extents.bound({2: bound(0x10)})) == [0]
    assert struct.unpack_from("<4xQxQ", arena.bytes) == (0x1122334455667789, 0x13)


def test_only_commands_whose_memory_moved_or_has_another_length_are_reported():
    table = CommandTable(
        [Fill(SlotRange(0, 0, None), b"a"), Copy(SlotRange(1, 0, 4), Range(0, 0, 4)), Fill(SlotRange(1, 8, 4), b"a")]
    )
    arena, extents = Arena(table), PlaceExtents(table.places, {0: 0x1000})
    x, y = bound(0x2000), bound(0x3000)
    assert arena.apply(extents.bound({0: x, 1: x})) == []
    assert arena.apply(extents.bound({0: x, 1: x})) == []
    assert arena.apply(extents.bound({0: x, 1: y})) == [1, 2]
    assert arena.apply(extents.bound({0: bound(0x2000, length=32), 1: y})) == [0]
    assert arena.extents.lengths.tolist()[1:] == [32, 4, 4, 4]


def test_a_binding_that_ends_before_a_place_leaves_nothing_of_it():
    table = CommandTable([Fill(SlotRange(0, 100, None), b"a")])
    assert PlaceExtents(table.places, {}).bound({0: bound(0x1000)}).lengths[1] == 0


def test_an_address_beyond_64_bits_is_refused():
    table = CommandTable([Fill(Range(0, 1 << 63, 4), b"a"), Fill(SlotRange(0, 1 << 63, 4), b"a")])
    with pytest.raises(OutOfRangeError, match="a range reaches past the last address"):
        PlaceExtents(table.places, {0: 1 << 63})
    with pytest.raises(OutOfRangeError, match="a range reaches past the last address"):
        PlaceExtents(table.places, {0: 0}).bound({0: bound(1 << 63)})


def test_a_recording_without_commands_has_an_arena_too():
    table = CommandTable()
    arena = Arena(table)
    assert arena.apply(PlaceExtents(table.places, {}).bound({})) == []
    assert len(arena.starts) == 0


def test_a_stretch_of_commands_has_the_blocks_of_that_stretch():
    table = CommandTable([dispatch([(0, Range(0, 8 * index, 8))]) for index in range(10)])
    stretch = Arena(table, range(4, 7), table.starts[4])
    stretch.apply(PlaceExtents(table.places, {0: 0x100}).bound({}))
    assert [struct.unpack_from("<Q", stretch.bytes, start)[0] for start in stretch.starts] == [0x120, 0x128, 0x130]


def test_lists_of_different_lengths_stand_one_behind_the_other():
    ragged = Ragged([(), (1,), (2, 3)], np.array([2, 0, 1, 2]))
    assert ragged.counts.tolist() == [2, 0, 1, 2]
    assert ragged.firsts.tolist() == [0, 2, 2, 3]
    assert ragged.plus(np.array([0, 10, 20, 30])).tolist() == [2, 3, 21, 32, 33]
