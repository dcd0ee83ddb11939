"""Workgroups that wait for each other, for all ends of the chunks and in any order."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest
from support.assembled import assembled, run_program

from hipgraph_cb.virtual.dispatch import ExecutionSettings
from hipgraph_cb.virtual.faults import DeviceFault, FaultKind

ORDERS = [(lanes, seed) for lanes in (64, 256, 1 << 16) for seed in (None, 1, 2)]


def stopped_after(polls: int) -> Callable[[], bool]:
    """For `interrupted`: what needs more polls than that has not been recognised as a wait."""
    counter = count()
    return lambda: next(counter) > polls


# Each of three rounds: workgroups count themselves in, then wait until all eight have.
GRID_BARRIER = assembled(
    """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_mov_b32 v3, 0
  v_mov_b32 v4, 1
  s_mov_b32 s10, 0
round:
  s_barrier
  v_cmp_eq_u32 vcc, 0, v0
  s_and_saveexec_b64 s[12:13], vcc
  global_atomic_add v3, v4, s[8:9]
  s_mov_b64 exec, s[12:13]
  s_add_u32 s10, s10, 1
  s_mul_i32 s11, s10, 8
wait:
  global_load_dword v5, v3, s[8:9] sc0 sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s7, v5
  s_cmp_lt_u32 s7, s11
  s_cbranch_scc1 wait
  s_cmp_lt_u32 s10, 3
  s_cbranch_scc1 round
  v_lshlrev_b32 v2, 2, s2
  v_mov_b32 v6, s7
  global_store_dword v2, v6, s[8:9] offset:16
  s_endpgm
""",
    "000206c0000000008002067e8102087e80008abe00008abf8000947d6a208cbe008008dd030408000c01febe0a810a80"
    "0a880b92008051de03000805700f8cbf05050e7e070b0abffaff85bf0a830abff0ff85bf020012d18204000007020c7e"
    "108070dc02060800000081bf",
)


@pytest.mark.parametrize(("chunk_lanes", "seed"), ORDERS)
def test_a_grid_barrier_holds_every_workgroup_until_the_last_has_come(chunk_lanes, seed):
    settings = ExecutionSettings(chunk_lanes=chunk_lanes, seed=seed)
    out = run_program(GRID_BARRIER, groups=8, group_size=128, settings=settings, interrupted=stopped_after(2000))
    assert out[:12].tolist() == [24, 0, 0, 0, *[24] * 8]


# A lock that each wave takes by compare-and-swap, and holds for a while.
LOCK = assembled(
    """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_mov_b32 v3, 0
  v_mov_b32 v4, 1
  v_mov_b32 v5, 0
  s_mov_b64 exec, 1
lock:
  global_atomic_cmpswap v6, v3, v[4:5], s[8:9] sc0
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s7, v6
  s_cmp_eq_u32 s7, 0
  s_cbranch_scc0 lock
  global_load_dword v7, v3, s[8:9] offset:4 sc0 sc1
  s_waitcnt vmcnt(0)
  s_movk_i32 s10, 20
work:
  s_sub_u32 s10, s10, 1
  s_cmp_lg_u32 s10, 0
  s_cbranch_scc1 work
  v_add_u32 v7, 1, v7
  global_store_dword v3, v7, s[8:9] offset:4 sc0 sc1
  s_waitcnt vmcnt(0)
  global_store_dword v3, v5, s[8:9] sc0 sc1
  s_endpgm
""",
    "000206c0000000008002067e8102087e80020a7e8101febe008005dd03040806700f8cbf06050e7e078006bffaff84bf"
    "048051de03000807700f8cbf14000ab00a818a800a8007bffdff85bf810e0e68048071de03070800700f8cbf008071de"
    "03050800000081bf",
)


@pytest.mark.parametrize(("chunk_lanes", "seed"), ORDERS)
def test_a_lock_is_passed_from_wave_to_wave(chunk_lanes, seed):
    settings = ExecutionSettings(chunk_lanes=chunk_lanes, seed=seed)
    out = run_program(LOCK, groups=8, group_size=128, settings=settings, interrupted=stopped_after(3000))
    assert out[:2].tolist() == [0, 16]


# Workgroup 2 of four is waited for, in a loop that counts its turns.
COUNTING = assembled(
    """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_mov_b32 v3, 0
  v_mov_b32 v4, 1
  s_mov_b32 s10, 0
  s_cmp_eq_u32 s2, 2
  s_cbranch_scc1 producer
wait:
  s_add_u32 s10, s10, 1
  global_load_dword v5, v3, s[8:9] sc0 sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s7, v5
  s_cmp_eq_u32 s7, 0
  s_cbranch_scc1 wait
  s_endpgm
producer:
  global_store_dword v3, v4, s[8:9] sc0 sc1
  s_endpgm
""",
    "000206c0000000008002067e8102087e80008abe028206bf080085bf0a810a80008051de03000805700f8cbf05050e7e"
    "078006bff9ff85bf000081bf008071de03040800000081bf",
)


@pytest.mark.parametrize(("chunk_lanes", "seed"), [(64, None), (64, 1), (1 << 16, None)])
def test_a_wait_that_counts_its_turns_ends_too(chunk_lanes, seed):
    settings = ExecutionSettings(chunk_lanes=chunk_lanes, seed=seed)
    out = run_program(COUNTING, groups=4, settings=settings, interrupted=stopped_after(3000))
    assert out[0] == 1


LAST = assembled(
    """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_mov_b32 v3, 0
  v_mov_b32 v4, 1
  s_cmp_eq_u32 s2, 63
  s_cbranch_scc1 producer
wait:
  global_load_dword v5, v3, s[8:9] sc0 sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s7, v5
  s_cmp_eq_u32 s7, 0
  s_cbranch_scc1 wait
  v_lshlrev_b32 v2, 2, s2
  global_store_dword v2, v4, s[8:9] offset:4
  s_endpgm
producer:
  global_store_dword v3, v4, s[8:9] sc0 sc1
  s_endpgm
""",
    "000206c0000000008002067e8102087e02bf06bf0b0085bf008051de03000805700f8cbf05050e7e078006bffaff85bf"
    "020012d182040000048070dc02040800000081bf008071de03040800000081bf",
)


@pytest.mark.parametrize("seed", [None, 1])
def test_many_workgroups_may_wait_for_one_that_runs_much_later(seed):
    settings = ExecutionSettings(chunk_lanes=64, seed=seed)
    out = run_program(LAST, groups=64, settings=settings, interrupted=stopped_after(5000))
    assert out[:65].tolist() == [1] * 64 + [0]


NEVER = assembled(
    """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_mov_b32 v3, 0
wait:
  global_load_dword v5, v3, s[8:9] sc0 sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s7, v5
  s_cmp_eq_u32 s7, 0
  s_cbranch_scc1 wait
  s_endpgm
""",
    "000206c0000000008002067e008051de03000805700f8cbf05050e7e078006bffaff85bf000081bf",
)


@pytest.mark.parametrize("chunk_lanes", [64, 1 << 16])
def test_a_wait_without_an_end_stops_when_it_is_interrupted(chunk_lanes):
    settings = ExecutionSettings(chunk_lanes=chunk_lanes)
    with pytest.raises(DeviceFault) as caught:
        run_program(NEVER, groups=3, settings=settings, interrupted=stopped_after(500))
    assert caught.value.kind is FaultKind.TIMEOUT
    assert 12 <= caught.value.offset <= 32  # in the loop
