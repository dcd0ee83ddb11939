"""DPP, SDWA, and the instructions between lanes and scalar registers."""

from __future__ import annotations

import numpy as np
import pytest
from support.edge_values import INTEGERS, combinations, signed, state_with
from support.lanes import lanes_of, run_code

WAVES = 3
LANES = np.arange(WAVES * 64, dtype=np.uint32).reshape(WAVES, 64) + 1000
OLD = 7


def moved(code: str, exec_bits=None) -> np.ndarray:
    state = state_with((0, LANES), (1, np.full((1, 1), OLD, np.uint32)), (2, LANES * 10))
    if exec_bits is not None:
        state.write_exec(exec_bits)
    run_code(state, code)
    return lanes_of(state, 1)


def expected_move(origin, exec_bits=None, *, bound_ctrl: bool, rows: int = 15, banks: int = 15) -> np.ndarray:
    """`origin(lane)` -> lane or None. A lane without a sound origin takes 0 if bound_ctrl, else keeps its value."""
    result = np.full((WAVES, 64), OLD, np.uint32)
    for wave in range(WAVES):
        for lane in range(64):
            if exec_bits is not None and not exec_bits[wave, lane]:
                continue
            if not (rows >> lane // 16 & 1 and banks >> lane // 4 % 4 & 1):
                continue
            source = origin(lane)
            if source is not None and (exec_bits is None or exec_bits[wave, source]):
                result[wave, lane] = LANES[wave, source]
            elif bound_ctrl:
                result[wave, lane] = 0
    return result


def row(lane: int) -> int:
    return lane // 16 * 16


MOVES = [
    (
        "v_mov_b32_dpp v1, v0 quad_perm:[3,0,1,1] row_mask:0xf bank_mask:0xf",
        "fa02027e005300ff",
        lambda n: n // 4 * 4 + (3, 0, 1, 1)[n % 4],
    ),
    (
        "v_mov_b32_dpp v1, v0 row_shl:3 row_mask:0xf bank_mask:0xf",
        "fa02027e000301ff",
        lambda n: n + 3 if n % 16 < 13 else None,
    ),
    (
        "v_mov_b32_dpp v1, v0 row_shr:1 row_mask:0xf bank_mask:0xf",
        "fa02027e001101ff",
        lambda n: n - 1 if n % 16 else None,
    ),
    ("v_mov_b32_dpp v1, v0 row_ror:5 row_mask:0xf bank_mask:0xf", "fa02027e002501ff", lambda n: row(n) + (n - 5) % 16),
    ("v_mov_b32_dpp v1, v0 row_mirror row_mask:0xf bank_mask:0xf", "fa02027e004001ff", lambda n: row(n) + 15 - n % 16),
    (
        "v_mov_b32_dpp v1, v0 row_half_mirror row_mask:0xf bank_mask:0xf",
        "fa02027e004101ff",
        lambda n: n // 8 * 8 + 7 - n % 8,
    ),
    (
        "v_mov_b32_dpp v1, v0 row_bcast:15 row_mask:0xf bank_mask:0xf",
        "fa02027e004201ff",
        lambda n: row(n) - 1 if n >= 16 else None,
    ),
    (
        "v_mov_b32_dpp v1, v0 row_bcast:31 row_mask:0xf bank_mask:0xf",
        "fa02027e004301ff",
        lambda n: 31 if n >= 32 else None,
    ),
    (
        "v_mov_b32_dpp v1, v0 wave_shl:1 row_mask:0xf bank_mask:0xf",
        "fa02027e003001ff",
        lambda n: n + 1 if n < 63 else None,
    ),
    ("v_mov_b32_dpp v1, v0 wave_rol:1 row_mask:0xf bank_mask:0xf", "fa02027e003401ff", lambda n: (n + 1) % 64),
    ("v_mov_b32_dpp v1, v0 wave_shr:1 row_mask:0xf bank_mask:0xf", "fa02027e003801ff", lambda n: n - 1 if n else None),
    ("v_mov_b32_dpp v1, v0 wave_ror:1 row_mask:0xf bank_mask:0xf", "fa02027e003c01ff", lambda n: (n - 1) % 64),
    ("v_mov_b32_dpp v1, v0 row_newbcast:6 row_mask:0xf bank_mask:0xf", "fa02027e005601ff", lambda n: row(n) + 6),
]


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize(("text", "code", "origin"), MOVES)
def test_each_dpp_pattern(text, code, origin, partial):
    exec_bits = np.random.default_rng(1).random((WAVES, 64)) < 0.7 if partial else None
    assert (moved(code, exec_bits) == expected_move(origin, exec_bits, bound_ctrl=False)).all(), text


MASKED = ("v_mov_b32_dpp v1, v0 row_shr:2 row_mask:0xa bank_mask:0x7 bound_ctrl:0", "fa02027e001209a7")


@pytest.mark.parametrize("partial", [False, True])
def test_bound_ctrl_gives_zero_and_masks_choose_rows_and_banks(partial):
    exec_bits = np.random.default_rng(2).random((WAVES, 64)) < 0.7 if partial else None
    expected = expected_move(lambda n: n - 2 if n % 16 >= 2 else None, exec_bits, bound_ctrl=True, rows=0xA, banks=7)
    assert (moved(MASKED[1], exec_bits) == expected).all()


ADDED = ("v_add_u32_dpp v1, v0, v2 row_ror:1 row_mask:0xf bank_mask:0xf", "fa040268002101ff")


def test_only_the_first_source_moves():
    origin = np.array([n // 16 * 16 + (n - 1) % 16 for n in range(64)])
    assert (moved(ADDED[1]) == LANES[:, origin] + LANES * 10).all()


SDWA = [
    (
        "v_add_u32_sdwa v4, v0, v1 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1",
        "f902086800060105",
        lambda a, b, old: (a >> 8 & 0xFF) + (b >> 16),
    ),
    (
        "v_add_u32_sdwa v4, sext(v0), v1 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_3 src1_sel:WORD_0",
        "f902086800060b04",
        lambda a, b, old: signed(a >> 24, 8) + (b & 0xFFFF),
    ),
    (
        "v_add_u32_sdwa v4, v0, v1 dst_sel:BYTE_2 dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD",
        "f902086800020606",
        lambda a, b, old: (a + b & 0xFF) << 16,
    ),
    (
        "v_add_u32_sdwa v4, v0, v1 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:DWORD",
        "f902086800150606",
        lambda a, b, old: (a + b & 0xFFFF) << 16 | old & 0xFFFF,
    ),
    (
        "v_add_u32_sdwa v4, v0, v1 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:DWORD src1_sel:DWORD",
        "f902086800090606",
        lambda a, b, old: signed(a + b, 8) << 8,
    ),
    (
        "v_lshlrev_b32_sdwa v4, v0, v1 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:BYTE_0",
        "f902082400060600",
        lambda a, b, old: (b & 0xFF) << (a & 31),
    ),
]


@pytest.mark.parametrize(("text", "code", "rule"), SDWA)
def test_sdwa_selects_parts_of_registers(text, code, rule):
    a, b = combinations(INTEGERS, 2)
    state = state_with((0, a), (1, b), (4, a ^ b))
    run_code(state, code)
    lanes = zip(a.ravel(), b.ravel(), (a ^ b).ravel(), strict=True)
    assert lanes_of(state, 4).ravel().tolist() == [rule(*map(int, lane)) & 0xFFFFFFFF for lane in lanes], text


SDWA_HALF = (
    "v_sub_f16_sdwa v4, v0, -v1 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:WORD_1",
    "f902084000060615",
)


def test_sdwa_reads_the_upper_half_of_a_pair_of_halves():
    low, high = np.linspace(-4, 4, 64, dtype=np.float16).reshape(1, 64), np.full((1, 64), 1.5, np.float16)
    packed = low.view(np.uint16).astype(np.uint32) | high.view(np.uint16).astype(np.uint32) << 16
    state = state_with((0, packed), (1, packed))
    run_code(state, SDWA_HALF[1])
    assert (lanes_of(state, 4) == (low + high).view(np.uint16)).all()


READ_FIRST, READ, WRITE = (
    ("v_readfirstlane_b32 s5, v0", "00050a7e"),
    ("v_readlane_b32 s5, v0, s6", "050089d2000d0000"),
    ("v_writelane_b32 v1, s6, 63", "01008ad2067e0100"),
)


def per_wave(value) -> list[int]:
    return np.broadcast_to(np.asarray(value), (WAVES, 1)).ravel().tolist()


def test_readfirstlane_takes_the_first_active_lane_or_lane_zero():
    on = np.zeros((WAVES, 64), bool)
    on[0, 63] = True
    on[1, 5:9] = True
    state = state_with((0, LANES))
    state.write_exec(on)
    run_code(state, READ_FIRST[1])
    assert per_wave(state.read_sgpr(5)) == [LANES[0, 63], LANES[1, 5], LANES[2, 0]]


@pytest.mark.parametrize("lane", [0, 63, 64 + 7])
def test_readlane_counts_lanes_modulo_64_and_ignores_exec(lane):
    state = state_with((0, LANES))
    state.write_exec(np.zeros((1, 64), bool))
    state.write_sgpr(6, lane)
    run_code(state, READ[1])
    assert per_wave(state.read_sgpr(5)) == LANES[:, lane % 64].tolist()


def test_writelane_writes_one_lane_regardless_of_exec():
    state = state_with((1, LANES))
    state.write_exec(np.zeros((1, 64), bool))
    state.write_sgpr(6, 42)
    run_code(state, WRITE[1])
    expected = LANES.copy()
    expected[:, 63] = 42
    assert (lanes_of(state, 1) == expected).all()


COUNT = (("v_mbcnt_lo_u32_b32 v1, -1, 0", "01008cd2c1000100"), ("v_mbcnt_hi_u32_b32 v1, -1, v1", "01008dd2c1020200"))


def test_counting_all_lanes_below_gives_the_lane_number():
    state = state_with((1, LANES))
    for _, code in COUNT:
        run_code(state, code)
    assert (lanes_of(state, 1) == np.arange(64)).all()


SWAP = ("v_swap_b32 v0, v1", "01a3007e")


def test_swap_exchanges_active_lanes_only():
    on = np.arange(64).reshape(1, 64).repeat(WAVES, 0) % 2 == 0
    state = state_with((0, LANES), (1, LANES * 2))
    state.write_exec(on)
    run_code(state, SWAP[1])
    assert (lanes_of(state, 0) == np.where(on, LANES * 2, LANES)).all()
    assert (lanes_of(state, 1) == np.where(on, LANES, LANES * 2)).all()
