"""Waves that part, meet, wait for each other, and end."""

from __future__ import annotations

import numpy as np
import pytest
from support.assembled import assembled, run_program
from support.lanes import GFX942

from hipgraph_cb.virtual.dispatch import ExecutionSettings
from hipgraph_cb.virtual.faults import DeviceFault, FaultKind
from hipgraph_cb.virtual.isa.execution.program import program_for

LOOPS = assembled(
    """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_lshrrev_b32 v1, 6, v0
  v_readfirstlane_b32 s6, v1
  v_lshlrev_b32 v2, 2, v0
  s_mov_b32 s7, 0
again:
  s_add_u32 s7, s7, 3
  s_sub_u32 s6, s6, 1
  s_cmp_ge_i32 s6, 0
  s_cbranch_scc1 again
  v_mov_b32 v4, s7
  global_store_dword v2, v4, s[8:9]
  s_endpgm
""",
    "000206c0000000008600022001050c7e82000424800087be0783078006818680068003bffcff85bf0702087e008070dc02040800000081bf",
)


def test_waves_loop_as_often_as_each_of_them_wants():
    out = run_program(LOOPS, group_size=512)
    assert out[:512].reshape(8, 64).tolist() == [[3 * (wave + 1)] * 64 for wave in range(8)]


BARRIER = assembled(
    """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_lshrrev_b32 v1, 6, v0
  v_readfirstlane_b32 s6, v1
  v_lshlrev_b32 v2, 2, v0
  s_cmp_eq_u32 s6, 1
  s_cbranch_scc0 reader
  s_nop 0
  v_mov_b32 v4, 42
  v_mov_b32 v5, 0
  ds_write_b32 v5, v4
  s_waitcnt lgkmcnt(0)
  s_barrier
  s_branch both
reader:
  s_barrier
both:
  v_mov_b32 v5, 0
  ds_read_b32 v4, v5
  global_store_dword v2, v4, s[8:9]
  s_endpgm
""",
    "000206c0000000008600022001050c7e82000424068106bf080084bf000080bfaa02087e80020a7e00001ad805040000"
    "7fc08cbf00008abf010082bf00008abf80020a7e00006cd805000004008070dc02040800000081bf",
)


def test_a_barrier_holds_waves_that_came_on_another_way():
    assert run_program(BARRIER, group_size=256, lds=4)[:256].tolist() == [42] * 256


def test_each_workgroup_has_a_barrier_and_lds_of_its_own():
    out = run_program(BARRIER, groups=5, group_size=192, lds=4)
    assert out[:192].tolist() == [42] * 192


ENDED = assembled(
    """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_lshrrev_b32 v1, 6, v0
  v_readfirstlane_b32 s6, v1
  v_lshlrev_b32 v2, 2, v0
  s_cmp_eq_u32 s6, 0
  s_cbranch_scc1 done
  s_barrier
  v_mov_b32 v4, 7
  global_store_dword v2, v4, s[8:9]
done:
  s_endpgm
""",
    "000206c0000000008600022001050c7e82000424068006bf040085bf00008abf8702087e008070dc02040800000081bf",
)


def test_a_barrier_does_not_wait_for_waves_that_have_ended():
    out = run_program(ENDED, group_size=192)
    assert out[:192].tolist() == [0] * 64 + [7] * 128


SPIN = assembled(
    """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_lshrrev_b32 v1, 6, v0
  v_readfirstlane_b32 s6, v1
  v_mov_b32 v3, 0
  v_mov_b32 v4, 1
  s_cmp_eq_u32 s6, 0
  s_cbranch_scc0 producer
wait:
  global_load_dword v5, v3, s[8:9]
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s7, v5
  s_cmp_eq_u32 s7, 0
  s_cbranch_scc1 wait
  global_store_dword v3, v4, s[8:9] offset:4
  s_endpgm
producer:
  global_store_dword v3, v4, s[8:9]
  s_endpgm
""",
    "000206c0000000008600022001050c7e8002067e8102087e068006bf090084bf008050dc03000805700f8cbf05050e7e"
    "078006bffaff85bf048070dc03040800000081bf008070dc03040800000081bf",
)


def test_a_wave_that_spins_at_a_lower_pc_than_its_producer_gets_its_value():
    assert run_program(SPIN, group_size=128)[:2].tolist() == [1, 1]


GROUPS = assembled(
    """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_mov_b32 v3, 0
  v_mov_b32 v4, 1
  s_cmp_eq_u32 s2, 2
  s_cbranch_scc1 producer
wait:
  global_load_dword v5, v3, s[8:9]
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s7, v5
  s_cmp_eq_u32 s7, 0
  s_cbranch_scc1 wait
  s_endpgm
producer:
  global_store_dword v3, v4, s[8:9]
  s_endpgm
""",
    "000206c0000000008002067e8102087e028206bf070085bf008050dc03000805700f8cbf05050e7e078006bffaff85bf"
    "000081bf008070dc03040800000081bf",
)


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_a_workgroup_may_wait_for_a_later_one_that_is_not_running_yet(seed):
    out = run_program(GROUPS, groups=4, settings=ExecutionSettings(chunk_lanes=64, seed=seed))
    assert out[0] == 1


ENDLESS = assembled(
    """
forever:
  s_branch forever
""",
    "ffff82bf",
)


def test_an_endless_kernel_stops_when_it_is_interrupted():
    polls = iter(range(1000))
    with pytest.raises(DeviceFault) as caught:
        run_program(ENDLESS, interrupted=lambda: next(polls) > 500)
    assert caught.value.kind is FaultKind.TIMEOUT
    assert caught.value.hip_code == 702
    assert (caught.value.kernel, caught.value.offset, caught.value.workgroup) == ("tried", 0, (0, 0, 0))


CALL = assembled(
    """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_lshrrev_b32 v1, 6, v0
  v_readfirstlane_b32 s6, v1
  v_lshlrev_b32 v2, 2, v0
  s_getpc_b64 s[10:11]
base:
  s_and_b32 s6, s6, 1
  s_cmp_eq_u32 s6, 0
  s_mov_b32 s12, second-base
  s_mov_b32 s14, first-base
  s_cselect_b32 s12, s14, s12
  s_add_u32 s10, s10, s12
  s_addc_u32 s11, s11, 0
  s_swappc_b64 s[30:31], s[10:11]
  v_mov_b32 v4, s13
  global_store_dword v2, v4, s[8:9]
  s_endpgm
first:
  s_movk_i32 s13, 100
  s_setpc_b64 s[30:31]
second:
  s_movk_i32 s13, 200
  s_setpc_b64 s[30:31]
""",
    "000206c0000000008600022001050c7e82000424001c8abe06810686068006bfff008cbe40000000ff008ebe38000000"
    "0e0c0c850a0c0a800b800b820a1e9ebe0d02087e008070dc02040800000081bf64000db01e1d80bec8000db01e1d80be",
)


def test_waves_may_call_different_functions_at_one_instruction():
    out = run_program(CALL, group_size=256)
    assert out[:256].reshape(4, 64)[:, 0].tolist() == [100, 200, 100, 200]


WILD = assembled(
    """
  s_mov_b64 s[10:11], 0x1000
  s_setpc_b64 s[10:11]
""",
    "ff018abe001000000a1d80be",
)


def test_a_jump_out_of_the_code_is_a_fault():
    with pytest.raises(DeviceFault) as caught:
        run_program(WILD)
    assert caught.value.kind is FaultKind.ILLEGAL_INSTRUCTION
    assert caught.value.pc == 0x1000


MASKED = assembled(
    """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_lshlrev_b32 v2, 2, v0
  v_mov_b32 v4, 1
  v_and_b32 v1, 3, v0
again:
  v_add_u32 v4, 10, v4
  v_subrev_u32 v1, 1, v1
  v_cmp_lt_i32 vcc, -1, v1
  s_and_b64 exec, exec, vcc
  s_cbranch_execnz again
  s_mov_b64 exec, -1
  global_store_dword v2, v4, s[8:9]
  s_endpgm
""",
    "000206c000000000820004248102087e830002268a0808688102026cc102827d7e6afe86fbff89bfc101febe008070dc02040800000081bf",
)


def test_lanes_leave_a_loop_one_by_one():
    out = run_program(MASKED, group_size=128)
    assert out[:128].tolist() == [1 + 10 * ((lane & 3) + 1) for lane in range(128)]


IDS = assembled(
    """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  s_lshl_b32 s5, s2, 8
  v_lshl_add_u32 v2, v0, 2, s5
  v_mov_b32 v4, s2
  global_store_dword v2, v4, s[8:9]
  s_endpgm
""",
    "000206c0000000000288058e0200fdd1000515000202087e008070dc02040800000081bf",
)


@pytest.mark.parametrize("chunk_lanes", [64, 128, 100000])
def test_every_workgroup_knows_its_number_in_any_chunk(chunk_lanes):
    out = run_program(IDS, groups=10, settings=ExecutionSettings(chunk_lanes=chunk_lanes, seed=3))
    assert out[:640].tolist() == np.repeat(np.arange(10), 64).tolist()


@pytest.mark.parametrize(
    ("code", "only_reads", "writes"),
    [
        ("008050dc00000201", True, False),  # global_load_dword v1, v0, s[2:3]
        ("008070dc00010200", False, True),  # global_store_dword v0, v1, s[2:3]
        ("000000d800010000", False, True),  # ds_add_u32 v0, v1
        ("00006cd800000001", True, False),  # ds_read_b32 v1, v0
        ("008008dd00010200", False, False),  # global_atomic_add v0, v1, s[2:3]: whether it did is known afterwards
        ("000090c000000000", False, True),  # s_memtime s[0:1]: a clock advances
        ("81020268", True, False),  # v_add_u32 v1, 1, v1
    ],
)
def test_a_block_knows_whether_other_waves_may_see_what_it_does(code, only_reads, writes):
    block = program_for(bytes.fromhex(code + "000082bf"), GFX942).block(0)
    assert (block.only_reads, block.writes) == (only_reads, writes)
