"""Reading source operands: registers, constants, literals, and what VOP3, SDWA and DPP do to a value on its way in.

A *kind* names how an instruction looks at an operand: `f16 f32 f64` (float modifiers and inline float constants of that
width), `u16 i16 b16 u32 i32 b32 u64 i64 b64`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.isa.core.register_limits import scalars, vectors
from hipgraph_cb.virtual.isa.core.registry import UnsupportedInstruction
from hipgraph_cb.virtual.isa.core.state import (
    EXEC,
    MASK32,
    MASK64,
    VCC,
    MaskOrNumber,
    Number64,
    Scalar32,
    Scalar64,
    State,
    Vector32,
    Vector64,
)

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

Reader = Callable[[State], NDArray[Any]]

VGPR_BASE = 256
SDWA_SOURCE, DPP_SOURCE, LITERAL = 249, 250, 255
SHARED_BASE = 1 << 48  # generic addresses of LDS and of private memory start here
PRIVATE_BASE = 2 << 48
APERTURE_LIMIT = MASK32

DTYPES: dict[str, type[np.generic]] = {
    "f16": np.float16,
    "u16": np.uint16,
    "i16": np.int16,
    "b16": np.uint16,
    "f32": np.float32,
    "u32": np.uint32,
    "i32": np.int32,
    "b32": np.uint32,
    "f64": np.float64,
    "u64": np.uint64,
    "i64": np.int64,
    "b64": np.uint64,
}
_FLOATS = (0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0)
# 1 / (2 pi) as the hardware holds it (CDNA3 ISA, table of source operands)
_INVERSE_TWO_PI = {16: 0x3118, 32: 0x3E22F983, 64: 0x3FC45F306DC9C882}
_FORMATS = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}
_APERTURES = {
    235: SHARED_BASE,
    236: SHARED_BASE + APERTURE_LIMIT,
    237: PRIVATE_BASE,
    238: PRIVATE_BASE + APERTURE_LIMIT,
}


def width_of(kind: str) -> int:
    """Bits of an operand of `kind`."""
    return int(kind[1:])


def constant_value(code: int, literal: int | None, kind: str) -> int | None:
    """The bits of an inline constant or literal as an operand of `kind`, or None if `code` is a register."""
    width = width_of(kind)
    mask = (1 << width) - 1
    if 128 <= code <= 192:
        return code - 128
    if 193 <= code <= 208:
        return (192 - code) & mask
    if 240 <= code <= 247:
        to_bytes, from_bytes = _FORMATS[width]
        return int(struct.unpack(from_bytes, struct.pack(to_bytes, _FLOATS[code - 240]))[0])
    if code == 248:
        return _INVERSE_TWO_PI[width]
    if code == LITERAL:
        return _literal_value(literal or 0, kind)
    return None


def _literal_value(literal: int, kind: str) -> int:
    """A 32-bit literal fills the upper half of a double and is extended by the sign of an i64."""
    if kind == "f64":
        return literal << 32
    if kind == "i64" and literal >> 31:
        return literal | MASK64 ^ MASK32
    return literal & ((1 << width_of(kind)) - 1)


_CONSTANTS: dict[int, Vector32] = {}
_CONSTANTS64: dict[int, Vector64] = {}


def constant32(value: int) -> Vector32:
    """A (1, 1) array that holds `value`; shared, so it must not be written to."""
    found = _CONSTANTS.get(value)
    if found is None:
        if len(_CONSTANTS) > 65536:
            _CONSTANTS.clear()
        found = _CONSTANTS[value] = np.full((1, 1), value, np.uint32)
    return found


def constant64(value: int) -> Vector64:
    """Like `constant32`, 64 bits wide."""
    found = _CONSTANTS64.get(value)
    if found is None:
        if len(_CONSTANTS64) > 65536:
            _CONSTANTS64.clear()
        found = _CONSTANTS64[value] = np.full((1, 1), value, np.uint64)
    return found


def scalar_reader(code: int, literal: int | None, kind: str = "b32") -> Callable[[State], Scalar32]:
    """Reads a 32-bit scalar source: int, or uint32 [waves, 1]."""
    value = constant_value(code, literal, kind)
    if value is not None:
        return lambda state: value
    if code < 128:
        return lambda state: state.read_sgpr(code)
    if code in _APERTURES:
        return lambda state: _APERTURES[code] & MASK32
    if code == 251:
        return lambda state: _as_number(_is_zero(state.read_mask_or_number(VCC)))
    if code == 252:
        return lambda state: _as_number(_is_zero(state.read_mask_or_number(EXEC)))
    if code == 253:
        return lambda state: _as_number(state.read_scc())
    raise UnsupportedInstruction(f"source operand {code}")


def scalar_reader64(code: int, literal: int | None, kind: str = "b64") -> Callable[[State], Scalar64]:
    """Reads a 64-bit scalar source: int, uint64 [waves, 1] or a `LaneMask`."""
    value = constant_value(code, literal, kind)
    if value is not None:
        return lambda state: value
    if code < 128:
        scalars(code, 2)
        return lambda state: state.read_pair(code)
    if code in _APERTURES:
        return lambda state: _APERTURES[code]
    narrow = scalar_reader(code, literal)

    def widened(state: State) -> Number64:
        number = narrow(state)
        return number if isinstance(number, int) else number.astype(np.uint64)

    return widened


def _as_number(condition: bool | NDArray[np.bool_]) -> Scalar32:
    return int(condition) if isinstance(condition, bool) else condition.astype(np.uint32)


def _is_zero(pair: MaskOrNumber) -> bool | NDArray[np.bool_]:
    if isinstance(pair, int):
        return pair == 0
    if isinstance(pair, np.ndarray):
        zero: NDArray[np.bool_] = pair == 0
        return zero
    found = pair.any()
    return not found if isinstance(found, bool) else ~found


def vector_reader32(code: int, literal: int | None, kind: str) -> Callable[[State], Vector32]:
    """Reads a 32-bit vector source (a 16-bit kind too: its value is in the low half): uint32 2-D."""
    if code >= VGPR_BASE:
        register = code - VGPR_BASE
        return lambda state: state.read_vgpr(register)
    value = constant_value(code, literal, kind)
    if value is not None:
        held = constant32(value)
        return lambda state: held
    scalar = scalar_reader(code, literal, kind)

    def read(state: State) -> Vector32:
        number = scalar(state)
        return constant32(number) if type(number) is int else number  # type: ignore[return-value]

    return read


def vector_reader64(code: int, literal: int | None, kind: str) -> Callable[[State], Vector64]:
    """Reads a 64-bit vector source: uint64 2-D."""
    if code >= VGPR_BASE:
        register = vectors(code - VGPR_BASE, 2)
        return lambda state: state.read_vgpr64(register)
    value = constant_value(code, literal, kind)
    if value is not None:
        held = constant64(value)
        return lambda state: held
    if code >= 128:
        scalar = scalar_reader64(code, literal, kind)

        def read_special(state: State) -> Vector64:
            number = scalar(state)
            return constant64(number) if isinstance(number, int) else np.asarray(number, np.uint64)

        return read_special

    scalars(code, 2)

    def read(state: State) -> Vector64:
        number = state.read_sgpr64(code)
        return constant64(number) if type(number) is int else number  # type: ignore[return-value]

    return read


def typed(read: Reader, kind: str, *, negate: bool, absolute: bool, upper: bool = False) -> Reader:
    """`read` gives raw words; the result reads `kind` with its modifiers. `upper` takes the high half of a word."""
    dtype = DTYPES[kind]
    width = width_of(kind)
    raw = np.dtype(f"u{width // 8}").type
    if width == 16:
        read = _half_reader(read, upper)
    sign = raw(1 << (width - 1))
    rest = raw((1 << (width - 1)) - 1)
    if absolute and negate:
        return lambda state: np.bitwise_or(read(state), sign).view(dtype)
    if absolute:
        return lambda state: np.bitwise_and(read(state), rest).view(dtype)
    if negate:
        return lambda state: np.bitwise_xor(read(state), sign).view(dtype)
    if dtype is raw:
        return read
    return lambda state: read(state).view(dtype)


def _half_reader(read: Reader, upper: bool) -> Reader:
    if upper:
        return lambda state: (read(state) >> np.uint32(16)).astype(np.uint16)
    return lambda state: read(state).astype(np.uint16)


_DENORMAL_MASKS = {  # exponent, sign
    "f16": (0x7C00, 0x8000),
    "f32": (0x7F800000, 0x80000000),
    "f64": (0x7FF0000000000000, 0x8000000000000000),
}


def flushed(read: Reader, kind: str) -> Reader:
    """`read` with denormals replaced by zero of the same sign."""
    raw = np.dtype(f"u{width_of(kind) // 8}").type
    exponent, sign = (raw(mask) for mask in _DENORMAL_MASKS[kind])

    def flush(state: State) -> Any:
        value = read(state)
        bits = value.view(raw)
        return np.where(bits & exponent == 0, bits & sign, bits).view(value.dtype)

    return flush


def field(instruction: Instruction, name: str) -> int:
    """A raw field of the instruction; 0 when its format has none of that name."""
    return instruction.fields.get(name, 0)
