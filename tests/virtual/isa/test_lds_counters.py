"""ds_append and ds_consume count active lanes; ds_condxchg32 exchanges where a bit requests it."""

from __future__ import annotations

import numpy as np
import pytest
from support.lanes import lanes_of, make_state, run_code

from hipgraph_cb.virtual.memory import Memory

M0, LANES = 124, np.arange(64)
APPEND, CONSUME = "0c007cd900000001", "0c007ad900000001"  # ds_append v1 offset:12, ds_consume v1 offset:12


@pytest.mark.parametrize(("code", "sign"), [(APPEND, 1), (CONSUME, -1)])
def test_each_wave_counts_its_active_lanes_in_turn(code, sign):
    state = make_state(Memory(1 << 16), groups=2, waves_per_group=2, lds_size=64)
    cells = state.lds.view(np.uint32)
    cells[:, 7] = 1000
    state.write_sgpr(M0, 16)
    state.write_vgpr(1, np.full((1, 1), 5, np.uint32))
    exec_bits = np.stack([LANES < 10, LANES % 2 == 0, LANES < 0, LANES >= 0])
    state.write_exec(exec_bits)
    run_code(state, code)
    assert cells[:, 7].tolist() == [1000 + sign * 42, 1000 + sign * 64]
    old = np.array([1000, 1000 + sign * 10, 0, 1000])[:, None]
    assert np.array_equal(lanes_of(state, 1), np.where(exec_bits, old, 5))


def test_a_conditional_exchange_looks_at_the_top_bit_of_each_word():
    state = make_state(Memory(1 << 16), lds_size=64 * 8 + 8)
    cells = state.lds.view(np.uint32)
    random = np.random.default_rng(1)
    cells[:] = random.integers(0, 2**32, cells.shape, dtype=np.uint32)
    before = cells[0, 2:130].reshape(64, 2).copy()
    data = random.integers(0, 2**32, (2, 1, 64), dtype=np.uint32)
    state.write_vgpr(0, (8 * LANES + 5).astype(np.uint32).reshape(1, 64))  # the lower three bits do not count
    state.write_vgpr(2, data[0])
    state.write_vgpr(3, data[1])
    run_code(state, "0800fcd800020004")  # ds_condxchg32_rtn_b64 v[4:5], v0, v[2:3] offset:8
    for part in (0, 1):
        new = data[part, 0]
        expected = np.where(new >> 31 == 1, new & 0x7FFFFFFF, before[:, part])
        assert cells[0, 2:130].reshape(64, 2)[:, part].tolist() == expected.tolist()
        assert lanes_of(state, 4 + part)[0].tolist() == before[:, part].tolist()
