"""The register model: broadcasting shapes, lazy pairs, lane masks, masked writes."""

from __future__ import annotations

import numpy as np
import pytest

from hipgraph_cb.virtual.isa.core.state import EXEC, VCC, State
from hipgraph_cb.virtual.isa.execution.placement import Placement
from hipgraph_cb.virtual.isa.targets.gfx9.target import TARGET
from hipgraph_cb.virtual.memory import Memory

pytestmark = pytest.mark.usefixtures("each_way")

U32 = np.uint32
WAVES = 6


@pytest.fixture
def state() -> State:
    placement = Placement("k", 0x1000, 0, (3, 1, 1), 0, groups=3, waves_per_group=2, lanes=64, target=TARGET)
    return State(Memory(1 << 16), placement, lds_size=100)


def full(values) -> np.ndarray:
    return np.broadcast_to(values, (WAVES, 64))


def lanes() -> np.ndarray:
    return np.arange(WAVES * 64, dtype=U32).reshape(WAVES, 64)


def test_a_register_never_written_does_not_read_as_zero(state):
    assert state.read_vgpr(7).tolist() == [[0xCDCDCDCD]]
    assert state.read_sgpr(7) == 0xCDCDCDCD


@pytest.mark.parametrize("shape", [(1, 1), (WAVES, 1), (1, 64), (WAVES, 64)])
def test_every_broadcast_shape_survives_a_write(state, shape):
    value = np.arange(shape[0] * shape[1], dtype=U32).reshape(shape)
    state.write_vgpr(3, value)
    assert (full(state.read_vgpr(3)) == full(value)).all()


def test_a_pair_written_whole_reads_as_two_halves_and_back(state):
    value = lanes().astype(np.uint64) * 0x1_0000_0001 + 0xFFFF_FFFF
    state.write_vgpr64(4, value)
    assert (state.read_vgpr(4) == (value & 0xFFFFFFFF)).all()
    assert (state.read_vgpr(5) == (value >> 32)).all()
    assert (state.read_vgpr64(4) == value).all()


def test_a_pair_is_composed_from_halves_of_different_shapes(state):
    state.write_vgpr(4, lanes())
    for high in (np.full((1, 1), 0, U32), np.full((1, 1), 7, U32), np.arange(WAVES, dtype=U32).reshape(-1, 1), lanes()):
        state.write_vgpr(5, high)
        expected = lanes().astype(np.uint64) | full(high).astype(np.uint64) << np.uint64(32)
        assert (full(state.read_vgpr64(4)) == expected).all()


def test_overlapping_pairs_and_single_writes_keep_their_neighbours(state):
    random = np.random.default_rng(2)
    shadow = [np.full((WAVES, 64), 0xCDCDCDCD, U32) for _ in range(8)]
    for _ in range(2000):
        register = int(random.integers(7))
        kind = random.integers(4)
        if kind == 0:
            value = random.integers(0, 1 << 32, (WAVES, 64), dtype=U32)
            state.write_vgpr(register, value)
            shadow[register] = value
        elif kind == 1:
            value = random.integers(0, 1 << 64, (WAVES, 64), dtype=np.uint64)
            state.write_vgpr64(register, value)
            shadow[register], shadow[register + 1] = value.astype(U32), (value >> np.uint64(32)).astype(U32)
        elif kind == 2:
            assert (full(state.read_vgpr(register)) == shadow[register]).all()
        else:
            expected = shadow[register].astype(np.uint64) | shadow[register + 1].astype(np.uint64) << np.uint64(32)
            assert (full(state.read_vgpr64(register)) == expected).all()


@pytest.mark.parametrize("shape", [(1, 1), (WAVES, 1), (1, 64), (WAVES, 64)])
def test_a_masked_write_changes_active_lanes_only(state, shape):
    on = lanes() % 3 == 0
    state.write_vgpr(1, lanes())
    state.write_vgpr64(2, lanes().astype(np.uint64))
    state.write_exec(on)
    value = np.full(shape, 0xABCD1234, U32)
    state.write_vgpr(1, value)
    state.write_vgpr64(2, value.astype(np.uint64) << np.uint64(20))
    assert (state.read_vgpr(1) == np.where(on, 0xABCD1234, lanes())).all()
    assert (state.read_vgpr64(2) == np.where(on, np.uint64(0xABCD1234 << 20), lanes())).all()


def test_full_exec_is_kept_as_none(state):
    state.write_exec(np.ones((1, 64), bool))
    assert state.exec is None and state.active is None
    state.write_sgpr64(EXEC, 1)
    assert state.active.sum() == WAVES
    assert state.read_sgpr64(EXEC) == 1
    state.write_sgpr64(EXEC, (1 << 64) - 1)
    assert state.exec is None
    assert state.read_sgpr64(EXEC) == (1 << 64) - 1


def test_exec_can_be_written_and_read_by_halves(state):
    state.write_sgpr(EXEC + 1, 0)
    assert state.read_sgpr64(EXEC) == 0xFFFFFFFF
    state.write_sgpr(EXEC, 5)
    assert (state.read_sgpr(EXEC), state.read_sgpr(EXEC + 1)) == (5, 0)


def test_a_lane_mask_reads_as_number_and_as_halves(state):
    bits = lanes() % 5 == 0
    state.write_mask(VCC, bits)
    expected = [[sum(1 << lane for lane in range(64) if row[lane])] for row in bits]
    assert state.read_sgpr64(VCC).tolist() == expected
    assert state.read_sgpr(VCC).tolist() == [[value & 0xFFFFFFFF] for [value] in expected]
    assert state.read_sgpr(VCC + 1).tolist() == [[value >> 32] for [value] in expected]


def test_half_a_lane_mask_can_be_overwritten(state):
    state.write_mask(10, np.ones((1, 64), bool))
    state.write_sgpr(10, 6)
    assert state.read_sgpr64(10) == 0xFFFFFFFF_00000006
    state.write_mask(10, np.ones((1, 64), bool))
    state.write_sgpr(11, 6)
    assert state.read_sgpr64(10) == 0x6_FFFFFFFF


def test_a_number_reads_as_a_lane_mask(state):
    state.write_sgpr64(8, 0x8000000000000001)
    assert np.flatnonzero(full(state.read_mask(8))[2]).tolist() == [0, 63]


def test_a_compare_gives_zero_in_inactive_lanes(state):
    state.write_exec(lanes() % 2 == 0)
    state.write_compare(VCC, np.ones((1, 1), bool))
    assert state.read_sgpr64(VCC) == 0x5555555555555555


def test_writes_reach_only_the_waves_that_run(state):
    state.write_sgpr(4, 10)
    state.write_vgpr(1, np.full((1, 1), 1, U32))
    state.write_mask(VCC, np.zeros((1, 1), bool))
    state.write_scc(False)
    state.set_group(np.array([[1], [0], [0], [1], [0], [0]], bool))
    state.write_sgpr(4, 20)
    state.write_vgpr(1, np.full((1, 1), 2, U32))
    state.write_vgpr_all_lanes(2, np.full((1, 1), 2, U32))
    state.write_mask(VCC, np.ones((1, 1), bool))
    state.write_scc(True)
    state.write_sgpr64(EXEC, 3)
    assert state.active.sum() == 4
    state.set_group(None)
    assert state.read_sgpr(4).ravel().tolist() == [20, 10, 10, 20, 10, 10]
    assert state.read_vgpr(1)[:, 0].tolist() == [2, 1, 1, 2, 1, 1]
    assert state.read_vgpr(2)[:, 0].tolist() == [2, *[0xCDCDCDCD] * 2, 2, *[0xCDCDCDCD] * 2]
    assert state.read_mask(VCC)[:, 0].tolist() == [True, False, False, True, False, False]
    assert state.read_scc().ravel().tolist() == [True, False, False, True, False, False]
    assert state.exec.sum(axis=1).tolist() == [2, 64, 64, 2, 64, 64]


def test_a_scalar_that_is_equal_again_is_an_int_again(state):
    state.write_sgpr(4, 1)
    first = np.array([[1], [1], [1], [0], [0], [0]], bool)
    state.set_group(first)
    state.write_sgpr(4, 2)
    state.set_group(~first)
    state.write_sgpr(4, 2)
    state.set_group(None)
    assert type(state.read_sgpr(4)) is int and state.read_sgpr(4) == 2


def test_scc_from_a_lane_mask_means_any_bit(state):
    bits = lanes() < 64
    state.write_mask(8, bits)
    state.write_scc(state.read_pair(8))
    assert state.read_scc().ravel().tolist() == [True, *[False] * 5]


def test_a_private_word_belongs_to_one_lane(state):
    state.scratch_size = 10
    assert state.scratch.shape == (3, WAVES, 64)


def test_each_workgroup_has_its_own_lds_row(state):
    assert state.lds.shape == (3, 112)
    assert state.lds_rows.ravel().tolist() == [0, 0, 112, 112, 224, 224]
    assert (state.lds == 0xCD).all()


def test_a_wave_that_has_ended_stays_off_when_exec_is_set_for_all(state):
    ended = np.arange(WAVES).reshape(-1, 1) == 2
    state.retire(ended, ~ended)
    state.write_sgpr64(EXEC, 0xFFFFFFFFFFFFFFFF)
    assert np.array_equal(full(state.active), full(~ended))
    state.write_exec(np.ones((1, 1), np.bool_))
    assert np.array_equal(full(state.active), full(~ended))


def test_a_fault_shows_its_address_as_an_unsigned_number(state):
    addresses = np.full((WAVES, 64), 0xCDCDCDCDCDCDCDCD, np.uint64).view(np.int64)
    assert state.fault(None, "outside device memory", addresses=addresses).address == 0xCDCDCDCDCDCDCDCD


@pytest.mark.parametrize("shape", [(1, 64), (WAVES, 1), (WAVES, 64)])
def test_the_active_lanes_of_a_wave_are_side_by_side_for_any_exec_and_group(state, shape):
    bits = np.zeros(shape, np.bool_)
    bits[:, :1] = True
    for group in (None, np.arange(WAVES).reshape(-1, 1) > 0):
        state.set_group(group)
        state.set_exec(bits)
        assert state.active.flags.c_contiguous
