"""MFMA: each dense form against a product worked out element by element from the documented lane layouts.

The layouts of 16x16xK and 32x32xK were confirmed by kernels of two compilers; the others follow the CDNA3 ISA.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.lanes import make_state, run

from hipgraph_cb.virtual.isa.matrix import matrix
from hipgraph_cb.virtual.isa.matrix.matrix import Product
from hipgraph_cb.virtual.memory import Memory

A, B, C, D = 0, 16, 32, 80  # first registers


@pytest.fixture(scope="module")
def memory() -> Memory:
    return Memory(1 << 20)


def small_integers(kind: str, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    """Values that every element type holds exactly, so that sums are exact too."""
    return generator.integers(-4, 5, shape)


def encode(kind: str, values: np.ndarray) -> np.ndarray:
    """The bytes of `values` in an element type: uint8, one more axis."""
    if kind == "bf16":
        raw = (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    elif kind in ("fp8", "bf8"):
        raw = np.vectorize(lambda value: small_float(kind, int(value)))(values).astype(np.uint8)
    else:
        raw = values.astype(
            {"f16": np.float16, "f32": np.float32, "xf32": np.float32, "f64": np.float64, "i8": np.int8}[kind]
        )
    return np.ascontiguousarray(raw)[..., None].view(np.uint8)


def small_float(kind: str, value: int) -> int:
    """The FNUZ code of a small integer: sign, exponent with bias 8 (fp8) or 16 (bf8), 3 or 2 bits of fraction."""
    if value == 0:
        return 0
    mantissa, bias = (3, 8) if kind == "fp8" else (2, 16)
    exponent = abs(value).bit_length() - 1
    fraction = (abs(value) << mantissa >> exponent) & ((1 << mantissa) - 1)
    return (0x80 if value < 0 else 0) | (exponent + bias) << mantissa | fraction


def accumulator_place(product: Product, block: int, row: int, column: int) -> tuple[int, int]:
    """(element, lane) of D[row, column] of a block."""
    if product.result == "f64":
        if product.rows == 16:
            return row // 4, 16 * (row % 4) + column
        return 0, 16 * row + 4 * block + column
    if product.rows == 32:
        return 16 * block + 4 * (row // 8) + row % 4, 32 * (row // 4 % 2) + column
    if product.rows == 16:
        return 4 * block + row % 4, 16 * (row // 4) + column
    return row, 4 * block + column


def write_operand(state, first: int, product: Product, kind: str, values: np.ndarray) -> None:
    """`values` [waves, block, row, depth] into registers."""
    waves, blocks, rows, depth = values.shape
    held = product.elements
    lanes = np.zeros((waves, 64, held), values.dtype)
    for block in range(blocks):
        for row in range(rows):
            for element in range(depth):
                lane = row + rows * (block + blocks * (element // held))
                lanes[:, lane, element % held] = values[:, block, row, element]
    words = encode(kind, lanes).reshape(waves, 64, -1).view(np.uint32)
    for index in range(words.shape[2]):
        state.write_vgpr(first + index, np.ascontiguousarray(words[:, :, index]))


def write_accumulator(state, first: int, product: Product, values: np.ndarray) -> None:
    dtype = {"f32": np.float32, "f64": np.float64, "i32": np.int32}[product.result]
    waves = values.shape[0]
    lanes = np.zeros((waves, 64, product.accumulators), dtype)
    for (block, row, column), _ in np.ndenumerate(values[0]):
        element, lane = accumulator_place(product, block, row, column)
        lanes[:, lane, element] = values[:, block, row, column]
    words = lanes.view(np.uint32)
    for index in range(words.shape[2]):
        state.write_vgpr(first + index, np.ascontiguousarray(words[:, :, index]))


def read_accumulator(state, first: int, product: Product) -> np.ndarray:
    dtype = {"f32": np.float32, "f64": np.float64, "i32": np.int32}[product.result]
    count = product.accumulators * product.result_words
    words = np.stack([state.full(state.read_vgpr(first + index)) for index in range(count)], axis=-1)
    lanes = np.ascontiguousarray(words).view(dtype)
    result = np.zeros((state.waves, product.blocks, product.rows, product.columns), dtype)
    for block, row, column in np.ndindex(result.shape[1:]):
        element, lane = accumulator_place(product, block, row, column)
        result[:, block, row, column] = lanes[:, lane, element]
    return result


def prepared(memory: Memory, product: Product, waves: int = 2):
    generator = np.random.default_rng(5)
    state = make_state(memory, groups=waves)
    a = small_integers(product.left, (waves, product.blocks, product.rows, product.depth), generator)
    b = small_integers(product.right, (waves, product.blocks, product.columns, product.depth), generator)
    c = small_integers(product.result, (waves, product.blocks, product.rows, product.columns), generator)
    write_operand(state, A, product, product.left, a)
    write_operand(state, B, product, product.right, b)
    write_accumulator(state, C, product, c)
    return state, a, b, c


def multiply(state, mnemonic: str, **changes: int) -> None:
    fields = {"vdst": D, "src0": 256 + A, "src1": 256 + B, "src2": 256 + C, "cbsz": 0, "abid": 0, "blgp": 0}
    run(state, mnemonic, "MFMA", **(fields | {"acc": 0, "acc_cd": 0} | changes))


@pytest.mark.parametrize("mnemonic", matrix.MNEMONICS)
def test_a_product_of_every_form(memory, mnemonic):
    product = Product.parse(mnemonic, 64)
    state, a, b, c = prepared(memory, product)
    multiply(state, mnemonic)
    expected = np.einsum("wbik,wbjk->wbij", a, b) + c
    assert np.array_equal(read_accumulator(state, D, product), expected)


def test_a_constant_addend(memory):
    product = Product.parse("v_mfma_f32_16x16x16_f16", 64)
    state, a, b, _ = prepared(memory, product)
    multiply(state, "v_mfma_f32_16x16x16_f16", src2=242)  # the inline constant 1.0
    assert np.array_equal(read_accumulator(state, D, product), np.einsum("wbik,wbjk->wbij", a, b) + 1)


def test_the_accumulator_may_be_overwritten_in_place(memory):
    product = Product.parse("v_mfma_f32_32x32x8_bf16", 64)
    state, a, b, c = prepared(memory, product)
    multiply(state, "v_mfma_f32_32x32x8_bf16", vdst=C)
    assert np.array_equal(read_accumulator(state, C, product), np.einsum("wbik,wbjk->wbij", a, b) + c)


def test_inactive_lanes_take_part(memory):
    product = Product.parse("v_mfma_f32_16x16x4_f32", 64)
    state, a, b, c = prepared(memory, product)
    state.write_exec(np.zeros((1, 64), np.bool_))
    multiply(state, "v_mfma_f32_16x16x4_f32")
    assert np.array_equal(read_accumulator(state, D, product), np.einsum("wbik,wbjk->wbij", a, b) + c)


def test_cbsz_lets_groups_of_blocks_share_one_block_of_a(memory):
    product = Product.parse("v_mfma_f32_4x4x1_16b_f32", 64)
    state, a, b, c = prepared(memory, product)
    multiply(state, "v_mfma_f32_4x4x1_16b_f32", cbsz=2, abid=3)
    shared = a[:, [3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 11, 15, 15, 15, 15]]
    assert np.array_equal(read_accumulator(state, D, product), np.einsum("wbik,wbjk->wbij", shared, b) + c)


def test_xf32_operands_are_rounded_to_ten_bits_of_fraction(memory):
    product = Product.parse("v_mfma_f32_16x16x8_xf32", 64)
    state, *_ = prepared(memory, product)
    a = np.random.default_rng(2).standard_normal((2, 1, 16, 8)).astype(np.float32)
    a[0, 0, 1, :2] = [1 + 2.0**-11, 1 + 3 * 2.0**-11]  # ties to even
    a[0, 0, 0, 2] = np.inf
    b = np.zeros((2, 1, 16, 8))
    b[..., np.arange(8), np.arange(8)] = 1  # columns 0 to 7 pick one element each
    write_operand(state, A, product, "xf32", a)
    write_operand(state, B, product, "xf32", b)
    with np.errstate(invalid="ignore"):
        multiply(state, "v_mfma_f32_16x16x8_xf32", src2=128)
    fraction, exponent = np.frexp(a.astype(np.float64))
    rounded = np.ldexp(np.rint(fraction * 2**11) / 2**11, exponent)
    found = read_accumulator(state, D, product)[..., :8]
    whole = np.isfinite(a).all(axis=-1)
    assert np.array_equal(found[whole], rounded[whole].astype(np.float32))
    assert found[0, 0, 0, 2] == np.inf
    assert whole.sum() == 31


@pytest.mark.parametrize("bits", range(8))
def test_the_blgp_bits_negate_the_operands_of_a_double_product(memory, bits):
    product = Product.parse("v_mfma_f64_16x16x4_f64", 64)
    state, a, b, c = prepared(memory, product)
    multiply(state, "v_mfma_f64_16x16x4_f64", blgp=bits)
    signs = [-1 if bits >> index & 1 else 1 for index in range(3)]
    expected = np.einsum("wbik,wbjk->wbij", signs[0] * a, signs[1] * b) + signs[2] * c
    assert np.array_equal(read_accumulator(state, D, product), expected)


@pytest.mark.parametrize("bits", range(8))
def test_the_blgp_bits_let_lanes_take_the_second_matrix_of_others(memory, bits):
    product = Product.parse("v_mfma_f32_16x16x4_f32", 64)
    state, a, b, c = prepared(memory, product)
    multiply(state, "v_mfma_f32_16x16x4_f32", blgp=bits)
    lane = np.arange(64)
    half, within = lane % 32, lane % 16
    origin = [lane, half, 32 + half, (lane + 16) % 64, *(16 * part + within for part in range(4))][bits]
    column, depth = origin % 16, origin // 16  # lane column + 16 * k holds B[k, column]
    moved = b[:, :, column, depth].reshape(2, 1, 4, 16).swapaxes(2, 3)
    assert np.array_equal(read_accumulator(state, D, product), np.einsum("wbik,wbjk->wbij", a, moved) + c)


def test_the_accumulation_registers_are_chosen_by_their_bits(memory):
    product = Product.parse("v_mfma_f32_16x16x16_f16", 64)
    state, a, b, c = prepared(memory, product)
    write_operand(state, 256 + 100, product, "f16", a + 1)
    write_accumulator(state, 256 + 120, product, c - 3)
    multiply(state, "v_mfma_f32_16x16x16_f16", src0=256 + 100, src2=256 + 120, vdst=130, acc=1, acc_cd=1)
    expected = np.einsum("wbik,wbjk->wbij", a + 1, b) + c - 3
    assert np.array_equal(read_accumulator(state, 256 + 130, product), expected)
