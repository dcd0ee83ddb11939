"""Every branch and every instruction without a result that the corpus holds."""

from __future__ import annotations

from support.assembled import assembled, run_program

EVERY_BRANCH = assembled(
    """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  s_mov_b32 s20, 0
  s_cmp_eq_u32 s20, 0
  s_cbranch_scc1 second
  s_or_b32 s20, s20, 1
second:
  s_cbranch_scc0 third
  s_or_b32 s20, s20, 2
third:
  s_mov_b64 vcc, 0
  s_cbranch_vccz fourth
  s_or_b32 s20, s20, 4
fourth:
  s_cbranch_vccnz fifth
  s_or_b32 s20, s20, 8
fifth:
  s_cbranch_execz sixth
  s_or_b32 s20, s20, 16
sixth:
  s_mov_b64 s[12:13], exec
  s_mov_b64 exec, 0
  s_cbranch_execnz seventh
  s_or_b32 s20, s20, 32
seventh:
  s_cbranch_execz eighth
  s_or_b32 s20, s20, 64
eighth:
  s_mov_b64 exec, s[12:13]
  s_branch ninth
  s_or_b32 s20, s20, 128
ninth:
  s_getpc_b64 s[14:15]
here:
  s_add_u32 s14, s14, routine-here
  s_addc_u32 s15, s15, 0
  s_swappc_b64 s[16:17], s[14:15]
  s_or_b32 s20, s20, 256
  s_nop 3
  s_setprio 1
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_barrier
  v_lshlrev_b32 v0, 2, v0
  v_mov_b32 v1, s20
  global_store_dword v0, v1, s[8:9]
  s_endpgm
routine:
  s_or_b32 s20, s20, 512
  s_setpc_b64 s[16:17]
""",
    "000206c000000000800094be148006bf010085bf14811487010084bf148214878001eabe010086bf14841487010087bf"
    "14881487010088bf149014877e018cbe8001febe010089bf14a01487010088bf14c014870c01febe020082bf14ff1487"
    "80000000001c8ebe0eff0e803c0000000f800f820e1e90be14ff148700010000030080bf01008fbf70008cbf00008abf"
    "820000241402027e008070dc00010800000081bf14ff148700020000101d80be",
)


def test_branches_calls_and_waits_of_the_corpus():
    out = run_program(EVERY_BRANCH, group_size=128)
    # taken: scc1, vccz, the second execz, the branch, the call; not taken: scc0, vccnz, the first execz, execnz
    assert set(out[:128].tolist()) == {2 | 8 | 16 | 32 | 256 | 512}
    assert not out[128:].any()
