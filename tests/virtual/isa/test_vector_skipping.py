"""s_setvskip: while VSKIP is set no vector instruction is executed, regardless of EXEC."""

from __future__ import annotations

import numpy as np
from support.assembled import assembled, run_program

SKIPPING = assembled(
    """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_lshlrev_b32 v2, 2, v0
  v_mov_b32 v3, 1
  v_lshrrev_b32 v1, 6, v0
  v_readfirstlane_b32 s4, v1
  s_waitcnt lgkmcnt(0)
  ds_write_b32 v2, v3
  s_setvskip s4, 0
  v_mov_b32 v3, 2
  v_cmp_eq_u32 vcc, v0, v0
  v_readfirstlane_b32 s4, v2
  ds_write_b32 v2, v2
  global_store_dword v2, v2, s[8:9] offset:1024
  s_getreg_b32 s10, hwreg(HW_REG_MODE, 28, 1)
  s_mov_b32 s11, 5
  s_setvskip 0, 0
  ds_read_b32 v5, v2
  v_mov_b32 v4, s10
  v_mov_b32 v6, s11
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v3, s[8:9]
  global_store_dword v2, v4, s[8:9] offset:2048
  v_add_u32 v5, v5, v6
  global_store_dword v2, v5, s[8:9] offset:3072
  s_endpgm
""",
    "000206c000000000820004248102067e860002200105087e7fc08cbf00001ad802030000048010bf8202067e0001947d"
    "0205087e00001ad802020000008470dc0202080001078ab885008bbe808010bf00006cd8020000050a02087e0b020c7e"
    "7fc08cbf008070dc02030800008870dc02040800050d0a68008c70dc02050800000081bf",
)


CHOSEN_BIT = assembled(
    """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_lshlrev_b32 v2, 2, v0
  v_mov_b32 v3, 1
  s_mov_b32 s4, 0x00100000
  s_waitcnt lgkmcnt(0)
  s_setvskip s4, 52
  v_mov_b32 v3, 2
  s_setvskip s4, 19
  v_mov_b32 v4, 3
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 28, 1), 1
  v_mov_b32 v4, 4
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 28, 1), 0
  global_store_dword v2, v3, s[8:9]
  global_store_dword v2, v4, s[8:9] offset:256
  s_endpgm
""",
    "000206c000000000820004248102067eff0084be000010007fc08cbf04b410bf8202067e049310bf8302087e010700ba"
    "010000008402087e010700ba00000000008070dc02030800008170dc02040800000081bf",
)


def test_a_wave_that_skips_executes_no_vector_instruction_and_every_scalar_one():
    """Waves 1 and 3 skip: bit 0 of their number is set."""
    out = run_program(SKIPPING, group_size=256, lds=1024).reshape(-1, 256)
    lane = np.arange(256)
    skips = lane // 64 % 2 == 1
    assert np.array_equal(out[0], np.where(skips, 1, 2))
    assert np.array_equal(out[1], np.where(skips, 0, 4 * lane))
    assert np.array_equal(out[2], skips)
    assert np.array_equal(out[3], np.where(skips, 1, 4 * lane) + 5)


def test_the_second_source_names_the_bit_and_mode_holds_it():
    out = run_program(CHOSEN_BIT)
    assert out[:64].tolist() == [1] * 64
    assert out[64:128].tolist() == [3] * 64
