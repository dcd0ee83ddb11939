"""VOP3P: two halves at once (v_pk_*), mixed precision, and dot products."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.isa.core.exact import fma16, fma32
from hipgraph_cb.virtual.isa.core.operands import VGPR_BASE, Reader, field, typed, vector_reader32
from hipgraph_cb.virtual.isa.core.register_limits import SCALARS, scalars, vectors
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, UnsupportedInstruction, semantics
from hipgraph_cb.virtual.isa.core.results import flush_denormals, refuse_clamped_overflow
from hipgraph_cb.virtual.isa.core.state import State
from hipgraph_cb.virtual.isa.vector.float_alu import maximum, minimum
from hipgraph_cb.virtual.isa.vector.vector import keeps_denormals, rounded

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

Function = Callable[..., Any]
_NAMES = ("src0", "src1", "src2")


# what `rounding.directed` calls these
_DIRECTED = {"add": "add", "mul": "multiply", "fma": "fma"}
PACKED16: dict[str, tuple[Function, int, str]] = {
    "v_pk_add_f16": (np.add, 2, "f16"),
    "v_pk_mul_f16": (np.multiply, 2, "f16"),
    "v_pk_fma_f16": (fma16, 3, "f16"),
    "v_pk_min_f16": (minimum, 2, "f16"),
    "v_pk_max_f16": (maximum, 2, "f16"),
    "v_pk_add_u16": (np.add, 2, "u16"),
    "v_pk_add_i16": (np.add, 2, "i16"),
    "v_pk_sub_u16": (np.subtract, 2, "u16"),
    "v_pk_sub_i16": (np.subtract, 2, "i16"),
    "v_pk_mul_lo_u16": (np.multiply, 2, "u16"),
    "v_pk_mad_u16": (lambda a, b, c: a * b + c, 3, "u16"),
    "v_pk_mad_i16": (lambda a, b, c: a * b + c, 3, "i16"),
    "v_pk_min_u16": (np.minimum, 2, "u16"),
    "v_pk_min_i16": (np.minimum, 2, "i16"),
    "v_pk_max_u16": (np.maximum, 2, "u16"),
    "v_pk_max_i16": (np.maximum, 2, "i16"),
    "v_pk_lshlrev_b16": (lambda a, b: b << (a & np.uint16(15)), 2, "u16"),
    "v_pk_lshrrev_b16": (lambda a, b: b >> (a & np.uint16(15)), 2, "u16"),
    "v_pk_ashrrev_i16": (lambda a, b: b >> (a & np.int16(15)), 2, "i16"),
}
PACKED32: dict[str, tuple[Function, int]] = {
    "v_pk_add_f32": (np.add, 2),
    "v_pk_mul_f32": (np.multiply, 2),
    "v_pk_fma_f32": (fma32, 3),
}


def _modifiers(instruction: Instruction, index: int, high: bool) -> tuple[bool, bool]:
    """Which half feeds this half of the result, and whether it is negated."""
    selector = field(instruction, "op_sel_hi" if high else "op_sel")
    negated = field(instruction, "neg_hi" if high else "neg")
    return bool(selector >> index & 1), bool(negated >> index & 1)


def _half_source(instruction: Instruction, index: int, kind: str, high: bool) -> Reader:
    upper, negate = _modifiers(instruction, index, high)
    code = instruction.fields[_NAMES[index]]
    read = vector_reader32(code, instruction.literal, kind)
    if negate and kind != "f16":
        raise UnsupportedInstruction("a sign modifier on an integer operand")
    # An inline constant has its value in the low half and nothing above it.
    return typed(read, kind, negate=negate, absolute=False, upper=upper)


def _float_function(instruction: Instruction, function: Function, kind: str, context: CompileContext) -> Function:
    """`function` under the rounding and denormal modes."""
    refuse_clamped_overflow(kind, context)
    name = _DIRECTED.get(instruction.mnemonic.split("_")[2])
    if name is not None:
        function = rounded(function, name, kind, context)
    return _with_denormal_mode(function, kind, context)


def _with_denormal_mode(function: Function, kind: str, context: CompileContext) -> Function:
    """`function` with denormal operands and results replaced by zero where the mode says so."""
    flush_operands, flush_result = (not keeps_denormals(kind, context, bit) for bit in (1, 2))
    if not flush_operands and not flush_result:
        return function

    def apply(*operands: Any) -> Any:
        value = function(*(map(flush_denormals, operands) if flush_operands else operands))
        return flush_denormals(value) if flush_result else value

    return apply


def _half_function(function: Function, count: int) -> Function:
    if count == 2:
        return lambda readers, state: function(readers[0](state), readers[1](state))
    return lambda readers, state: function(readers[0](state), readers[1](state), readers[2](state))


def _clamp_half(value: Any) -> Any:
    return np.where(np.isnan(value), value.dtype.type(0), np.clip(value, 0, 1)).astype(value.dtype)


def _saturated(function: Function, kind: str) -> Function:
    info = np.iinfo(np.uint16 if kind == "u16" else np.int16)

    def apply(*operands: Any) -> Any:
        wide = function(*(operand.astype(np.int64) for operand in operands))
        return np.clip(wide, info.min, info.max).astype(info.dtype)

    return apply


@semantics(*PACKED16)
def _compile_packed16(instruction: Instruction, context: CompileContext) -> Compiled:
    function, count, kind = PACKED16[instruction.mnemonic]
    if kind == "f16":
        function = _float_function(instruction, function, kind, context)
    clamp = bool(field(instruction, "clamp"))
    if clamp and kind != "f16":
        function = _saturated(function, kind)
    low = [_half_source(instruction, index, kind, False) for index in range(count)]
    high = [_half_source(instruction, index, kind, True) for index in range(count)]
    apply, destination = _half_function(function, count), instruction.fields["vdst"]

    def step(state: State) -> None:
        bottom, top = apply(low, state), apply(high, state)
        if clamp and kind == "f16":
            bottom, top = _clamp_half(bottom), _clamp_half(top)
        word = bottom.view(np.uint16).astype(np.uint32) | top.view(np.uint16).astype(np.uint32) << np.uint32(16)
        state.write_vgpr(destination, word)

    return step


def _half_of_pair(code: int, half: int) -> int:
    """The code of one register of the pair that a source code names; anything else has no halves."""
    if code >= VGPR_BASE:
        return VGPR_BASE + vectors(code - VGPR_BASE, 2) + half
    return scalars(code, 2) + half if code < SCALARS else code


def _single_source(instruction: Instruction, index: int, high: bool) -> Reader:
    """Half of a register pair as f32; a constant or a lone scalar feeds both halves."""
    upper, negate = _modifiers(instruction, index, high)
    code = _half_of_pair(instruction.fields[_NAMES[index]], int(upper))
    read = vector_reader32(code, instruction.literal, "f32")
    return typed(read, "f32", negate=negate, absolute=False)


@semantics(*PACKED32)
def _compile_packed32(instruction: Instruction, context: CompileContext) -> Compiled:
    function, count = PACKED32[instruction.mnemonic]
    function = _float_function(instruction, function, "f32", context)
    clamp = bool(field(instruction, "clamp"))
    low = [_single_source(instruction, index, False) for index in range(count)]
    high = [_single_source(instruction, index, True) for index in range(count)]
    apply, destination = _half_function(function, count), vectors(instruction.fields["vdst"], 2)

    def step(state: State) -> None:
        bottom, top = apply(low, state), apply(high, state)
        if clamp:
            bottom, top = _clamp_half(bottom), _clamp_half(top)
        state.write_vgpr(destination, bottom.view(np.uint32))
        state.write_vgpr(destination + 1, top.view(np.uint32))

    return step


@semantics("v_pk_mov_b32")
def _compile_packed_move(instruction: Instruction, context: CompileContext) -> Compiled:
    """The low word comes from the first source, the high word from the second."""
    del context
    readers = []
    for index in (0, 1):
        code = _half_of_pair(instruction.fields[_NAMES[index]], field(instruction, "op_sel") >> index & 1)
        readers.append(vector_reader32(code, instruction.literal, "b32"))
    destination = vectors(instruction.fields["vdst"], 2)

    def step(state: State) -> None:
        low, high = readers[0](state), readers[1](state)
        state.write_vgpr(destination, low)
        state.write_vgpr(destination + 1, high)

    return step


def _mixed_source(instruction: Instruction, index: int) -> Reader:
    """f32, or the half that op_sel names as f16 widened to f32; neg_hi is the absolute value here."""
    negate, absolute = (bool(field(instruction, name) >> index & 1) for name in ("neg", "neg_hi"))
    is_half = bool(field(instruction, "op_sel_hi") >> index & 1)
    upper = bool(field(instruction, "op_sel") >> index & 1)
    kind = "f16" if is_half else "f32"
    read = vector_reader32(instruction.fields[_NAMES[index]], instruction.literal, kind)
    value = typed(read, kind, negate=negate, absolute=absolute, upper=upper)
    return (lambda state: value(state).astype(np.float32)) if is_half else value


@semantics("v_mad_mix_f32", "v_mad_mixlo_f16", "v_mad_mixhi_f16", "v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16")
def _compile_mixed(instruction: Instruction, context: CompileContext) -> Compiled:
    fused = _with_denormal_mode(rounded(fma32, "fma", "f32", context), "f32", context)
    first, second, third = (_mixed_source(instruction, index) for index in range(3))
    destination, clamp = instruction.fields["vdst"], bool(field(instruction, "clamp"))
    form = instruction.mnemonic.split("_")[2]
    to_half = rounded(lambda value: value.astype(np.float16), "convert", "f16", context)

    def step(state: State) -> None:
        total: NDArray[Any] = fused(first(state), second(state), third(state))
        if clamp:
            total = _clamp_half(total)
        if form == "mix":
            state.write_vgpr(destination, total.view(np.uint32))
            return
        half = to_half(total).view(np.uint16).astype(np.uint32)
        old = state.read_vgpr(destination)
        if form == "mixlo":
            state.write_vgpr(destination, old & np.uint32(0xFFFF0000) | half)
        else:
            state.write_vgpr(destination, old & np.uint32(0xFFFF) | half << np.uint32(16))

    return step


# dot products: element width and signedness of each source -> the sum in 32 bits


def integer_elements(value: NDArray[np.uint32], width: int, signed: bool) -> list[NDArray[Any]]:
    """The fields of `width` bits of a word, the lowest first."""
    shift = np.uint32(32 - width)
    parts = [value << np.uint32(32 - width - start) for start in range(0, 32, width)]
    if signed:
        return [part.view(np.int32) >> np.int32(shift) for part in parts]
    return [part >> shift for part in parts]


_INTEGER_DOTS = {
    "v_dot2_i32_i16": (16, True),
    "v_dot2_u32_u16": (16, False),
    "v_dot4_i32_i8": (8, True),
    "v_dot4_u32_u8": (8, False),
    "v_dot8_i32_i4": (4, True),
    "v_dot8_u32_u4": (4, False),
}
_CHOSEN_DOTS = {"v_dot4_i32_iu8": 8, "v_dot8_i32_iu4": 4}


def _signs_of_elements(instruction: Instruction) -> tuple[int, bool, bool]:
    """Width of the elements, and whether those of either source are signed; `iu` instructions say so by NEG."""
    width = _CHOSEN_DOTS.get(instruction.mnemonic)
    if width is None:
        width, signed = _INTEGER_DOTS[instruction.mnemonic]
        return width, signed, signed
    return width, bool(field(instruction, "neg") & 1), bool(field(instruction, "neg") & 2)


@semantics(*_INTEGER_DOTS, *_CHOSEN_DOTS)
def _compile_integer_dot(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    width, left_signed, right_signed = _signs_of_elements(instruction)
    signed = "_i32_" in instruction.mnemonic
    readers = [vector_reader32(instruction.fields[name], instruction.literal, "b32") for name in _NAMES]
    destination, clamp = instruction.fields["vdst"], bool(field(instruction, "clamp"))
    info = np.iinfo(np.int32 if signed else np.uint32)

    def step(state: State) -> None:
        a, b, c = (read(state) for read in readers)
        total = (c.view(np.int32) if signed else c).astype(np.int64)
        for x, y in zip(integer_elements(a, width, left_signed), integer_elements(b, width, right_signed), strict=True):
            total = total + np.multiply(x, y, dtype=np.int64)
        if clamp:
            total = np.clip(total, info.min, info.max)
        state.write_vgpr(destination, total.astype(np.uint32))

    return step


def _brain_half_source(instruction: Instruction, index: int, high: bool) -> Reader:
    """A bfloat16 half as f32."""
    upper, negate = _modifiers(instruction, index, high)
    read = vector_reader32(instruction.fields[_NAMES[index]], instruction.literal, "b32")
    sign = np.uint32(0x80000000 if negate else 0)
    if upper:
        return lambda state: (read(state) & np.uint32(0xFFFF0000) ^ sign).view(np.float32)
    return lambda state: (read(state) << np.uint32(16) ^ sign).view(np.float32)


@semantics("v_dot2_f32_bf16")
def _compile_brain_dot(instruction: Instruction, context: CompileContext) -> Compiled:
    """S2 + a0 * b0 + a1 * b1, products and sums in f32, in this order."""
    multiply_add = rounded(lambda a, b, c: a * b + c, "mad", "f32", context)
    pairs = [[_brain_half_source(instruction, index, high) for index in (0, 1)] for high in (False, True)]
    _, negate = _modifiers(instruction, 2, False)
    third = typed(
        vector_reader32(instruction.fields["src2"], instruction.literal, "f32"), "f32", negate=negate, absolute=False
    )
    destination = instruction.fields["vdst"]

    def step(state: State) -> None:
        total = third(state)
        for first, second in pairs:
            total = multiply_add(first(state), second(state), total)
        state.write_vgpr(destination, total.view(np.uint32))

    return step


@semantics("v_dot2_f32_f16")
def _compile_half_dot(instruction: Instruction, context: CompileContext) -> Compiled:
    """S2 + a0 * b0 + a1 * b1, products and sums in f32, in this order."""
    multiply_add = rounded(lambda a, b, c: a * b + c, "mad", "f32", context)
    low = [_half_source(instruction, index, "f16", False) for index in (0, 1)]
    high = [_half_source(instruction, index, "f16", True) for index in (0, 1)]
    _, negate = _modifiers(instruction, 2, False)
    third = typed(
        vector_reader32(instruction.fields["src2"], instruction.literal, "f32"), "f32", negate=negate, absolute=False
    )
    destination = instruction.fields["vdst"]

    def step(state: State) -> None:
        total = third(state)
        for first, second in (low, high):
            total = multiply_add(first(state).astype(np.float32), second(state).astype(np.float32), total)
        state.write_vgpr(destination, total.view(np.uint32))

    return step
