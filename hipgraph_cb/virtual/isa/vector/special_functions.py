"""Instructions for one purpose each: faces of a cube map, an accumulating byte conversion, two over pi."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hipgraph_cb.virtual.isa.core.operands import VGPR_BASE, vector_reader32
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, semantics
from hipgraph_cb.virtual.isa.core.results import result_writer
from hipgraph_cb.virtual.isa.vector.float_alu import multiply_legacy
from hipgraph_cb.virtual.isa.vector.vector import operation, register_operations, sources

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

Float = Any  # an array of the operand's type
_U32 = np.uint32
_FRACTION_BITS = 1201  # of 2 / pi that the hardware holds


def _by_axis(choose: Callable[..., tuple[Float, Float, Float]]) -> Callable[..., Float]:
    """`choose(x, y, z)` gives the result for a major axis x, y and z; ties go to z, then to y."""

    def apply(x: Float, y: Float, z: Float) -> Float:
        along_x, along_y, along_z = choose(x, y, z)
        is_z = (np.abs(z) >= np.abs(x)) & (np.abs(z) >= np.abs(y))
        return np.where(is_z, along_z, np.where(np.abs(y) >= np.abs(x), along_y, along_x)).astype(np.float32)

    return apply


def _face(x: Float, y: Float, z: Float) -> tuple[Float, Float, Float]:
    return np.where(x < 0, 1, 0), np.where(y < 0, 3, 2), np.where(z < 0, 5, 4)


def _s_coordinate(x: Float, y: Float, z: Float) -> tuple[Float, Float, Float]:
    del y
    return np.where(x < 0, z, -z), x, np.where(z < 0, -x, x)


def _t_coordinate(x: Float, y: Float, z: Float) -> tuple[Float, Float, Float]:
    del x
    return -y, np.where(y < 0, -z, z), -y


def _twice_the_axis(x: Float, y: Float, z: Float) -> tuple[Float, Float, Float]:
    two = np.float32(2)
    return two * x, two * y, two * z


@lru_cache(maxsize=1)
def _two_over_pi() -> int:
    """The first `_FRACTION_BITS` bits of 2 / pi behind the binary point, by Machin's formula for pi."""
    unit = 1 << (_FRACTION_BITS + 64)

    def arctangent_of_inverse(number: int) -> int:
        power = total = unit // number
        divisor, sign = 1, 1
        while power:
            power //= number * number
            divisor, sign = divisor + 2, -sign
            total += sign * (power // divisor)
        return total

    pi = 4 * (4 * arctangent_of_inverse(5) - arctangent_of_inverse(239))
    return (2 << _FRACTION_BITS) * unit // pi


def _part_of_two_over_pi(exponent: int, segment: int) -> float:
    """53 bits of 2 / pi, for the reduction of an argument with this biased exponent (CDNA3 ISA, V_TRIG_PREOP_F64)."""
    shift = 53 * segment + max(0, exponent - 1077)
    bits = (_two_over_pi() << shift >> _FRACTION_BITS - 53) & ((1 << 53) - 1)
    return float(np.ldexp(float(bits), -53 - shift + (128 if exponent >= 1968 else 0)))


def _trig_preop(value: Float, segment: Any) -> Float:
    value, segment = np.broadcast_arrays(value, segment)
    exponents = (value.view(np.uint64) >> np.uint64(52) & np.uint64(0x7FF)).astype(np.int64)
    keys = exponents << 5 | (segment & _U32(31)).astype(np.int64)
    distinct, places = np.unique(keys, return_inverse=True)
    parts = [_part_of_two_over_pi(key >> 5, key & 31) for key in distinct.tolist()]
    return np.array(parts, np.float64)[places].reshape(value.shape)


def _lit_product(first: Float, second: Float, condition: Float) -> Float:
    """Zero times anything is zero; the lowest number where the lighting term has no sense (RDNA3 ISA, V_MULLIT_F32)."""
    lowest = np.finfo(np.float32).min
    has_none = (second == lowest) | (second == -np.inf) | np.isnan(second) | (condition <= 0) | np.isnan(condition)
    return np.where(has_none, lowest, multiply_legacy(first, second))


register_operations(
    {
        "v_cubeid_f32": operation("f32 f32 f32 f32", _by_axis(_face)),
        "v_cubesc_f32": operation("f32 f32 f32 f32", _by_axis(_s_coordinate)),
        "v_cubetc_f32": operation("f32 f32 f32 f32", _by_axis(_t_coordinate)),
        "v_cubema_f32": operation("f32 f32 f32 f32", _by_axis(_twice_the_axis)),
        "v_mullit_f32": operation("f32 f32 f32 f32", _lit_product, arithmetic=True),
        "v_trig_preop_f64": operation("f64 f64 u32", _trig_preop),
    }
)


@semantics("v_cvt_pkaccum_u8_f32")
def _compile_accumulating_byte(instruction: Instruction, context: CompileContext) -> Compiled:
    """`value` as an unsigned byte (towards zero, saturating) replaces one byte of the destination."""
    value, position = sources(instruction, ("f32", "u32"), context)
    old = vector_reader32(instruction.fields["vdst"] + VGPR_BASE, None, "b32")
    write = result_writer(instruction, "u32", context)

    def step(state: Any) -> None:
        wide = value(state).astype(np.float64)
        byte = np.trunc(np.clip(np.where(np.isnan(wide), 0.0, wide), 0, 255)).astype(_U32)
        shift = (position(state) & _U32(3)) << _U32(3)
        write(state, old(state) & ~(_U32(0xFF) << shift) | byte << shift)

    return step
