"""Every scalar ALU instruction that the corpus holds, on edge values, against Python's integers."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from support.edge_values import INTEGERS, LONGS, signed
from support.lanes import make_state, run_code

from hipgraph_cb.virtual.memory import Memory

M32, M64 = (1 << 32) - 1, (1 << 64) - 1
VALUES = {"u32": INTEGERS, "i32": INTEGERS, "u64": LONGS}


class Case(NamedTuple):
    """Sources in s10 and s12 (pairs for 64 bits), result in s20 or s[20:21].

    The function gives the result and SCC (None: unchanged); it gets the old SCC where it takes it.
    """

    text: str
    code: str
    signature: str
    function: Callable

    @property
    def mnemonic(self) -> str:
        return self.text.split()[0]


def case(text: str, code: str, signature: str, function: Callable) -> Case:
    return Case(text, code, signature, function)


# what follows was assembled with llvm-mc-19; the functions say what the CDNA3 ISA document does
CASES = [
    case("s_add_i32 s20, s10, s12", "0a0c1481", "i32 i32", lambda a, b: (a + b, not -(1 << 31) <= a + b < 1 << 31)),
    case("s_add_u32 s20, s10, s12", "0a0c1480", "u32 u32", lambda a, b: (a + b, a + b >= 1 << 32)),
    case("s_addc_u32 s20, s10, s12", "0a0c1482", "u32 u32", lambda a, b, scc: (a + b + scc, a + b + scc >= 1 << 32)),
    case("s_and_b32 s20, s10, s12", "0a0c1486", "u32 u32", lambda a, b: (a & b, a & b)),
    case("s_and_b64 s[20:21], s[10:11], s[12:13]", "0a0c9486", "u64 u64", lambda a, b: (a & b, a & b)),
    case("s_andn2_b64 s[20:21], s[10:11], s[12:13]", "0a0c9489", "u64 u64", lambda a, b: (a & ~b, a & ~b)),
    case("s_ashr_i32 s20, s10, s12", "0a0c1490", "i32 u32", lambda a, b: (a >> (b & 31), a >> (b & 31))),
    case("s_bcnt1_i32_b64 s20, s[10:11]", "0a0d94be", "u64", lambda a: (a.bit_count(), a)),
    case("s_cselect_b32 s20, s10, s12", "0a0c1485", "u32 u32", lambda a, b, scc: (a if scc else b, None)),
    case(
        "s_cselect_b64 s[20:21], s[10:11], s[12:13]", "0a0c9485", "u64 u64", lambda a, b, scc: (a if scc else b, None)
    ),
    case("s_ff1_i32_b64 s20, s[10:11]", "0a1194be", "u64", lambda a: ((a & -a).bit_length() - 1, None)),
    case("s_lshl_b32 s20, s10, s12", "0a0c148e", "u32 u32", lambda a, b: (a << (b & 31), a << (b & 31) & M32)),
    case(
        "s_lshl_b64 s[20:21], s[10:11], s12", "0a0c948e", "u64 u32", lambda a, b: (a << (b & 63), a << (b & 63) & M64)
    ),
    case("s_lshr_b32 s20, s10, s12", "0a0c148f", "u32 u32", lambda a, b: (a >> (b & 31), a >> (b & 31))),
    case("s_lshr_b64 s[20:21], s[10:11], s12", "0a0c948f", "u64 u32", lambda a, b: (a >> (b & 63), a >> (b & 63))),
    case("s_mov_b32 s20, s10", "0a0094be", "u32", lambda a: (a, None)),
    case("s_mov_b64 s[20:21], s[10:11]", "0a0194be", "u64", lambda a: (a, None)),
    case("s_movk_i32 s20, 0x8000", "008014b0", "", lambda: (-0x8000, None)),
    case("s_mul_i32 s20, s10, s12", "0a0c1492", "u32 u32", lambda a, b: (a * b, None)),
    case("s_or_b64 s[20:21], s[10:11], s[12:13]", "0a0c9487", "u64 u64", lambda a, b: (a | b, a | b)),
    case("s_orn2_b64 s[20:21], s[10:11], s[12:13]", "0a0c948a", "u64 u64", lambda a, b: (a | ~b & M64, a | ~b & M64)),
    case("s_sub_i32 s20, s10, s12", "0a0c9481", "i32 i32", lambda a, b: (a - b, not -(1 << 31) <= a - b < 1 << 31)),
    case("s_sub_u32 s20, s10, s12", "0a0c9480", "u32 u32", lambda a, b: (a - b, b > a)),
    case("s_subb_u32 s20, s10, s12", "0a0c9482", "u32 u32", lambda a, b, scc: (a - b - scc, b + scc > a)),
    case("s_xor_b64 s[20:21], s[10:11], s[12:13]", "0a0c9488", "u64 u64", lambda a, b: (a ^ b, a ^ b)),
    case("s_cmp_eq_u32 s10, s12", "0a0c06bf", "u32 u32", lambda a, b: (None, a == b)),
    case("s_cmp_ge_u32 s10, s12", "0a0c09bf", "u32 u32", lambda a, b: (None, a >= b)),
    case("s_cmp_gt_i32 s10, s12", "0a0c02bf", "i32 i32", lambda a, b: (None, a > b)),
    case("s_cmp_lg_u32 s10, s12", "0a0c07bf", "u32 u32", lambda a, b: (None, a != b)),
    case("s_cmp_lg_u64 s[10:11], s[12:13]", "0a0c13bf", "u64 u64", lambda a, b: (None, a != b)),
    case("s_cmp_lt_i32 s10, s12", "0a0c04bf", "i32 i32", lambda a, b: (None, a < b)),
    case("s_cmp_lt_u32 s10, s12", "0a0c0abf", "u32 u32", lambda a, b: (None, a < b)),
]


def waves_of(kinds: list[str]) -> list[tuple[int, ...]]:
    return list(itertools.product(*(VALUES[kind] for kind in kinds)))


def column(values: list[int], width: int) -> np.ndarray:
    return np.array(values, np.uint64 if width == 64 else np.uint32).reshape(-1, 1)


@pytest.mark.parametrize("scc", [False, True])
@pytest.mark.parametrize("row", CASES, ids=[row.mnemonic for row in CASES])
def test_scalar_arithmetic_of_the_corpus(row, scc):
    kinds = row.signature.split()
    rows = waves_of(kinds)
    state = make_state(Memory(1 << 16), groups=len(rows))
    for index, kind in enumerate(kinds):
        values = column([values[index] for values in rows], int(kind[1:]))
        (state.write_sgpr64 if kind == "u64" else state.write_sgpr)(10 + 2 * index, values)
    state.write_sgpr64(20, 0)
    state.write_scc(scc)
    run_code(state, row.code)
    takes_scc = "scc" in inspect.signature(row.function).parameters
    wide = "s[20:21]" in row.text
    result = np.broadcast_to(np.asarray(state.read_sgpr64(20)), (len(rows), 1))[:, 0].tolist()
    after = np.broadcast_to(np.asarray(state.read_scc()), (len(rows), 1))[:, 0].tolist()
    for wave, values in enumerate(rows):
        operands = [signed(value) if kind == "i32" else value for kind, value in zip(kinds, values, strict=True)]
        value, condition = row.function(*operands, **({"scc": scc} if takes_scc else {}))
        if value is not None:
            assert result[wave] == value & (M64 if wide else M32), values
        assert after[wave] == (scc if condition is None else bool(condition)), values


@pytest.mark.parametrize(
    ("code", "function"),
    [
        ("0a2094be", lambda old, source: old & source),  # s_and_saveexec_b64 s[20:21], s[10:11]
        ("0a2394be", lambda old, source: source & ~old),  # s_andn2_saveexec_b64 s[20:21], s[10:11]
    ],
    ids=["s_and_saveexec_b64", "s_andn2_saveexec_b64"],
)
def test_exec_is_saved_and_replaced(code, function):
    rows = list(itertools.product(LONGS, repeat=2))
    state = make_state(Memory(1 << 16), groups=len(rows))
    state.write_sgpr64(126, column([old for old, _ in rows], 64))
    state.write_sgpr64(10, column([source for _, source in rows], 64))
    run_code(state, code)
    expected = [function(old, source) for old, source in rows]
    assert np.broadcast_to(state.read_sgpr64(20), (len(rows), 1))[:, 0].tolist() == [old for old, _ in rows]
    assert np.broadcast_to(state.read_sgpr64(126), (len(rows), 1))[:, 0].tolist() == expected
    assert np.broadcast_to(state.read_scc(), (len(rows), 1))[:, 0].tolist() == [value != 0 for value in expected]
