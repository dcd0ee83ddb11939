"""Hidden arguments are written where the metadata puts them (LLVM AMDGPU usage, value kinds `hidden_*`)."""

from __future__ import annotations

import struct

import msgpack
from support import elf

from hipgraph_cb.code_object.hidden_args import LaunchShape, write_hidden
from hipgraph_cb.code_object.kernel_args import KernargLayout
from hipgraph_cb.code_object.metadata import parse_metadata

SHAPE = LaunchShape(grid=(1030, 6, 3), workgroup=(256, 4, 1), dynamic_lds=512)


def block_of(*arguments: tuple[int, int, str], size: int, shape: LaunchShape = SHAPE) -> bytes:
    rows = [elf.argument(offset, width, kind) for offset, width, kind in arguments]
    note = msgpack.packb(elf.document(elf.kernel("k", rows, kernarg_segment_size=size)))
    layout = KernargLayout.from_metadata(parse_metadata(note).kernels[0])
    block = bytearray(b"\xee" * layout.size)
    write_hidden(block, layout, shape)
    return bytes(block)


def test_block_counts_are_whole_workgroups_and_remainders_the_partial_one():
    kinds = [(4 * axis, 4, f"hidden_block_count_{'xyz'[axis]}") for axis in range(3)]
    kinds += [(12 + 2 * axis, 2, f"hidden_group_size_{'xyz'[axis]}") for axis in range(3)]
    kinds += [(18 + 2 * axis, 2, f"hidden_remainder_{'xyz'[axis]}") for axis in range(3)]
    block = block_of(*kinds, size=24)
    assert struct.unpack("<3I3H", block[:18]) == (4, 1, 3, 256, 4, 1)
    assert struct.unpack("<3H", block[18:]) == (6, 2, 0)


def test_each_argument_is_at_its_own_offset_and_nothing_else_is_touched():
    block = block_of((8, 8, "hidden_block_count_x"), (40, 2, "hidden_grid_dims"), size=48)
    assert block[8:16] == struct.pack("<Q", 4)
    assert block[40:42] == struct.pack("<H", 3)
    assert block[:8] + block[16:40] + block[42:] == b"\xee" * (8 + 24 + 6)


def test_the_size_of_dynamic_lds_and_given_addresses_are_written():
    shape = LaunchShape((64, 1, 1), (64, 1, 1), 512, addresses={"hidden_queue_ptr": 0x7F00_1234_5678})
    block = block_of((0, 4, "hidden_dynamic_lds_size"), (8, 8, "hidden_queue_ptr"), size=16, shape=shape)
    assert block[:4] == struct.pack("<I", 512)
    assert block[8:] == struct.pack("<Q", 0x7F00_1234_5678)


def test_a_tail_without_hidden_arguments_is_left_alone():
    assert block_of((0, 4, "by_value"), size=64) == b"\xee" * 64


def test_hidden_none_is_padding():
    rows = [elf.argument(0, 8, "hidden_none"), elf.argument(8, 8, "hidden_queue_ptr")]
    note = msgpack.packb(elf.document(elf.kernel("k", rows)))
    layout = KernargLayout.from_metadata(parse_metadata(note).kernels[0])
    assert [argument.kind for argument in layout.hidden] == ["hidden_queue_ptr"]
    assert block_of((0, 8, "hidden_none"), (8, 4, "hidden_block_count_y"), size=12)[:8] == b"\xee" * 8


def test_a_value_is_cut_to_the_width_the_metadata_states():
    shape = LaunchShape(((1 << 16) + 7, 1, 1), (1, 1, 1))
    assert block_of((0, 2, "hidden_block_count_x"), size=4, shape=shape) == b"\x07\x00\xee\xee"


def test_a_kind_that_is_not_known_is_left_alone():
    assert block_of((0, 8, "hidden_unheard_of"), size=8) == b"\xee" * 8
