"""Writing the result of a vector instruction: output modifiers, 16-bit halves, SDWA and DPP destinations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.isa.core import dpp, sdwa
from hipgraph_cb.virtual.isa.core.operands import field, width_of
from hipgraph_cb.virtual.isa.core.register_limits import vectors
from hipgraph_cb.virtual.isa.core.registry import CompileContext, UnsupportedInstruction
from hipgraph_cb.virtual.isa.core.state import State

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

Writer = Callable[[State, NDArray[Any]], None]
Transform = Callable[[NDArray[Any]], NDArray[Any]]

_OUTPUT_FACTORS = {1: 2.0, 2: 4.0, 3: 0.5}
# These write one half and keep the other; every other 16-bit instruction of GFX9 clears the upper half.
KEEPS_OTHER_HALF = frozenset(
    f"v_{name}"
    for name in [
        "mad_f16",
        "fma_f16",
        "mad_u16",
        "mad_i16",
        "div_fixup_f16",
        "mad_mixlo_f16",
        "mad_mixhi_f16",
        "min3_f16",
        "min3_i16",
        "min3_u16",
        "max3_f16",
        "max3_i16",
        "max3_u16",
        "med3_f16",
        "med3_i16",
        "med3_u16",
        "add_i16",
        "sub_i16",
    ]
)


def result_writer(instruction: Instruction, kind: str, context: CompileContext, *, arithmetic: bool = False) -> Writer:
    """A function that stores an array of `kind` in the instruction's destination."""
    register = instruction.fields["vdst"]
    transform = _transform(instruction, kind, context, arithmetic)
    write = _plain_writer(instruction, kind, register, context)
    if transform is None:
        return write
    chosen = transform
    return lambda state, value: write(state, chosen(value))


UPPER_HALVES = 128  # from this number on, a short encoding names the upper halves of the registers from 0 on
_SHORT = frozenset({"VOP1", "VOP2", "VOPC"})


def names_halves(instruction: Instruction, context: CompileContext) -> bool:
    """Whether the 16-bit vector operands of an instruction are halves of the first 128 registers."""
    return context.target.differences.halves_in_short_forms and instruction.format in _SHORT


def _plain_writer(instruction: Instruction, kind: str, register: int, context: CompileContext) -> Writer:
    width = width_of(kind)
    vectors(register, max(1, width // 32))
    if instruction.sdwa is not None:
        return sdwa.writer(instruction, kind, register)
    if width == 16:
        return _half_writer(instruction, register, context)
    if instruction.dpp is not None:
        return _dpp_writer(instruction, width, register, context.lanes)
    if width == 64:
        return lambda state, value: state.write_vgpr64(register, value.view(np.uint64))
    if kind[0] in "ub":
        return lambda state, value: state.write_vgpr(register, value)
    return lambda state, value: state.write_vgpr(register, value.view(np.uint32))


def _half_writer(instruction: Instruction, register: int, context: CompileContext) -> Writer:
    upper = bool(field(instruction, "op_sel") & 8)
    if names_halves(instruction, context):
        upper, register = register >= UPPER_HALVES, register % UPPER_HALVES
    if context.target.differences.keeps_other_half:
        keeps_other = True
    else:
        keeps_other = instruction.format == "VOP3" and instruction.mnemonic in KEEPS_OTHER_HALF
    if upper and not keeps_other:
        raise UnsupportedInstruction("op_sel on its destination")
    write = _word_writer(instruction, register, context)
    if not keeps_other:
        return lambda state, value: write(state, value.view(np.uint16).astype(np.uint32))
    kept, shift = (np.uint32(0xFFFF), np.uint32(16)) if upper else (np.uint32(0xFFFF0000), np.uint32(0))

    def write_half(state: State, value: NDArray[Any]) -> None:
        placed = value.view(np.uint16).astype(np.uint32) << shift
        write(state, state.read_vgpr(register) & kept | placed)

    return write_half


def _word_writer(instruction: Instruction, register: int, context: CompileContext) -> Writer:
    if instruction.dpp is not None:
        return _dpp_writer(instruction, 32, register, context.lanes)
    return lambda state, word: state.write_vgpr(register, word)


def _dpp_writer(instruction: Instruction, width: int, register: int, lanes: int) -> Writer:
    enabled = dpp.enabled_lanes(instruction, lanes)
    if width == 64:
        return _wide_dpp_writer(enabled, register)

    def write(state: State, value: NDArray[Any]) -> None:
        word, chosen = value.view(np.uint32), enabled(state)
        if chosen is None:
            state.write_vgpr(register, word)
        else:
            state.write_vgpr_where(register, word, chosen)

    return write


def _wide_dpp_writer(enabled: Callable[[State], Any], register: int) -> Writer:
    def write(state: State, value: NDArray[Any]) -> None:
        lanes = enabled(state)
        if lanes is None:
            state.write_vgpr64(register, value.view(np.uint64))
            return
        with state.narrowed(np.array(state.full(lanes), order="C")):
            state.write_vgpr64(register, value.view(np.uint64))

    return write


def _transform(instruction: Instruction, kind: str, context: CompileContext, arithmetic: bool) -> Transform | None:
    """Output multiplier, clamp to 0..1 and denormal flushing of a float result, in that order."""
    if kind[0] != "f":
        return None
    given = instruction.sdwa if instruction.sdwa is not None else instruction.fields
    if arithmetic:
        refuse_clamped_overflow(kind, context)
    steps: list[Transform] = []
    if given.get("omod", 0):
        factor = np.dtype(f"f{width_of(kind) // 8}").type(_OUTPUT_FACTORS[given["omod"]])
        steps.append(lambda value: value * factor)
    if given.get("clamp", 0):
        steps.append(_clamp(context.float_mode.dx10_clamp))
    mode = context.float_mode
    if arithmetic and not (mode.denormals_f32 if kind == "f32" else mode.denormals_f16_f64) & 2:
        steps.append(flush_denormals)
    if not steps:
        return None

    def apply(value: NDArray[Any]) -> NDArray[Any]:
        for step in steps:
            value = step(value)
        return value

    return apply


def refuse_clamped_overflow(kind: str, context: CompileContext) -> None:
    """Refuse half precision arithmetic under MODE.FP16_OVFL."""
    if kind == "f16" and context.float_mode.fp16_overflow:
        raise UnsupportedInstruction("FP16_OVFL")


def _clamp(nan_becomes_zero: bool) -> Transform:
    def clamp(value: Any) -> Any:
        zero, one = value.dtype.type(0), value.dtype.type(1)
        clamped = np.minimum(np.maximum(value, zero), one) + zero  # the sum turns -0 into +0
        return np.where(np.isnan(value), zero, clamped) if nan_becomes_zero else clamped

    return clamp


def flush_denormals(value: Any) -> Any:
    """`value` with denormals replaced by zero of the same sign."""
    tiny = np.finfo(value.dtype).tiny
    return np.where(np.abs(value) < tiny, np.copysign(value.dtype.type(0), value), value)
