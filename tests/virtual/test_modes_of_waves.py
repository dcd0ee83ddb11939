"""Each wave has a MODE of its own: waves part, change it, meet at a barrier and go on under different modes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from support.assembled import assembled, run_program

# waves 0 and 2 round to nearest, 1 up, 3 down; each lane stores 0.1 * 0.2, 0.2 * 0.2 and its mode
PARTED = assembled(
    """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_lshrrev_b32 v1, 6, v0
  v_readfirstlane_b32 s4, v1
  v_mov_b32 v2, 0x3dcccccd
  v_mov_b32 v3, 0x3e4ccccd
  s_and_b32 s5, s4, 1
  s_cmp_eq_u32 s5, 0
  s_cbranch_scc1 even
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1
  s_cmp_eq_u32 s4, 3
  s_cbranch_scc0 even
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 2
even:
  v_mul_f32 v4, v2, v3
  s_barrier
  v_mul_f32 v5, v3, v3
  s_getreg_b32 s6, hwreg(HW_REG_MODE, 0, 2)
  v_mov_b32 v6, s6
  v_lshlrev_b32 v7, 4, v0
  global_store_dwordx3 v7, v[4:6], s[8:9]
  s_endpgm
""",
    "000206c000000000860002200105087eff02047ecdcccc3dff02067ecdcc4c3e04810586058006bf060085bf010800ba"
    "01000000048306bf020084bf010800ba020000000207080a00008abf03070a0a010886b806020c7e84000e24008078dc"
    "07040800000081bf",
)
# wave n multiplies under mode n, under nearest even, and under mode n again
SAVED = assembled(
    """
  s_load_dwordx2 s[8:9], s[0:1], 0x0
  v_lshrrev_b32 v1, 6, v0
  v_readfirstlane_b32 s4, v1
  v_mov_b32 v2, 0x3dcccccd
  v_mov_b32 v3, 0x3e4ccccd
  s_setreg_b32 hwreg(HW_REG_MODE, 0, 2), s4
  v_mul_f32 v4, v2, v3
  s_getreg_b32 s6, hwreg(HW_REG_MODE, 0, 2)
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 0
  v_mul_f32 v5, v2, v3
  s_setreg_b32 hwreg(HW_REG_MODE, 0, 2), s6
  v_mul_f32 v6, v2, v3
  v_lshlrev_b32 v7, 4, v0
  global_store_dwordx3 v7, v[4:6], s[8:9]
  s_endpgm
""",
    "000206c000000000860002200105087eff02047ecdcccc3dff02067ecdcc4c3e010804b90207080a010886b8010800ba"
    "0000000002070a0a010806b902070c0a84000e24008078dc07040800000081bf",
)
NEAREST, UP, DOWN, ZERO = range(4)


def product(a: float, b: float, mode: int) -> int:
    """The bits of a * b in f32, rounded as the mode says."""
    x, y = np.float32(a), np.float32(b)
    nearest = np.float32(float(x) * float(y))  # exact in f64
    error = Fraction(float(x)) * Fraction(float(y)) - Fraction(float(nearest))
    if mode == UP and error > 0:
        nearest = np.nextafter(nearest, np.float32(np.inf))
    if mode in (DOWN, ZERO) and error < 0:
        nearest = np.nextafter(nearest, np.float32(-np.inf))
    return int(nearest.view(np.uint32))


@pytest.mark.parametrize("groups", [1, 3])
def test_waves_round_differently_side_by_side(groups):
    out = run_program(PARTED, groups=groups, group_size=256).reshape(256, 4)
    for wave, mode in enumerate((NEAREST, UP, NEAREST, DOWN)):
        expected = [product(0.1, 0.2, mode), product(0.2, 0.2, mode), mode]
        assert np.array_equal(np.unique(out[64 * wave : 64 * wave + 64, :3], axis=0), [expected])
    assert len({product(0.1, 0.2, mode) for mode in (UP, DOWN)}) == 2


def test_a_mode_that_a_register_holds_may_differ_between_waves():
    out = run_program(SAVED, group_size=256).reshape(256, 4)
    for mode in (NEAREST, UP, DOWN, ZERO):
        own, nearest = product(0.1, 0.2, mode), product(0.1, 0.2, NEAREST)
        assert np.array_equal(np.unique(out[64 * mode : 64 * mode + 64, :3], axis=0), [[own, nearest, own]])
