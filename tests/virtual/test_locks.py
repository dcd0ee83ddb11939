"""Workgroups that wait for a lock with barriers in the loop, as Triton compiles `while tl.atomic_cas(...)`."""

from __future__ import annotations

import time

import pytest
from support.assembled import assembled, run_program

from hipgraph_cb.virtual.dispatch import ExecutionSettings

# word 0 is the lock, word 1 counts the workgroups that had it
LOCK = assembled(
    """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_mov_b32 v1, 0
  v_mov_b32 v2, 1
  v_mov_b32 v3, 0
retry:
  s_barrier
  v_cmp_eq_u32 vcc, 0, v0
  s_and_saveexec_b64 s[10:11], vcc
  s_cbranch_execz tried
  global_atomic_cmpswap v4, v1, v[2:3], s[8:9] sc0
  ds_write_b32 v1, v4
tried:
  s_mov_b64 exec, s[10:11]
  s_barrier
  ds_read_b32 v5, v1
  v_readfirstlane_b32 s12, v5
  s_cmp_lg_u32 s12, 0
  s_cbranch_scc1 retry
  s_barrier
  v_cmp_eq_u32 vcc, 0, v0
  s_and_saveexec_b64 s[10:11], vcc
  s_cbranch_execz counted
  global_load_dword v6, v1, s[8:9] offset:4
  v_add_u32 v6, 1, v6
  global_store_dword v1, v6, s[8:9] offset:4
counted:
  s_mov_b64 exec, s[10:11]
  s_barrier
  global_store_dword v1, v1, s[8:9]
  s_endpgm
""",
    "000206c0000000008002027e8102047e8002067e00008abf8000947d6a208abe040088bf008005dd0102080400001ad8"
    "010400000a01febe00008abf00006cd8010000050505187e0c8007bff1ff85bf00008abf8000947d6a208abe050088bf"
    "048050dc01000806810c0c68048070dc010608000a01febe00008abf008070dc01010800000081bf",
)


@pytest.mark.parametrize("chunk_lanes", [128, 512, 65536])
@pytest.mark.parametrize("groups", [1, 2, 9])
def test_every_workgroup_gets_the_lock_in_the_end(groups, chunk_lanes):
    started = time.process_time()
    out = run_program(
        LOCK,
        groups=groups,
        group_size=128,
        lds=64,
        settings=ExecutionSettings(chunk_lanes=chunk_lanes),
        interrupted=lambda: time.process_time() - started > 300,
    )
    assert out[:2].tolist() == [0, groups]
