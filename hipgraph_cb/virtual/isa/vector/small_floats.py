"""The 8-bit floats of gfx942 (FNUZ encodings: one zero, 0x80 is NaN, no infinity) and conversions to and from f32.

fp8 has 4 bits of exponent with bias 8 and 3 of fraction, bf8 5 bits with bias 16 and 2. What is too large becomes NaN,
or the largest number when MODE.FP16_OVFL is set.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.isa.core.operands import field
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, semantics
from hipgraph_cb.virtual.isa.core.results import result_writer
from hipgraph_cb.virtual.isa.core.state import State, join
from hipgraph_cb.virtual.isa.vector.vector import operation, register_operations, source, source_codes

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

_FORMATS = {"fp8": (3, 8), "bf8": (2, 16)}  # bits of fraction, bias
NAN_CODE = 0x80
_LARGEST_CODE = 0x7F
_U32 = np.uint32


@lru_cache(maxsize=2)
def values_of(kind: str) -> NDArray[np.float32]:
    """The values of the 256 codes of a format."""
    fraction_bits, bias = _FORMATS[kind]
    codes = np.arange(256)
    fraction = (codes & ((1 << fraction_bits) - 1)) / (1 << fraction_bits)
    exponent = (codes & 0x7F) >> fraction_bits
    magnitude = np.where(exponent > 0, np.ldexp(1 + fraction, exponent - bias), np.ldexp(fraction, 1 - bias))
    values = np.where(codes & 0x80, -magnitude, magnitude)
    values[NAN_CODE] = np.nan
    return values.astype(np.float32)


@lru_cache(maxsize=2)
def _magnitudes(kind: str) -> NDArray[np.float64]:
    """The values of codes 0 to 0x7F, ascending, and the one that would come next."""
    positive = values_of(kind)[:NAN_CODE].astype(np.float64)
    return np.append(positive, 2 * positive[-1] - positive[-2])


def encode(kind: str, value: NDArray[Any], saturate: bool, random: NDArray[np.uint32] | None = None) -> NDArray[Any]:
    """The codes (uint32) of f32 values: to nearest even, or stochastically.

    Args:
        random: a number per lane. Of the distance to the next larger magnitude a value must have passed more than what
            its upper bits leave to one; they are as many as f32 has more bits of fraction than the format.
    """
    table = _magnitudes(kind)
    wide = np.abs(value.astype(np.float64))
    below = np.clip(np.searchsorted(table, wide, "right") - 1, 0, _LARGEST_CODE)
    passed = (wide - table[below]) / (table[below + 1] - table[below])
    if random is None:
        up = (passed > 0.5) | (passed == 0.5) & (below & 1 == 1)
    else:
        shift = 9 + _FORMATS[kind][0]
        up = passed + (random >> _U32(shift)) / float(1 << 32 - shift) >= 1
    codes = below + up
    too_large = (codes > _LARGEST_CODE) | (wide >= table[-1])
    codes = np.where(too_large, _LARGEST_CODE if saturate else NAN_CODE, codes)
    codes = np.where(np.signbit(value) & (codes != 0), codes | NAN_CODE, codes)
    invalid = np.isnan(value) | np.isinf(value)
    return np.where(invalid, NAN_CODE, codes).astype(_U32)


register_operations(
    {
        f"v_cvt_f32_{kind}": operation("f32 u32", lambda value, kind=kind: values_of(kind)[value & _U32(0xFF)])
        for kind in _FORMATS
    }
)


@semantics("v_cvt_pk_f32_fp8", "v_cvt_pk_f32_bf8")
def _compile_unpack(instruction: Instruction, context: CompileContext) -> Compiled:
    """Two codes, of the lower half or of the one that SDWA selects, to a pair of registers."""
    values = values_of(instruction.mnemonic[-3:])
    (code,) = source_codes(instruction, 1)
    read = source(instruction, 0, "u32", code, context)
    write = result_writer(replace(instruction, sdwa=None), "u64", context)  # SDWA cannot select part of a pair

    def step(state: State) -> None:
        word = read(state)
        low, high = values[word & _U32(0xFF)], values[word >> _U32(8) & _U32(0xFF)]
        write(state, join(low.view(_U32), high.view(_U32)))

    return step


@semantics("v_cvt_pk_fp8_f32", "v_cvt_pk_bf8_f32")
def _compile_pack(instruction: Instruction, context: CompileContext) -> Compiled:
    """Two codes into the half that op_sel[3] names; the other half stays."""
    kind, saturate = instruction.mnemonic.split("_")[3], context.float_mode.fp16_overflow
    first, second = (
        source(instruction, index, "f32", code, context) for index, code in enumerate(source_codes(instruction, 2))
    )
    destination, upper = instruction.fields["vdst"], bool(field(instruction, "op_sel") & 8)
    shift, kept = (_U32(16), _U32(0xFFFF)) if upper else (_U32(0), _U32(0xFFFF0000))

    def step(state: State) -> None:
        low, high = encode(kind, first(state), saturate), encode(kind, second(state), saturate)
        state.write_vgpr(destination, state.read_vgpr(destination) & kept | (low | high << _U32(8)) << shift)

    return step


@semantics("v_cvt_sr_fp8_f32", "v_cvt_sr_bf8_f32")
def _compile_stochastic(instruction: Instruction, context: CompileContext) -> Compiled:
    """One code into the byte that op_sel[3:2] names; the others stay."""
    kind, saturate = instruction.mnemonic.split("_")[3], context.float_mode.fp16_overflow
    codes = source_codes(instruction, 2)
    value, random = source(instruction, 0, "f32", codes[0], context), source(instruction, 1, "u32", codes[1], context)
    destination, shift = instruction.fields["vdst"], _U32((field(instruction, "op_sel") >> 2 & 3) * 8)
    kept = _U32(0xFFFFFFFF ^ 0xFF << int(shift))

    def step(state: State) -> None:
        code = encode(kind, value(state), saturate, random(state))
        state.write_vgpr(destination, state.read_vgpr(destination) & kept | code << shift)

    return step
