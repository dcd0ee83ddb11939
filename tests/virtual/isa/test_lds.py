"""DS reads and writes: widths, pairs, a row for each workgroup, and the bounds of it."""

import numpy as np
import pytest
from support.lanes import lanes_of, make_state, run

from hipgraph_cb.virtual.isa.memory import lds  # noqa: F401  # registers the instructions
from hipgraph_cb.virtual.memory import Memory

pytestmark = pytest.mark.usefixtures("each_way")

LANES = np.arange(64, dtype=np.uint32)


@pytest.fixture(scope="module")
def memory() -> Memory:
    return Memory(1 << 20)


def offsets(byte_offset: int) -> dict[str, int]:
    return {"offset0": byte_offset & 255, "offset1": byte_offset >> 8}


def write(state, register: int, values: np.ndarray) -> None:
    array = np.asarray(values, np.uint32)
    state.write_vgpr(register, array.reshape(1, -1))


@pytest.mark.parametrize(("size", "words"), [("b32", 1), ("b64", 2), ("b96", 3), ("b128", 4)])
def test_what_is_written_is_read_back(memory, size, words):
    state = make_state(memory, lds_size=4096)
    values = np.random.default_rng(3).integers(0, 2**32, (words, 64), dtype=np.uint32)
    write(state, 0, LANES * 4 * words)
    for word in range(words):
        write(state, 8 + word, values[word])
    run(state, f"ds_write_{size}", "DS", addr=0, data0=8, data1=0, vdst=0, **offsets(300))
    assert np.array_equal(state.lds[0, 300 : 300 + 256 * words].view(np.uint32).reshape(64, words).T, values)
    run(state, f"ds_read_{size}", "DS", addr=0, data0=0, data1=0, vdst=20, **offsets(300))
    for word in range(words):
        assert np.array_equal(lanes_of(state, 20 + word)[0], values[word])


@pytest.mark.parametrize(
    ("form", "words", "unit"), [("2_b32", 1, 4), ("2_b64", 2, 8), ("2st64_b32", 1, 256), ("2st64_b64", 2, 512)]
)
def test_the_two_address_forms_scale_each_offset(memory, form, words, unit):
    state = make_state(memory, lds_size=8192)
    values = np.random.default_rng(4).integers(0, 2**32, (2 * words, 64), dtype=np.uint32)
    write(state, 0, LANES * 4 * words)
    for index in range(2 * words):
        write(state, 8 + index, values[index])
    fields = {"addr": 0, "offset0": 1, "offset1": 5, "vdst": 0}
    run(state, f"ds_write{form}", "DS", data0=8, data1=8 + words, **fields)
    row = state.lds[0]
    second = row[5 * unit : 5 * unit + 256 * words].view(np.uint32).reshape(64, words).T
    assert np.array_equal(second, values[words:])
    assert np.array_equal(row[unit : unit + 4 * words].view(np.uint32), values[:words, 0])
    run(state, f"ds_read{form}", "DS", data0=0, data1=0, **(fields | {"vdst": 20}))
    words_of_row = row.view(np.uint32)
    for place, offset in enumerate((unit, 5 * unit)):
        for word in range(words):
            expected = words_of_row[(offset + 4 * words * LANES) // 4 + word]
            assert np.array_equal(lanes_of(state, 20 + place * words + word)[0], expected)


def test_a_pair_is_read_before_its_address_register_is_overwritten(memory):
    state = make_state(memory, lds_size=1024)
    state.lds[0, :1024].view(np.uint32)[:] = np.arange(256) * 10
    write(state, 0, LANES * 4)
    run(state, "ds_read2_b32", "DS", addr=0, data0=0, data1=0, vdst=0, offset0=0, offset1=64)
    assert np.array_equal(lanes_of(state, 0)[0], LANES * 10)
    assert np.array_equal(lanes_of(state, 1)[0], (LANES + 64) * 10)


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("u8", 0xF1),
        ("i8", 0xFFFFFFF1),
        ("u16", 0x80F1),
        ("i16", 0xFFFF80F1),
    ],
)
def test_narrow_reads_extend(memory, form, expected):
    state = make_state(memory, lds_size=16)
    state.lds[0, 4:6] = [0xF1, 0x80]
    write(state, 0, 4)
    write(state, 8, 0xAAAABBBB)
    run(state, f"ds_read_{form}", "DS", addr=0, data0=0, data1=0, vdst=8, **offsets(0))
    assert (lanes_of(state, 8) == expected).all()


@pytest.mark.parametrize(
    ("form", "expected"),
    [("b8", [0x11, 0xCD]), ("b8_d16_hi", [0x33, 0xCD]), ("b16", [0x11, 0x22]), ("b16_d16_hi", [0x33, 0x44])],
)
def test_narrow_writes_take_one_half_of_the_register(memory, form, expected):
    state = make_state(memory, lds_size=16)
    write(state, 0, 0)
    write(state, 8, 0x44332211)
    run(state, f"ds_write_{form}", "DS", addr=0, data0=8, data1=0, vdst=0, **offsets(3))
    assert state.lds[0, 3:5].tolist() == expected


def test_each_workgroup_has_a_row_of_its_own(memory):
    state = make_state(memory, groups=3, waves_per_group=2, lds_size=256)
    group = np.repeat(np.arange(3), 2).reshape(6, 1)
    wave = np.tile(np.arange(2), 3).reshape(6, 1)
    state.write_vgpr(0, np.broadcast_to(np.uint32(4) * wave.astype(np.uint32), (6, 64)).copy())
    state.write_vgpr(8, (10 * group + wave).astype(np.uint32))
    run(state, "ds_write_b32", "DS", addr=0, data0=8, data1=0, vdst=0, **offsets(0))
    assert state.lds[:, :8].copy().view(np.uint32).tolist() == [[0, 1], [10, 11], [20, 21]]


def test_inactive_lanes_may_have_any_address(memory):
    state = make_state(memory, lds_size=64)
    write(state, 0, LANES * 4)
    write(state, 8, LANES)
    state.write_exec(LANES.reshape(1, -1) < 16)
    run(state, "ds_write_b32", "DS", addr=0, data0=8, data1=0, vdst=0, **offsets(0))
    assert np.array_equal(state.lds[0, :64].view(np.uint32), np.arange(16))
