"""SMFMAC: D += A x B where of each four elements of a row of A only two are stored (CDNA3 ISA, "Sparse matrix").

A lane holds half as many elements of A as of B. Two bits for each stored element say which of the four it is: element
2g and 2g + 1 belong to group g. They come from a register that is common to four (16-bit elements) or two (8-bit)
instructions; ABID chooses the part while CBSZ is zero, otherwise it is the lowest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.isa.core.operands import VGPR_BASE
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, UnsupportedInstruction, semantics
from hipgraph_cb.virtual.isa.core.state import AGPR, State
from hipgraph_cb.virtual.isa.matrix.matrix import (
    RESULTS,
    Product,
    accumulator_reader,
    operand_reader,
    operand_register,
    write_product,
)

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

_U32 = np.uint32
MNEMONICS = tuple(
    f"v_smfmac_{name}"
    for name in (
        *(f"f32_{shape}_{kind}" for shape in ("16x16x32", "32x32x16") for kind in ("f16", "bf16")),
        *(f"i32_{shape}_i8" for shape in ("16x16x64", "32x32x32")),
        *(
            f"f32_{shape}_{left}_{right}"
            for shape in ("16x16x64", "32x32x32")
            for left in ("fp8", "bf8")
            for right in ("fp8", "bf8")
        ),
    )
)


def _index_shift(instruction: Instruction, bits: int) -> int:
    """Where the indices of this instruction start in their register; `bits` is how many a lane has."""
    if instruction.fields["cbsz"]:
        return 0
    return bits * (instruction.fields["abid"] & (32 // bits - 1))


def _expanded(stored: NDArray[Any], positions: NDArray[np.int64]) -> NDArray[Any]:
    """[waves, row, stored] at their places among twice as many, zeros between; the later of two at one place counts."""
    waves, rows, count = stored.shape
    dense = np.zeros((waves, rows, 2 * count), stored.dtype)
    group = 4 * (np.arange(count) // 2)
    for index in range(count):
        np.put_along_axis(dense, (group[index] + positions[..., index])[..., None], stored[..., index, None], 2)
    return dense


@semantics(*MNEMONICS)
def _compile(instruction: Instruction, context: CompileContext) -> Compiled:
    product = Product.parse(instruction.mnemonic, context.lanes)
    if instruction.fields["src2"] < VGPR_BASE:
        raise UnsupportedInstruction("indices outside the vector registers")
    stored = replace(product, depth=product.depth // 2)  # A as its registers hold it
    left = operand_reader(stored, operand_register(instruction, "src0", 1), product.left, product.rows)
    right = operand_reader(product, operand_register(instruction, "src1", 2), product.right, product.columns)
    destination = instruction.fields["vdst"] + (AGPR if instruction.fields.get("acc_cd", 0) else 0)
    accumulators = accumulator_reader(product, destination)
    indices, count = instruction.fields["src2"] - VGPR_BASE, stored.elements
    shifts = (_index_shift(instruction, 2 * count) + 2 * np.arange(count)).astype(_U32)
    groups = stored.depth // count
    dtype = RESULTS[product.result]

    def positions(state: State) -> NDArray[np.int64]:
        """Which of its four each stored element is: [waves, row, stored]."""
        words = state.full(state.read_vgpr(indices))[..., None] >> shifts & _U32(3)
        cut = words.astype(np.int64).reshape(state.waves, groups, product.rows, count)
        ordered: NDArray[np.int64] = cut.transpose(0, 2, 1, 3).reshape(state.waves, product.rows, stored.depth)
        return ordered

    def step(state: State) -> None:
        dense = _expanded(left(state)[:, 0], positions(state))[:, None]
        total = np.matmul(dense, right(state).transpose(0, 1, 3, 2)).astype(dtype, copy=False)
        write_product(state, product, destination, total + accumulators(state))

    return step
