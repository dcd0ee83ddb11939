"""WMMA: D = A x B + C for matrices of 16 x 16 that the lanes of a wave hold (RDNA3 ISA, "Wave matrix").

Lane n holds row n % 16 of A (column of B), all elements of it, and the lanes from 16 on hold the same again. Register r
of C and D holds in lane n row r * (lanes / 16) + n // 16 and column n % 16; 16-bit results take one half of each
register, which op_sel names. Where rows are split (RDNA4), each sixteen lanes hold a part of a row, one part behind the
other, and rows of C and D likewise, those of 16 bits in both halves. EXEC is ignored. Sums are made in single precision
(exact for integers) in numpy's order.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
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
_NAME = re.compile(r"v_wmma_(f32|f16|bf16|i32)_16x16x(16|32)_(f16|bf16|iu8|iu4)")
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
        "i32_16x16x32_iu4",
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


def _factor(
    instruction: Instruction, name: str, index: int, kind: str, depth: int, groups: int
) -> Callable[[State], Values]:
    """Reads A or B as [waves, 16, depth]: a row for each row of A, or column of B.

    `groups`: of sixteen lanes, among which a row is split.
    """
    code, count = instruction.fields[name], depth * _BITS[kind] // 32 // groups
    if code < VGPR_BASE:
        raise UnsupportedInstruction(f"the constant {name}")
    register = vectors(code - VGPR_BASE, count)
    low, high = (bool(field(instruction, modifier) >> index & 1) for modifier in ("neg", "neg_hi"))

    def numbers(words: Values) -> Values:
        if kind.startswith("iu"):
            return _small_integers(words, kind, low)
        values = _halves(words, kind)
        signs = np.tile(np.array([-1 if low else 1, -1 if high else 1], np.float32), values.shape[-1] // 2)
        return values * signs if low or high else values

    def rows_of(state: State, arrays: list[NDArray[np.uint32]]) -> Values:
        held = numbers(interleaved(state, arrays)[:, : groups * _SIDE])
        parts = held.reshape(state.waves, groups, _SIDE, -1).transpose(0, 2, 1, 3)
        rows: Values = parts.reshape(state.waves, _SIDE, depth)
        return rows

    form = ("wmma", kind, low, high, depth, groups)
    return lambda state: remembered(state, form, register, count, partial(rows_of, state))


def _elements(lanes: int) -> int:
    """Elements of C, and of D, that one lane holds."""
    return _SIDE * _SIDE // lanes


def _addend(instruction: Instruction, result: str, layout: _Layout) -> Callable[[State], Values]:
    """Reads C as [waves, row, column], or one constant."""
    code = instruction.fields["src2"]
    negate, absolute = (bool(field(instruction, modifier) >> 2 & 1) for modifier in ("neg", "neg_hi"))
    numbers = _numbers_of(result)
    if code < VGPR_BASE:
        bits = constant_value(code, instruction.literal, "f16" if result == "f16" else "f32")
        if bits is None:
            raise UnsupportedInstruction("a scalar register as addend")
        constant = numbers(np.array([[bits]], np.uint32))
        return lambda state: _signed(constant, negate, absolute)
    count = layout.registers
    register = vectors(code - VGPR_BASE, count)

    def rows_of(state: State, arrays: list[NDArray[np.uint32]]) -> Values:
        words = [state.full(array) for array in arrays]
        if layout.halves == 1:
            words = [word >> np.uint32(16) if layout.upper else word for word in words]
        elif layout.halves == 2:
            words = [word >> shift for word in words for shift in (np.uint32(0), np.uint32(16))]
        return layout.rows(numbers(np.stack(words, axis=1)))  # [waves, element, lane]

    form = ("wmma result", result, layout)
    return lambda state: _signed(remembered(state, form, register, count, partial(rows_of, state)), negate, absolute)


@dataclass(frozen=True)
class _Layout:
    """How the lanes hold C and D.

    Attributes:
        lanes: of a wave.
        is_split: each sixteen lanes hold rows that follow each other, not every second or fourth one.
        halves: elements of a register that have 16 bits: one, two, or none.
        upper: the one is in the upper half.
    """

    lanes: int
    is_split: bool
    halves: int
    upper: bool

    @property
    def registers(self) -> int:
        return _elements(self.lanes) // max(1, self.halves)

    def rows(self, elements: Values) -> Values:
        """[waves, row, column] from [waves, element, lane]."""
        waves, count, lanes = elements.shape
        if self.is_split:
            elements = elements.reshape(waves, count, lanes // _SIDE, _SIDE).transpose(0, 2, 1, 3)
        return elements.reshape(waves, _SIDE, _SIDE)

    def elements(self, rows: Values) -> Values:
        """The inverse of `rows`."""
        count = _elements(self.lanes)
        if self.is_split:
            rows = rows.reshape(len(rows), self.lanes // _SIDE, count, _SIDE).transpose(0, 2, 1, 3)
        return rows.reshape(len(rows), count, self.lanes)


def _signed(values: Values, negate: bool, absolute: bool) -> Values:
    if absolute:
        values = np.abs(values)
    return -values if negate else values


def _numbers_of(result: str) -> Callable[[Values], Values]:
    """The numbers in words, of whose lower halves those of 16 bits are."""
    if result == "f32":
        return lambda words: words.view(np.float32)
    if result == "i32":
        return lambda words: words.view(np.int32)
    if result == "f16":
        return lambda words: words.astype(np.uint16).view(np.float16).astype(np.float32)
    return lambda words: (words << np.uint32(16)).view(np.float32)


@semantics(*_KINDS)
def _compile(instruction: Instruction, context: CompileContext) -> Compiled:
    match = _NAME.fullmatch(instruction.mnemonic)
    if match is None:
        raise UnsupportedInstruction(f"the form {instruction.mnemonic}")
    result, depth, kind = match[1], int(match[2]), match[3]
    is_split = context.target.differences.splits_matrix_rows
    groups = context.lanes // _SIDE if is_split else 1
    upper = bool(field(instruction, "op_sel") & 4)
    halves = 0 if result in ("f32", "i32") else 2 if is_split else 1
    layout = _Layout(context.lanes, is_split, halves, upper and not is_split)
    left, right = (_factor(instruction, f"src{index}", index, kind, depth, groups) for index in (0, 1))
    addend = _addend(instruction, result, layout)
    destination = vectors(instruction.fields["vdst"], layout.registers)
    clamp = bool(field(instruction, "clamp"))
    if clamp and result != "i32":
        raise UnsupportedInstruction("clamp")

    def step(state: State) -> None:
        total: Values = np.matmul(left(state), right(state).transpose(0, 2, 1))
        if result == "i32":
            # products and sums of 16 bytes, or 32 halves of bytes, are exact in single precision
            wide = total.astype(np.int64) + addend(state)
            total = (np.clip(wide, -(1 << 31), (1 << 31) - 1) if clamp else wide).astype(np.int32)
        else:
            total = total + addend(state)
        _write(state, destination, layout.elements(total), result, layout)

    return step


def _write(state: State, destination: int, elements: Values, result: str, layout: _Layout) -> None:
    """Put [waves, element, lane] into the registers from `destination` on."""
    parts = [np.ascontiguousarray(elements[:, index]) for index in range(elements.shape[1])]
    if not layout.halves:
        for index, part in enumerate(parts):
            state.write_vgpr_all_lanes(destination + index, part.view(np.uint32))
        return
    encode = _half_bits if result == "f16" else round_brain
    words = [encode(part) for part in parts]
    if layout.halves == 2:
        for index, (low, high) in enumerate(zip(words[::2], words[1::2], strict=True)):
            state.write_vgpr_all_lanes(destination + index, low | high << np.uint32(16))
        return
    kept, shift = (np.uint32(0xFFFF), np.uint32(16)) if layout.upper else (np.uint32(0xFFFF0000), np.uint32(0))
    for index, word in enumerate(words):
        old = state.read_vgpr(destination + index) & kept
        state.write_vgpr_all_lanes(destination + index, old | word << shift)


def _half_bits(values: NDArray[np.float32]) -> NDArray[np.uint32]:
    return values.astype(np.float16).view(np.uint16).astype(np.uint32)
