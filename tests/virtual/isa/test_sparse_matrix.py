"""SMFMAC against a product worked out element by element from the documented layouts."""

from __future__ import annotations

import numpy as np
import pytest
from support.lanes import make_state, run

from hipgraph_cb.virtual.isa.matrix import sparse_matrix
from hipgraph_cb.virtual.memory import Memory

A, B, INDICES, D = 0, 8, 20, 40  # first registers
WAVES = 2


def parts(mnemonic: str) -> tuple[int, int, str, str, type]:
    """Rows (and columns), depth, element types, type of the result."""
    _, _, result, shape, *kinds = mnemonic.split("_")
    size, _, depth = map(int, shape.split("x"))
    return size, depth, kinds[0], kinds[-1], np.int32 if result == "i32" else np.float32


def codes(kind: str, values: np.ndarray) -> np.ndarray:
    """Small integers in an element type, as uint16 or uint8."""
    if kind == "f16":
        return values.astype(np.float16).view(np.uint16)
    if kind == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if kind == "i8":
        return values.astype(np.int8).view(np.uint8)
    mantissa, bias = (3, 8) if kind == "fp8" else (2, 16)
    table = {0: 0}
    for number in range(1, 5):
        exponent = number.bit_length() - 1
        code = exponent + bias << mantissa | (number << mantissa >> exponent) & ((1 << mantissa) - 1)
        table[number], table[-number] = code, code | 0x80
    return np.vectorize(table.get)(values).astype(np.uint8)


def write_lanes(state, first: int, lanes: np.ndarray) -> None:
    """[waves, lane, element] into registers."""
    words = np.ascontiguousarray(lanes).view(np.uint32)
    for index in range(words.shape[2]):
        state.write_vgpr(first + index, np.ascontiguousarray(words[:, :, index]))


def accumulator_place(size: int, row: int, column: int) -> tuple[int, int]:
    """(register, lane) of D[row, column]."""
    if size == 32:
        return 4 * (row // 8) + row % 4, 32 * (row // 4 % 2) + column
    return row % 4, 16 * (row // 4) + column


@pytest.mark.parametrize("mnemonic", sparse_matrix.MNEMONICS)
@pytest.mark.parametrize(("cbsz", "abid"), [(0, 0), (0, 1), (0, 3), (1, 3)])
def test_a_sparse_product_of_every_form(mnemonic, cbsz, abid):
    size, depth, left, right, result = parts(mnemonic)
    random = np.random.default_rng(7)
    state = make_state(Memory(1 << 16), groups=WAVES)
    groups, per_lane = 64 // size, depth // (64 // size)  # lane groups along the depth, elements of B in a lane
    stored = per_lane // 2
    kept = np.sort(np.array([[random.permutation(4)[:2] for _ in range(depth // 4)] for _ in range(WAVES * size)]))
    kept = kept.reshape(WAVES, size, depth // 4, 2)
    values = random.integers(-4, 5, (WAVES, size, depth // 4, 2))
    b = random.integers(-4, 5, (WAVES, depth, size))
    c = random.integers(-9, 10, (WAVES, size, size))
    dense = np.zeros((WAVES, size, depth), np.int64)
    a_lanes, b_lanes = np.zeros((WAVES, 64, stored), np.int64), np.zeros((WAVES, 64, per_lane), np.int64)
    words = np.zeros((WAVES, 64), np.uint64)
    shift = 0 if cbsz else (abid % (32 // (2 * stored))) * 2 * stored
    for wave, row, quad, which in np.ndindex(values.shape):
        place = 4 * quad + kept[wave, row, quad, which]
        dense[wave, row, place] = values[wave, row, quad, which]
        element = 2 * quad + which
        lane = row + size * (element // stored)
        a_lanes[wave, lane, element % stored] = values[wave, row, quad, which]
        words[wave, lane] |= np.uint64(int(kept[wave, row, quad, which]) << shift + 2 * (element % stored))
    for k, column in np.ndindex(depth, size):
        b_lanes[:, column + size * (k // per_lane), k % per_lane] = b[:, k, column]
    assert groups * per_lane == depth
    write_lanes(state, A, codes(left, a_lanes))
    write_lanes(state, B, codes(right, b_lanes))
    state.write_vgpr(INDICES, words.astype(np.uint32))
    lanes = np.zeros((WAVES, 64, size * size // 64), result)
    for row, column in np.ndindex(size, size):
        register, lane = accumulator_place(size, row, column)
        lanes[:, lane, register] = c[:, row, column]
    write_lanes(state, D, lanes)
    fields = {"vdst": D, "src0": 256 + A, "src1": 256 + B, "src2": 256 + INDICES, "blgp": 0, "acc": 0, "acc_cd": 0}
    run(state, mnemonic, "MFMA", **fields, cbsz=cbsz, abid=abid)
    expected = dense @ b + c
    for row, column in np.ndindex(size, size):
        register, lane = accumulator_place(size, row, column)
        found = state.full(state.read_vgpr(D + register))[:, lane].copy().view(result)
        assert found.tolist() == expected[:, row, column].tolist()
