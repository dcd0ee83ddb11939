"""WMMA: D = A x B + C for matrices of 16 x 16 that the lanes of a wave hold (RDNA3 ISA, "Wave matrix").

Lane n holds row n % 16 of A (column of B), all 16 elements of it, and the lanes from 16 on hold the same again.
Register r of C and D holds in lane n row r * (lanes / 16) + n // 16 and column n % 16; 16-bit results take one half of
each register, which op_sel names. EXEC is ignored. Sums are made in single precision (exact for integers) in numpy's
order.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.isa.core.operands import VGPR_BASE, constant_value, field
from hipgraph_cb.virtual.isa.core.register_limits import vectors
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, UnsupportedInstruction, semantics
from hipgraph_cb.virtual.isa.matrix.matrix import interleaved, remembered
from hipgraph_cb.virtual.isa.memory.atomic_operations import round_brain
from hipgraph_cb.virtual.isa.vector.packed import integer_elements

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction
    from hipgraph_cb.virtual.isa.core.state import State

Values = NDArray[Any]
_SIDE = 16
_NAME = re.compile(r"v_wmma_(f32|f16|bf16|i32)_16x16x16_(f16|bf16|iu8|iu4)")
_BITS = {"f16": 16, "bf16": 16, "iu8": 8, "iu4": 4}
_KINDS = tuple(
    f"v_wmma_{name}"
    for name in (
        "f32_16x16x16_f16",
        "f32_16x16x16_bf16",
        "f16_16x16x16_f16",
        "bf16_16x16x16_bf16",
        "i32_16x16x16_iu8",
        "i32_16x16x16_iu4",
    )
)


def _halves(words: Values, kind: str) -> Values:
    """Two numbers of each word, [..., 2 * words], in single precision."""
    halves = np.ascontiguousarray(words).view(np.uint16)
    if kind == "f16":
        return halves.view(np.float16).astype(np.float32)
    widened: Values = (halves.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return widened


def _small_integers(words: Values, kind: str, signed: bool) -> Values:
    parts = integer_elements(words, _BITS[kind], signed)
    numbers: Values = np.stack(parts, axis=-1).reshape(*words.shape[:-1], -1).astype(np.float32)
    return numbers


def _factor(instruction: Instruction, name: str, index: int, kind: str) -> Callable[[State], Values]:
    """Reads A or B as [waves, 16, 16]: a row for each row of A, or column of B."""
    code, count = instruction.fields[name], _SIDE * _BITS[kind] // 32
    if code < VGPR_BASE:
        raise UnsupportedInstruction(f"the constant {name}")
    register = vectors(code - VGPR_BASE, count)
    low, high = (bool(field(instruction, modifier) >> index & 1) for modifier in ("neg", "neg_hi"))

    def numbers(words: Values) -> Values:
        if kind.startswith("iu"):
            return _small_integers(words, kind, low)
        values = _halves(words, kind)
        signs = np.tile(np.array([-1 if low else 1, -1 if high else 1], np.float32), _SIDE // 2)
        return values * signs if low or high else values

    def rows_of(state: State, arrays: list[NDArray[np.uint32]]) -> Values:
        return numbers(interleaved(state, arrays)[:, :_SIDE])

    return lambda state: remembered(state, ("wmma", kind, low, high), register, count, partial(rows_of, state))


def _registers_of_result(lanes: int) -> int:
    return _SIDE * _SIDE // lanes


def _addend(instruction: Instruction, result: str, lanes: int, upper: bool) -> Callable[[State], Values]:
    """Reads C as [waves, row, column], or one constant."""
    code = instruction.fields["src2"]
    negate, absolute = (bool(field(instruction, modifier) >> 2 & 1) for modifier in ("neg", "neg_hi"))
    numbers = _numbers_of(result, upper)
    if code < VGPR_BASE:
        bits = constant_value(code, instruction.literal, "f16" if result == "f16" else "f32")
        if bits is None:
            raise UnsupportedInstruction("a scalar register as addend")
        shift = 16 if upper else 0
        constant = numbers(np.array([[bits << shift if result in ("f16", "bf16") else bits]], np.uint32))
        return lambda state: _signed(constant, negate, absolute)
    count = _registers_of_result(lanes)
    register = vectors(code - VGPR_BASE, count)

    def rows_of(state: State, arrays: list[NDArray[np.uint32]]) -> Values:
        words = np.stack([state.full(array) for array in arrays], axis=1)  # [waves, register, lane]
        return numbers(words).reshape(state.waves, _SIDE, _SIDE)

    form = ("wmma result", result, upper)
    return lambda state: _signed(remembered(state, form, register, count, partial(rows_of, state)), negate, absolute)


def _signed(values: Values, negate: bool, absolute: bool) -> Values:
    if absolute:
        values = np.abs(values)
    return -values if negate else values


def _numbers_of(result: str, upper: bool) -> Callable[[Values], Values]:
    if result == "f32":
        return lambda words: words.view(np.float32)
    if result == "i32":
        return lambda words: words.view(np.int32)
    shift = np.uint32(16 if upper else 0)
    if result == "f16":
        return lambda words: (words >> shift).astype(np.uint16).view(np.float16).astype(np.float32)
    return lambda words: ((words >> shift) << np.uint32(16)).view(np.float32)


@semantics(*_KINDS)
def _compile(instruction: Instruction, context: CompileContext) -> Compiled:
    match = _NAME.fullmatch(instruction.mnemonic)
    if match is None:
        raise UnsupportedInstruction(f"the form {instruction.mnemonic}")
    result, kind = match.groups()
    upper = bool(field(instruction, "op_sel") & 4)
    left, right = _factor(instruction, "src0", 0, kind), _factor(instruction, "src1", 1, kind)
    addend = _addend(instruction, result, context.lanes, upper)
    destination = vectors(instruction.fields["vdst"], _registers_of_result(context.lanes))
    clamp = bool(field(instruction, "clamp"))
    if clamp and result != "i32":
        raise UnsupportedInstruction("clamp")

    def step(state: State) -> None:
        total: Values = np.matmul(left(state), right(state).transpose(0, 2, 1))
        if result == "i32":
            # products and sums of 16 bytes are exact in single precision
            wide = total.astype(np.int64) + addend(state)
            total = (np.clip(wide, -(1 << 31), (1 << 31) - 1) if clamp else wide).astype(np.int32)
        else:
            total = total + addend(state)
        _write(state, destination, total, result, upper)

    return step


def _write(state: State, destination: int, total: Values, result: str, upper: bool) -> None:
    """Spread [waves, row, column] over the registers from `destination` on."""
    rows = total.reshape(state.waves, -1, state.lanes)
    for index in range(rows.shape[1]):
        values = np.ascontiguousarray(rows[:, index])
        if result in ("f32", "i32"):
            state.write_vgpr_all_lanes(destination + index, values.view(np.uint32))
            continue
        half = values.astype(np.float16).view(np.uint16).astype(np.uint32) if result == "f16" else round_brain(values)
        kept, shift = (0xFFFF, 16) if upper else (0xFFFF0000, 0)
        old = state.read_vgpr(destination + index) & np.uint32(kept)
        state.write_vgpr_all_lanes(destination + index, old | half << np.uint32(shift))
