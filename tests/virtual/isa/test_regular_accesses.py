"""Regular indices are found, and accesses through them do what accesses one by one would do."""

import numpy as np
import pytest
from support.lanes import lanes_of, make_state, run

from hipgraph_cb.virtual.faults import DeviceFault
from hipgraph_cb.virtual.isa.core.pattern import Pattern, find
from hipgraph_cb.virtual.isa.memory.linear_access import NO_SADDR
from hipgraph_cb.virtual.memory import Memory

pytestmark = pytest.mark.usefixtures("each_way")

WAVES = 128
LANE = np.arange(WAVES * 64).reshape(WAVES, 64)
TILE_ROW, TILE_COLUMN = LANE % 256 // 16, LANE % 16
GRID_ROW, GRID_COLUMN = LANE // 256 // 8, LANE // 256 % 8
REGULAR = {
    "consecutive": LANE + 7,
    "all the same": LANE * 0 + 5,
    "backwards": 9000 - LANE,
    "a row for each wave": LANE // 64 * 100 + LANE % 64,
    "tiles of a matrix, by rows": (GRID_ROW * 16 + TILE_ROW) * 128 + 3,
    "tiles of a matrix, by columns": GRID_COLUMN * 16 + TILE_COLUMN,
    "a transposed tile": TILE_COLUMN * 17 + TILE_ROW,
}
IRREGULAR = {
    "random": np.random.default_rng(1).integers(0, 8192, LANE.shape),
    "one lane elsewhere": np.where(LANE == 8000, 0, LANE),
    "a step that changes": LANE + LANE // 4096,
    "triangular": LANE % 64 * (LANE % 64 + 1) // 2,
}


def index_of(pattern: Pattern) -> np.ndarray:
    coordinates = np.indices(pattern.sizes)
    steps = np.array(pattern.steps).reshape(-1, *[1] * len(pattern.sizes))
    return pattern.start + (coordinates * steps).sum(axis=0)


@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
@pytest.mark.parametrize("name", REGULAR)
def test_a_regular_index_is_start_plus_a_multiple_of_each_coordinate(name, dtype):
    indices = REGULAR[name].astype(dtype)
    pattern = find(indices)
    assert pattern is not None
    assert np.array_equal(index_of(pattern).reshape(indices.shape), indices)
    assert (pattern.low, pattern.high) == (indices.min(), indices.max())
    assert pattern.is_injective == (len(np.unique(indices)) == indices.size)


@pytest.mark.parametrize("name", IRREGULAR)
def test_an_index_with_a_flaw_anywhere_has_no_pattern(name):
    found = find(IRREGULAR[name].astype(np.uint32))
    assert found is None or np.array_equal(index_of(found).reshape(LANE.shape), IRREGULAR[name])
    assert name == "a step that changes" or found is None


def test_indices_that_wrap_around_have_no_pattern():
    assert find((LANE + 0xFFFFF000).astype(np.uint32)) is None


@pytest.fixture
def memory() -> Memory:
    return Memory(16 << 20)


@pytest.fixture
def words(memory):
    values = np.random.default_rng(2).integers(0, 2**32, 65536, dtype=np.uint32)
    address = memory.allocate(values.nbytes)
    memory.bytes(address, values.nbytes)[:] = values.view(np.uint8)
    return address, values


def state_with_index(memory, address: int, indices: np.ndarray):
    """v2 holds `indices`, s[4:5] the address."""
    state = make_state(memory, groups=WAVES // 4, waves_per_group=4)
    state.write_sgpr64(4, address)
    state.write_vgpr(2, indices.astype(np.uint32))
    state.write_vgpr(3, np.zeros((1, 1), np.uint32))
    return state


def make_address(state) -> None:
    """v[6:7] = s[4:5] + (v[2:3] << 2)"""
    run(state, "v_lshl_add_u64", "VOP3", src0=256 + 2, src1=128 + 2, src2=4, vdst=6)


def load(state, count: int = 1) -> list[np.ndarray]:
    """Twice, since only an index that is met again is looked at."""
    size = "dword" if count == 1 else f"dwordx{count}"
    for _ in range(2):
        run(state, f"global_load_{size}", "GLOBAL", addr=6, saddr=NO_SADDR, vdst=10, offset=4)
    return [lanes_of(state, 10 + word) for word in range(count)]


@pytest.mark.parametrize("name", [*REGULAR, *IRREGULAR])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_loads_get_the_values_in_memory(memory, words, name, count):
    address, values = words
    indices = {**REGULAR, **IRREGULAR}[name]
    state = state_with_index(memory, address, indices)
    make_address(state)
    for word, loaded in enumerate(load(state, count)):
        assert np.array_equal(loaded, values[indices + 1 + word])


@pytest.mark.parametrize("name", [*REGULAR, *IRREGULAR])
@pytest.mark.parametrize("count", [1, 2])
def test_of_stores_to_one_place_the_highest_lane_wins_word_by_word(memory, words, name, count):
    address, values = words
    indices = {**REGULAR, **IRREGULAR}[name]
    state = state_with_index(memory, address, indices)
    data = np.random.default_rng(3).integers(0, 2**32, (count, WAVES, 64), dtype=np.uint32)
    for word in range(count):
        state.write_vgpr(20 + word, data[word])
    make_address(state)
    load(state)
    run(state, f"global_store_{'dword' if count == 1 else 'dwordx2'}", "GLOBAL", addr=6, saddr=NO_SADDR, data=20)
    expected = values.copy()
    for word in range(count):
        for place, value in zip((indices + word).ravel(), data[word].ravel(), strict=True):
            expected[place] = value
    assert np.array_equal(memory.bytes(address, values.nbytes).view(np.uint32), expected)


@pytest.mark.parametrize("distance", [1, 1000, -3, 0xFFFFFFFF])
def test_a_loop_may_move_an_index_by_a_uniform_amount(memory, words, distance):
    address, values = words
    indices = REGULAR["a row for each wave"] + 10
    state = state_with_index(memory, address, indices)
    state.write_sgpr(8, distance & 0xFFFFFFFF)
    moved = indices.astype(np.uint32)
    for _ in range(4):
        make_address(state)
        (loaded,) = load(state)
        assert np.array_equal(loaded, values[moved + 1])
        run(state, "v_add_u32", "VOP2", src0=8, vsrc1=2, vdst=2)
        moved = moved + np.uint32(distance & 0xFFFFFFFF)
    assert np.array_equal(lanes_of(state, 2), moved)


def test_a_moved_index_that_wraps_around_is_the_sum_in_32_bits(memory, words):
    address, _ = words
    indices = REGULAR["consecutive"]
    state = state_with_index(memory, address, indices)
    make_address(state)
    load(state)
    run(state, "v_add_u32", "VOP2", src0=193, vsrc1=2, vdst=4)  # plus -1
    state.write_sgpr(8, 0xFFFFFFF0)
    run(state, "v_add_u32", "VOP2", src0=8, vsrc1=2, vdst=5)  # plus -16, which the first 9 lanes do not have
    assert np.array_equal(lanes_of(state, 4), indices - 1)
    assert np.array_equal(lanes_of(state, 5), (indices - 16).astype(np.int64).astype(np.uint32))


def test_a_moved_index_can_be_overwritten_masked_and_made_half_of_a_pair(memory, words):
    address, _ = words
    state = state_with_index(memory, address, REGULAR["consecutive"])
    make_address(state)
    load(state)
    for register in (4, 5, 6, 8):
        run(state, "v_add_u32", "VOP2", src0=129, vsrc1=2, vdst=register)
    state.write_vgpr64(8, np.full((1, 1), 77, np.uint64))
    state.write_exec(LANE % 2 == 0)
    state.write_vgpr(4, np.zeros((1, 1), np.uint32))
    assert np.array_equal(lanes_of(state, 4), np.where(LANE % 2 == 0, 0, REGULAR["consecutive"] + 1))
    assert np.array_equal(state.full(state.read_vgpr64(5)) & np.uint64(0xFFFFFFFF), REGULAR["consecutive"] + 1)
    assert lanes_of(state, 8)[0, 0] == 77


def test_a_regular_access_that_leaves_its_allocation_is_a_fault(memory, words):
    address, _ = words
    state = state_with_index(memory, address, REGULAR["consecutive"] + 57344 - 7)
    make_address(state)
    with pytest.raises(DeviceFault) as caught:
        load(state)
    assert "0 bytes past the end of" in str(caught.value)
    assert (caught.value.address, caught.value.lane) == (address + 4 * 65536, 63)


def test_each_wave_may_have_a_base_of_its_own(memory, words):
    address, values = words
    state = make_state(memory, groups=WAVES // 4, waves_per_group=4)
    base = address + 256 * np.arange(WAVES, dtype=np.uint64).reshape(-1, 1)
    state.write_sgpr64(4, base)
    state.write_vgpr(2, (LANE % 64 * 4).astype(np.uint32))
    run(state, "global_load_dword", "GLOBAL", addr=2, saddr=4, vdst=10, offset=8)
    assert np.array_equal(lanes_of(state, 10), values[LANE + 2])


@pytest.mark.parametrize("step", [4, 8, 0])
def test_local_memory_is_reached_through_patterns_too(memory, step):
    state = make_state(memory, groups=WAVES // 4, waves_per_group=4, lds_size=8192)
    within = LANE % 256
    state.write_vgpr(2, (within * step).astype(np.uint32))
    for turn in range(3):
        data = np.random.default_rng(turn).integers(0, 2**32, LANE.shape, dtype=np.uint32)
        state.write_vgpr(20, data)
        run(state, "ds_write_b32", "DS", addr=2, data0=20, offset0=16, offset1=0)
        rows = state.lds.view(np.uint32)
        if step:
            assert np.array_equal(rows[:, 4 : 4 + 256 * step // 4 : step // 4].reshape(LANE.shape), data)
        else:
            assert np.array_equal(rows[:, 4], data.reshape(-1, 256)[:, -1])
        run(state, "ds_read_b32", "DS", addr=2, vdst=21, offset0=16, offset1=0)
        found = lanes_of(state, 21).reshape(-1, 256)
        assert np.array_equal(
            found, data.reshape(-1, 256) if step else np.repeat(data.reshape(-1, 256)[:, -1:], 256, 1)
        )


def test_an_address_for_each_of_very_many_waves_serves_all_their_lanes(memory):
    state = make_state(memory, groups=4096, waves_per_group=1, lds_size=64)
    address = (np.arange(4096, dtype=np.uint32) % 16 * 4).reshape(-1, 1)
    state.write_vgpr(2, address)
    for turn in range(3):
        data = np.random.default_rng(turn).integers(0, 2**32, (4096, 64), dtype=np.uint32)
        state.write_vgpr(20, data)
        run(state, "ds_write_b32", "DS", addr=2, data0=20, offset0=0, offset1=0)
        run(state, "ds_read_b32", "DS", addr=2, vdst=21, offset0=0, offset1=0)
        assert np.array_equal(lanes_of(state, 21), np.repeat(data[:, -1:], 64, axis=1))
