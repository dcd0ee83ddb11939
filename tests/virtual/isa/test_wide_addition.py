"""Two additions with a carry between them are one of 64 bits, whatever is known of the numbers, and with lanes off."""

from __future__ import annotations

import numpy as np
import pytest
from support.gfx1100 import bits, fill, make_waves, read, run

from hipgraph_cb.virtual.isa.core.scaled_index import ScaledIndex
from hipgraph_cb.virtual.isa.core.state import VCC

LANE = np.arange(32)
MASK64 = (1 << 64) - 1
EDGES = np.array([0, 1, 0xFFFFFFFF, 1 << 32, MASK64 >> 1, MASK64, 0xFFFFFFFF << 32, 5], np.uint64)


def put(state, register: int, values) -> None:
    values = np.asarray(values, np.uint64)
    fill(state, register, values & np.uint64(0xFFFFFFFF))
    fill(state, register + 1, values >> np.uint64(32))


def wide(state, register: int) -> list[int]:
    return (read(state, register)[0].astype(np.uint64) | read(state, register + 1)[0].astype(np.uint64) << 32).tolist()


@pytest.mark.parametrize("first", EDGES.tolist())
@pytest.mark.parametrize("is_on", [LANE >= 0, LANE % 3 > 0])
@pytest.mark.parametrize("form", ["scalar", "vectors"])
def test_sum_and_carry_are_those_of_64_bits(form, is_on, first):
    state = make_waves(waves=1)
    second = np.tile(EDGES, 4)
    put(state, 0, second)
    put(state, 2, np.full(32, first, np.uint64))
    put(state, 6, np.full(32, 9))
    state.write_sgpr64(4, first)
    state.write_exec(is_on.reshape(1, -1))
    if form == "scalar":  # v_add_co_u32 v6, vcc_lo, s4, v0; v_add_co_ci_u32 v7, vcc_lo, s5, v1, vcc_lo
        run(state, "066a00d704000200 05020e40")
        carry = state.read_sgpr(VCC)
    else:  # v_add_co_u32 v6, s8, v0, v2; v_add_co_ci_u32 v7, s8, v1, v3, s8
        run(state, "060800d700050200 070820d501072200")
        carry = state.read_sgpr(8)
    sums = [first + number for number in second.tolist()]
    assert wide(state, 6) == [total & MASK64 if on else 9 for total, on in zip(sums, is_on.tolist(), strict=True)]
    assert carry == bits([total > MASK64 and on for total, on in zip(sums, is_on.tolist(), strict=True)])


def test_an_index_that_is_known_stays_known_and_has_no_carry():
    state = make_waves(waves=1)
    fill(state, 0, LANE)
    fill(state, 1, 0)
    state.write_sgpr64(4, 0x7F0000000010)
    # v_lshlrev_b64 v[0:1], 2, v[0:1]; v_add_co_u32 v6, vcc_lo, s4, v0; v_add_co_ci_u32 v7, vcc_lo, s5, v1, vcc_lo
    run(state, "00003cd782000200 066a00d704000200 05020e40")
    assert isinstance(state.read_scaled(6), ScaledIndex)
    assert wide(state, 6) == (0x7F0000000010 + 4 * LANE).tolist()
    assert state.read_sgpr(VCC) == 0


def test_an_index_that_may_pass_the_end_of_64_bits_has_its_carry():
    state = make_waves(waves=1)
    fill(state, 0, LANE)
    fill(state, 1, 0)
    state.write_sgpr64(4, MASK64 - 39)
    run(state, "00003cd782000200 066a00d704000200 05020e40")
    assert wide(state, 6) == [(MASK64 - 39 + 4 * lane) & MASK64 for lane in range(32)]
    assert state.read_sgpr(VCC) == bits(LANE >= 10)


def test_a_sum_that_the_second_instruction_reads_counts_for_it():
    state = make_waves(waves=1)
    fill(state, 0, LANE)
    fill(state, 1, 1000)
    state.write_sgpr64(4, 5 | 7 << 32)
    # v_add_co_u32 v1, vcc_lo, s4, v0; v_add_co_ci_u32 v2, vcc_lo, s5, v1, vcc_lo
    run(state, "016a00d704000200 05020440")
    assert np.array_equal(read(state, 1)[0], LANE + 5)
    assert np.array_equal(read(state, 2)[0], LANE + 12)


def test_half_of_a_pair_stays_when_the_other_is_overwritten():
    for overwritten, kept in ((0, 1), (1, 0)):
        state = make_waves(waves=1)
        put(state, 0, (LANE + 1) * 0x4000000180000001)
        # v_lshlrev_b64 v[0:1], 2, v[0:1]; v_mov_b32 of one half, 7
        run(state, "00003cd782000200" + ("8702007e", "8702027e")[overwritten])
        shifted = ((LANE.astype(np.uint64) + np.uint64(1)) * np.uint64(0x4000000180000001)) << np.uint64(2)
        expected = shifted >> np.uint64(32) if kept else shifted & np.uint64(0xFFFFFFFF)
        assert np.array_equal(read(state, kept)[0], expected)
        assert read(state, overwritten)[0].tolist() == 32 * [7]
