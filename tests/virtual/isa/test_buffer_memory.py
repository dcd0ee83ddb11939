"""MUBUF: ranges, addressing modes and swizzle, worked out from the formulas of the CDNA3 ISA lane by lane."""

from __future__ import annotations

import numpy as np
import pytest
from support.lanes import lanes_of, make_state, run

from hipgraph_cb.virtual.faults import DeviceFault
from hipgraph_cb.virtual.isa.memory import buffer_memory  # noqa: F401  # registers the instructions
from hipgraph_cb.virtual.memory import Memory

pytestmark = pytest.mark.usefixtures("each_way")

LANES = np.arange(64, dtype=np.uint32)
ZERO = 128  # the inline constant 0 as scalar offset
DESCRIPTOR = 8  # first scalar register of the descriptor


@pytest.fixture
def memory() -> Memory:
    return Memory(4 << 20)


@pytest.fixture
def words(memory) -> tuple[int, np.ndarray]:
    """The address of 1024 words, and their values."""
    values = np.random.default_rng(6).integers(1, 2**32, 1024, dtype=np.uint32)
    address = memory.allocate(values.nbytes, label="b")
    memory.bytes(address, values.nbytes)[:] = values.view(np.uint8)
    return address, values


def describe(state, base: int, *, records: int, stride: int = 0, swizzle: bool = False, flags: int = 0) -> None:
    state.write_sgpr(DESCRIPTOR, base & 0xFFFFFFFF)
    state.write_sgpr(DESCRIPTOR + 1, base >> 32 | stride << 16 | (1 << 31 if swizzle else 0))
    state.write_sgpr(DESCRIPTOR + 2, records)
    state.write_sgpr(DESCRIPTOR + 3, flags)


def access(state, mnemonic: str, **changes: int) -> None:
    fields = {"offset": 0, "offen": 0, "idxen": 0, "lds": 0, "vaddr": 0, "vdata": 4, "srsrc": DESCRIPTOR}
    run(state, mnemonic, "MUBUF", **(fields | {"soffset": ZERO} | changes))


def test_offsets_add_up(memory, words):
    address, values = words
    state = make_state(memory)
    describe(state, address, records=4096)
    state.write_sgpr(20, 40)
    state.write_vgpr(0, LANES.reshape(1, -1) * np.uint32(8))
    access(state, "buffer_load_dword", offen=1, offset=12, soffset=20)
    assert np.array_equal(lanes_of(state, 4)[0], values[(LANES * 8 + 52) // 4])


def test_an_offset_register_that_is_negative_is_out_of_range_whatever_is_added(memory, words):
    address, values = words
    state = make_state(memory)
    describe(state, address, records=4096)
    state.write_vgpr(0, LANES.reshape(1, -1) * np.uint32(4) - np.uint32(32))
    access(state, "buffer_load_dword", offen=1, offset=64)
    assert np.array_equal(lanes_of(state, 4)[0], np.where(LANES < 8, 0, values[LANES + 8]))


def test_what_waves_that_do_not_run_hold_does_not_make_a_descriptor_differ(memory, words):
    address, values = words
    state = make_state(memory, groups=3)
    describe(state, address, records=4096)
    state.write_sgpr(DESCRIPTOR + 1, np.array([[address >> 32], [address >> 32], [0x8000FFFF]], np.uint32))
    state.write_sgpr(DESCRIPTOR + 3, np.array([[0], [0], [0xCDCDCDCD]], np.uint32))
    state.write_vgpr(0, LANES.reshape(1, -1) * np.uint32(4))
    state.set_group(np.array([[True], [True], [False]]))
    access(state, "buffer_load_dword", offen=1)
    assert np.array_equal(lanes_of(state, 4)[:2], np.tile(values[:64], (2, 1)))
    state.set_group(None)
    with pytest.raises(DeviceFault, match="the flags of the buffer descriptor differ between waves"):
        access(state, "buffer_load_dword", offen=1)


def test_what_is_out_of_range_reads_as_zero_word_by_word(memory, words):
    address, values = words
    state = make_state(memory)
    describe(state, address, records=4 * 130)
    state.write_vgpr(0, LANES.reshape(1, -1) * np.uint32(16))
    access(state, "buffer_load_dwordx4", offen=1)
    in_range = values.copy()
    in_range[130:] = 0
    for word in range(4):
        assert np.array_equal(lanes_of(state, 4 + word)[0], in_range[LANES * 4 + word])


def test_what_is_out_of_range_is_not_written(memory, words):
    address, values = words
    state = make_state(memory)
    describe(state, address, records=4 * 33)
    state.write_vgpr(0, LANES.reshape(1, -1) * np.uint32(8))
    state.write_vgpr(4, LANES.reshape(1, -1))
    state.write_vgpr(5, LANES.reshape(1, -1) + np.uint32(100))
    access(state, "buffer_store_dwordx2", offen=1)
    expected = values.copy()
    expected[: 2 * 64 : 2], expected[1 : 2 * 64 : 2] = LANES, LANES + 100
    expected[33:] = values[33:]
    assert np.array_equal(memory.bytes(address, 4096).view(np.uint32), expected)


def test_the_scalar_offset_shortens_the_range(memory, words):
    address, values = words
    state = make_state(memory)
    describe(state, address, records=4 * 10)
    state.write_sgpr(20, 24)
    state.write_vgpr(0, LANES.reshape(1, -1) * np.uint32(4))
    access(state, "buffer_load_dword", offen=1, soffset=20)
    assert np.array_equal(lanes_of(state, 4)[0], np.where(LANES < 4, values[(LANES + 6) % 1024], 0))


def test_an_index_counts_records(memory, words):
    address, values = words
    state = make_state(memory)
    describe(state, address, records=50, stride=12)
    state.write_vgpr(0, LANES.reshape(1, -1))
    access(state, "buffer_load_dword", idxen=1, offset=8)
    assert np.array_equal(lanes_of(state, 4)[0], np.where(LANES < 50, values[LANES * 3 + 2], 0))


def test_with_index_and_offset_the_index_comes_first(memory, words):
    address, values = words
    state = make_state(memory)
    describe(state, address, records=64, stride=16)
    state.write_vgpr(0, LANES.reshape(1, -1))
    state.write_vgpr(1, (LANES % 4 * 4).reshape(1, -1))
    access(state, "buffer_load_dword", idxen=1, offen=1)
    assert np.array_equal(lanes_of(state, 4)[0], values[LANES * 4 + LANES % 4])


def test_the_thread_id_may_be_the_index(memory, words):
    address, values = words
    state = make_state(memory)
    describe(state, address, records=64, stride=8, flags=1 << 23)
    access(state, "buffer_load_dword", offset=4)
    assert np.array_equal(lanes_of(state, 4)[0], values[LANES * 2 + 1])


def test_a_swizzled_buffer_interleaves_groups_of_records(memory, words):
    address, values = words
    stride, index_stride = 16, 32
    state = make_state(memory)
    describe(state, address, records=64, stride=stride, swizzle=True, flags=2 << 21)
    state.write_vgpr(0, LANES.reshape(1, -1))
    state.write_vgpr(1, (LANES % 4 * 4).reshape(1, -1))
    access(state, "buffer_load_dword", idxen=1, offen=1)
    expected = []
    for index in range(64):
        offset = index % 4 * 4
        group, member = divmod(index, index_stride)
        expected.append(values[((group * stride + offset // 4 * 4) * index_stride + member * 4 + offset % 4) // 4])
    assert lanes_of(state, 4)[0].tolist() == expected


@pytest.mark.parametrize(
    ("form", "expected"), [("ubyte", 0x81), ("sbyte", 0xFFFFFF81), ("ushort", 0x9281), ("sshort", 0xFFFF9281)]
)
def test_narrow_loads_extend_by_their_sign(memory, form, expected):
    address = memory.allocate(2)
    memory.bytes(address, 2)[:] = [0x81, 0x92]
    state = make_state(memory)
    describe(state, address, records=2)
    access(state, f"buffer_load_{form}")
    assert (lanes_of(state, 4) == expected).all()


def test_a_narrow_store_needs_its_bytes_in_range(memory):
    address = memory.allocate(8)
    memory.bytes(address, 8)[:] = 0
    state = make_state(memory)
    describe(state, address, records=5)
    state.write_vgpr(0, (LANES % 4 * 2).reshape(1, -1))
    state.write_vgpr(4, np.full((1, 1), 0xABCD, np.uint32))
    access(state, "buffer_store_short", offen=1)
    assert memory.bytes(address, 8).tolist() == [0xCD, 0xAB, 0xCD, 0xAB, 0, 0, 0, 0]


def test_inactive_lanes_take_no_part(memory, words):
    address, values = words
    state = make_state(memory)
    describe(state, address, records=4096)
    state.write_vgpr(0, LANES.reshape(1, -1) * np.uint32(4))
    state.write_exec((LANES < 3).reshape(1, -1))
    access(state, "buffer_load_dword", offen=1)
    assert np.array_equal(lanes_of(state, 4)[0], np.where(LANES < 3, values[:64], 0xCDCDCDCD))


def test_a_range_larger_than_its_memory_is_a_fault(memory, words):
    address, _ = words
    state = make_state(memory)
    describe(state, address, records=8192)
    state.write_vgpr(0, LANES.reshape(1, -1) * np.uint32(68))
    with pytest.raises(DeviceFault) as raised:
        access(state, "buffer_load_dword", offen=1)
    assert raised.value.description == "52 bytes past the end of `b`, 4096 bytes"
    assert raised.value.lane == 61  # 61 * 68 = 4148 is the first offset past 4096: 60 * 68 = 4080
