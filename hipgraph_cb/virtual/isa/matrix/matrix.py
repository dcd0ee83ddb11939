"""MFMA: D = A x B + C for the matrices that the lanes of a wave hold together (CDNA3 ISA, "Matrix arithmetic").

Layouts. With M x N x K and `blocks` independent products, a lane holds k = K * M * blocks / lanes consecutive elements
of a row of A (column of B): lane = row + M * (block + blocks * (element // k)). The accumulators are described at
`_ACCUMULATORS`. EXEC is ignored. Sums are made in single precision (double for f64, exact for integers) in numpy's
order; xf32 inputs are rounded to ten bits of fraction first.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.isa.core.operands import VGPR_BASE, constant_value
from hipgraph_cb.virtual.isa.core.register_limits import vectors
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, UnsupportedInstruction, semantics
from hipgraph_cb.virtual.isa.core.state import AGPR, State
from hipgraph_cb.virtual.isa.vector.small_floats import values_of

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

Values = NDArray[Any]

_NAME = re.compile(r"v_s?mf(?:ma|mac)_(f32|f64|i32)_(\d+)x(\d+)x(\d+)(?:_(\d+)b)?_(\w+)")

# (M, result) -> how the lanes [register, lane] of one wave's accumulators are cut into axes, and which order of these
# axes is [block, row, column]. `-1` is the number of blocks.
_ACCUMULATORS: dict[tuple[int, str], tuple[tuple[int, ...], tuple[int, ...]]] = {
    # register 16 * block + 4 * q + s, lane 32 * h + column: row 8 * q + 4 * h + s
    (32, "b32"): ((-1, 4, 4, 2, 32), (0, 1, 3, 2, 4)),
    # register 4 * block + s, lane 16 * h + column: row 4 * h + s
    (16, "b32"): ((-1, 4, 4, 16), (0, 2, 1, 3)),
    # register = row, lane 4 * block + column
    (4, "b32"): ((4, -1, 4), (1, 0, 2)),
    # register s, lane 16 * h + column: row 4 * s + h
    (16, "b64"): ((-1, 4, 4, 16), (0, 1, 2, 3)),
    # one register, lane 16 * row + 4 * block + column
    (4, "b64"): ((4, -1, 4), (1, 0, 2)),
}


@dataclass(frozen=True)
class Product:
    """What one MFMA mnemonic says: sizes of the matrices, number of blocks, element types of A, B and the result.

    `lanes`: of the wave that holds them.
    """

    rows: int
    columns: int
    depth: int
    blocks: int
    left: str
    right: str
    result: str
    lanes: int

    @staticmethod
    def parse(mnemonic: str, lanes: int) -> Product:
        match = _NAME.fullmatch(mnemonic)
        if match is None:
            raise UnsupportedInstruction(f"the form {mnemonic}")
        result, rows, columns, depth, blocks, kinds = match.groups()
        left, _, right = kinds.partition("_")
        return Product(int(rows), int(columns), int(depth), int(blocks or 1), left, right or left, result, lanes)

    @property
    def elements(self) -> int:
        """Elements of A, and of B, that one lane holds."""
        return self.depth * self.rows * self.blocks // self.lanes

    @property
    def result_words(self) -> int:
        """Registers of one accumulator element."""
        return 2 if self.result == "f64" else 1

    @property
    def accumulators(self) -> int:
        """Accumulator elements of one lane."""
        return self.rows * self.columns * self.blocks // self.lanes


def _bf16(words: Values) -> Values:
    widened: Values = (words.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)
    return widened


def _xf32(words: Values) -> Values:
    """f32 rounded to nearest even with ten bits of fraction; infinities and NaN stay."""
    rounded = words + np.uint32(0xFFF) + (words >> np.uint32(13) & np.uint32(1)) & np.uint32(0xFFFFE000)
    special = words & np.uint32(0x7F800000) == np.uint32(0x7F800000)
    return np.where(special, words, rounded).view(np.float32)


# element type -> bits, and the numbers in an array of 32-bit words whose last axis holds the registers of a lane
_ELEMENTS: dict[str, tuple[int, Callable[[Values], Values]]] = {
    "f16": (16, lambda words: words.view(np.float16).astype(np.float32)),
    "bf16": (16, _bf16),
    "f32": (32, lambda words: words.view(np.float32)),
    "xf32": (32, _xf32),
    "f64": (64, lambda words: words.view(np.float64)),
    # products and sums of at most 128 bytes are exact in single precision
    "i8": (8, lambda words: words.view(np.int8).astype(np.float32)),
    "fp8": (8, lambda words: values_of("fp8")[words.view(np.uint8)]),
    "bf8": (8, lambda words: values_of("bf8")[words.view(np.uint8)]),
}
RESULTS = {"f32": np.float32, "f64": np.float64, "i32": np.int32}


def remembered(
    state: State, form: Any, first: int, count: int, make: Callable[[list[NDArray[np.uint32]]], Values]
) -> Values:
    """What `make` makes of `count` registers, or made of the very same arrays before; `form` says what that is.

    Most products add to the result of another, and A or B often serves several.
    """
    arrays = [state.read_vgpr(register) for register in range(first, first + count)]
    found = state.matrices.get((form, first))
    if found is not None and all(map(operator.is_, found[0], arrays)):
        return found[1]
    matrices = make(arrays)
    _remember(state, form, first, arrays, matrices)
    return matrices


def _remember(state: State, form: Any, first: int, arrays: list[NDArray[np.uint32]], matrices: Values) -> None:
    if len(state.matrices) >= 64:
        state.matrices.clear()
    state.matrices[form, first] = arrays, matrices


def interleaved(state: State, arrays: list[NDArray[np.uint32]]) -> Values:
    """The registers of each lane side by side: [waves, lanes, registers]."""
    words = np.empty((*state.shape, len(arrays)), np.uint32)
    for index, array in enumerate(arrays):
        words[..., index] = array
    return words


def operand_register(instruction: Instruction, name: str, acc_bit: int) -> int:
    """The register that A or B starts in; a bit of the `acc` field chooses the accumulation registers."""
    code = instruction.fields[name]
    if code < VGPR_BASE:
        raise UnsupportedInstruction(f"the constant {name}")
    return code - VGPR_BASE + (AGPR if instruction.fields.get("acc", 0) & acc_bit else 0)


def operand_reader(
    product: Product, register: int, kind: str, size: int, lanes: NDArray[np.int64] | None = None
) -> Callable[[State], Values]:
    """Reads A or B as [waves, block, row or column, depth]; `lanes` says whose registers a lane takes instead."""
    bits, numbers = _ELEMENTS[kind]
    count = max(1, product.elements * bits // 32)
    vectors(register % AGPR, count)
    groups = product.depth // product.elements

    form = (kind, size, product.depth, product.elements, product.blocks, None if lanes is None else lanes.tobytes())

    def matrices_of(state: State, arrays: list[NDArray[np.uint32]]) -> Values:
        words = interleaved(state, arrays)
        values = numbers(words if lanes is None else np.ascontiguousarray(words[:, lanes]))
        cut = values.reshape(state.waves, groups, product.blocks, size, product.elements)
        rows: Values = cut.transpose(0, 2, 3, 1, 4).reshape(state.waves, product.blocks, size, product.depth)
        return rows

    return lambda state: remembered(state, form, register, count, partial(matrices_of, state))


def _addend(product: Product, instruction: Instruction) -> Callable[[State], Values]:
    """Reads C as [waves, block, row, column], or one constant."""
    dtype = RESULTS[product.result]
    code = instruction.fields["src2"]
    if code < VGPR_BASE:
        bits = constant_value(code, instruction.literal, product.result)
        if bits is None:
            raise UnsupportedInstruction("a scalar register as addend")
        constant = np.array(bits, np.uint64 if product.result == "f64" else np.uint32).view(dtype)
        return lambda state: constant
    return accumulator_reader(product, code - VGPR_BASE + (AGPR if instruction.fields.get("acc_cd", 0) else 0))


def accumulator_reader(product: Product, register: int) -> Callable[[State], Values]:
    """Reads the accumulators from `register` on as [waves, block, row, column]."""
    dtype = RESULTS[product.result]
    axes, order = _accumulator_axes(product)
    count = product.accumulators * product.result_words
    vectors(register % AGPR, count)

    def matrices_of(state: State, arrays: list[NDArray[np.uint32]]) -> Values:
        registers = interleaved(state, arrays)
        lanes = registers.view(dtype).transpose(0, 2, 1)  # [waves, element, lane]
        cut = lanes.reshape(state.waves, *axes).transpose(0, *(axis + 1 for axis in order))
        matrices: Values = cut.reshape(state.waves, product.blocks, product.rows, product.columns)
        return matrices

    form = _accumulator_form(product)
    return lambda state: remembered(state, form, register, count, partial(matrices_of, state))


def _accumulator_form(product: Product) -> Any:
    return (product.result, product.blocks, product.rows, product.columns)


def _accumulator_axes(product: Product) -> tuple[tuple[int, ...], tuple[int, ...]]:
    axes, order = _ACCUMULATORS[product.rows, "b64" if product.result == "f64" else "b32"]
    return tuple(product.blocks if axis == -1 else axis for axis in axes), order


@lru_cache(maxsize=64)
def _spread_axes(product: Product) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """How [block, row, column] of one wave is cut, and the order of all axes that makes it [register, lane]."""
    axes, order = _accumulator_axes(product)
    return tuple(axes[axis] for axis in order), (0, *(order.index(axis) + 1 for axis in range(len(order))))


def write_product(state: State, product: Product, register: int, result: Values) -> None:
    """Spread [waves, block, row, column] over the accumulator registers from `register` on."""
    sizes, order = _spread_axes(product)
    cut = result.reshape(state.waves, *sizes).transpose(order)
    lanes = cut.reshape(state.waves, product.accumulators, product.lanes).transpose(1, 0, 2)
    words, arrays = product.result_words, []
    for index in range(product.accumulators):
        if words == 1:
            arrays.append(lanes[index].view(np.uint32))
        else:
            halves = np.ascontiguousarray(lanes[index]).view(np.uint32)
            arrays += [np.ascontiguousarray(halves[:, part::2]) for part in range(2)]
    for place, array in enumerate(arrays, register):
        state.write_vgpr_all_lanes(place, array)
    _remember(state, _accumulator_form(product), register, arrays, result)


def _chosen_blocks(product: Product, instruction: Instruction) -> NDArray[np.int64] | None:
    """Which block of A each product takes: CBSZ makes groups of 2^CBSZ blocks share block ABID of the group."""
    size, index = instruction.fields["cbsz"], instruction.fields["abid"]
    if not size:
        return None
    if 1 << size > product.blocks or index >= 1 << size:
        raise UnsupportedInstruction(f"cbsz {size} and abid {index} on {product.blocks} blocks")
    return np.arange(product.blocks) >> size << size | index


# BLGP -> whose B registers each lane takes: halves and quarters of the wave, or the next quarter
_BROADCASTS: dict[int, Callable[[Values], Values]] = {
    1: lambda lane: lane & 31,
    2: lambda lane: lane | 32,
    3: lambda lane: (lane + 16) % len(lane),
    4: lambda lane: lane & 15,
    5: lambda lane: lane & 15 | 16,
    6: lambda lane: lane & 15 | 32,
    7: lambda lane: lane & 15 | 48,
}


def _broadcast(product: Product, instruction: Instruction) -> NDArray[np.int64] | None:
    """The lanes that give B, where BLGP selects other lanes (not for f64, where it negates)."""
    bits = instruction.fields["blgp"]
    if not bits or product.result == "f64":
        return None
    return _BROADCASTS[bits](np.arange(product.lanes))


def _signs(product: Product, instruction: Instruction) -> tuple[int, int, int]:
    """For f64 the BLGP bits negate A, B and C."""
    bits = instruction.fields["blgp"] if product.result == "f64" else 0
    return (-1 if bits & 1 else 1, -1 if bits & 2 else 1, -1 if bits & 4 else 1)


def compile_product(instruction: Instruction, context: CompileContext) -> Compiled:
    """The step of one dense MFMA instruction."""
    product = Product.parse(instruction.mnemonic, context.lanes)
    lanes = _broadcast(product, instruction)
    left = operand_reader(product, operand_register(instruction, "src0", 1), product.left, product.rows)
    right = operand_reader(product, operand_register(instruction, "src1", 2), product.right, product.columns, lanes)
    addend = _addend(product, instruction)
    chosen = _chosen_blocks(product, instruction)
    sign_left, sign_right, sign_addend = _signs(product, instruction)
    sign_product = sign_left * sign_right
    destination = vectors(instruction.fields["vdst"], product.accumulators * product.result_words)
    destination += AGPR if instruction.fields.get("acc_cd", 0) else 0
    dtype = RESULTS[product.result]

    def step(state: State) -> None:
        a, b = left(state), right(state)
        if chosen is not None:
            a = a[:, chosen]
        total = np.matmul(a, b.transpose(0, 1, 3, 2)).astype(dtype, copy=False)
        if sign_product < 0:
            np.negative(total, out=total)
        total = total + addend(state) if sign_addend > 0 else total - addend(state)
        write_product(state, product, destination, total)

    return step


MNEMONICS = tuple(
    f"v_mfma_{name}"
    for name in (
        *(f"f32_{shape}_{kind}" for shape in ("32x32x8", "16x16x16") for kind in ("f16", "bf16")),
        *(f"f32_{shape}_{kind}" for shape in ("32x32x4_2b", "16x16x4_4b", "4x4x4_16b") for kind in ("f16", "bf16")),
        *(f"f32_{shape}_f32" for shape in ("32x32x1_2b", "16x16x1_4b", "4x4x1_16b", "32x32x2", "16x16x4")),
        *(f"f32_{shape}_xf32" for shape in ("32x32x4", "16x16x8")),
        *(f"f64_{shape}_f64" for shape in ("16x16x4", "4x4x4_4b")),
        *(f"i32_{shape}_i8" for shape in ("32x32x4_2b", "16x16x4_4b", "4x4x4_16b", "32x32x16", "16x16x32")),
        *(
            f"f32_{shape}_{left}_{right}"
            for shape in ("32x32x16", "16x16x32")
            for left in ("fp8", "bf8")
            for right in ("fp8", "bf8")
        ),
    )
)
semantics(*MNEMONICS)(compile_product)
