"""Scalar arithmetic on f32 and f16: of what the waves agree on once, else for each wave."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from hipgraph_cb.virtual.isa.core.exact import fma16, fma32
from hipgraph_cb.virtual.isa.core.operands import LITERAL, scalar_reader
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, UnsupportedInstruction, semantics
from hipgraph_cb.virtual.isa.core.state import State, uniform
from hipgraph_cb.virtual.isa.vector.compare import FLOAT_TESTS
from hipgraph_cb.virtual.isa.vector.conversion import to_half_toward_zero, to_integer
from hipgraph_cb.virtual.isa.vector.float_alu import maximum, maximum_or_nan, minimum, minimum_or_nan

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

Float = Any
_FMA: dict[str, Callable[..., Any]] = {"f16": fma16, "f32": fma32}
_BINARY: dict[str, Callable[[Float, Float], Float]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "min_num": minimum,
    "max_num": maximum,
    "minimum": minimum_or_nan,
    "maximum": maximum_or_nan,
}
_UNARY: dict[str, Callable[[Float], Float]] = {
    "ceil": np.ceil,
    "floor": np.floor,
    "trunc": np.trunc,
    "rndne": np.rint,
}
# result and source, and how the one becomes the other
_CONVERSIONS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "s_cvt_f32_i32": ("i32", lambda value: value.astype(np.float32)),
    "s_cvt_f32_u32": ("u32", lambda value: value.astype(np.float32)),
    "s_cvt_i32_f32": ("f32", lambda value: to_integer(value, np.int32)),
    "s_cvt_u32_f32": ("f32", lambda value: to_integer(value, np.uint32)),
    "s_cvt_f16_f32": ("f32", lambda value: value.astype(np.float16)),
    "s_cvt_f32_f16": ("f16", lambda value: value.astype(np.float32)),
    "s_cvt_hi_f32_f16": ("u32", lambda value: (value >> np.uint32(16)).astype(np.uint16).view(np.float16)),
}
_DTYPES: dict[str, type[np.generic]] = {"f32": np.float32, "f16": np.float16, "i32": np.int32, "u32": np.uint32}


def _reader(code: int, literal: int | None, kind: str) -> Callable[[State], Any]:
    """Reads a scalar source as an array of `kind`, [1, 1] or [waves, 1]."""
    read, dtype = scalar_reader(code, literal, kind), _DTYPES[kind]

    def typed(state: State) -> Any:
        word = np.atleast_2d(np.asarray(read(state), np.uint32))
        return (word.astype(np.uint16) if kind == "f16" else word).view(dtype)

    return typed


def _refuse_other_modes(context: CompileContext, kind: str) -> None:
    mode = context.float_mode
    rounding, denormals = (
        (mode.round_f32, mode.denormals_f32) if kind == "f32" else (mode.round_f16_f64, mode.denormals_f16_f64)
    )
    if rounding or denormals != 3:
        raise UnsupportedInstruction("this rounding or denormal mode")


def _write(state: State, register: int, value: Any) -> None:
    """Store the bits of an array; 16 bits clear the upper half."""
    value = np.ascontiguousarray(value)
    word = value.view(np.uint16).astype(np.uint32) if value.dtype.itemsize == 2 else value.view(np.uint32)
    state.write_sgpr(register, uniform(word))


@semantics(*(f"s_{name}_{kind}" for name in (*_BINARY, *_UNARY) for kind in ("f16", "f32")))
def _compile_arithmetic(instruction: Instruction, context: CompileContext) -> Compiled:
    name, _, kind = instruction.mnemonic[2:].rpartition("_")
    _refuse_other_modes(context, kind)
    first = _reader(instruction.fields["ssrc0"], instruction.literal, kind)
    destination = instruction.fields["sdst"]
    if name in _UNARY:
        function = _UNARY[name]
        return lambda state: _write(state, destination, function(first(state)))
    combine, second = _BINARY[name], _reader(instruction.fields["ssrc1"], instruction.literal, kind)
    return lambda state: _write(state, destination, combine(first(state), second(state)))


@semantics("s_fmac_f16", "s_fmac_f32", "s_fmaak_f32", "s_fmamk_f32")
def _compile_multiply_add(instruction: Instruction, context: CompileContext) -> Compiled:
    """fmac: D = S0 * S1 + D; mk: D = S0 * K + S1; ak: D = S0 * S1 + K, with K the literal."""
    kind = instruction.mnemonic[-3:]
    _refuse_other_modes(context, kind)
    destination = instruction.fields["sdst"]
    first, second = (_reader(instruction.fields[name], instruction.literal, kind) for name in ("ssrc0", "ssrc1"))
    if "fmac" in instruction.mnemonic:
        readers = (first, second, _reader(destination, None, kind))
    else:
        constant = _reader(LITERAL, instruction.literal, kind)
        readers = (first, constant, second) if "mk" in instruction.mnemonic else (first, second, constant)
    fused = _FMA[kind]
    return lambda state: _write(state, destination, fused(*(read(state) for read in readers)))


@semantics(*_CONVERSIONS)
def _compile_conversion(instruction: Instruction, context: CompileContext) -> Compiled:
    kind, convert = _CONVERSIONS[instruction.mnemonic]
    _refuse_other_modes(context, "f32")
    source, destination = (
        _reader(instruction.fields["ssrc0"], instruction.literal, kind),
        instruction.fields["sdst"],
    )
    if instruction.mnemonic == "s_cvt_hi_f32_f16":
        return lambda state: _write(state, destination, convert(source(state)).astype(np.float32))
    return lambda state: _write(state, destination, convert(source(state)))


@semantics("s_cvt_pk_rtz_f16_f32")
def _compile_pack(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    first, second = (_reader(instruction.fields[name], instruction.literal, "f32") for name in ("ssrc0", "ssrc1"))
    destination = instruction.fields["sdst"]

    def step(state: State) -> None:
        low, high = (to_half_toward_zero(read(state)).view(np.uint16).astype(np.uint32) for read in (first, second))
        state.write_sgpr(destination, uniform(low | high << np.uint32(16)))

    return step


@semantics(*(f"s_cmp_{test}_{kind}" for test in FLOAT_TESTS for kind in ("f16", "f32") if test not in ("f", "tru")))
def _compile_comparison(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    _, _, name, kind = instruction.mnemonic.split("_")
    test = FLOAT_TESTS[name]
    first, second = (_reader(instruction.fields[field], instruction.literal, kind) for field in ("ssrc0", "ssrc1"))

    def step(state: State) -> None:
        result = np.asarray(test(first(state), second(state)))
        state.write_scc(bool(result[0, 0]) if len(result) == 1 else result)

    return step
