"""SOP1, SOP2, SOPC and SOPK arithmetic on Python ints (all waves equal) or on arrays [waves, 1].

Each operation is one function on Python ints. Where it is also right on arrays of some type it says so; any other is
applied wave by wave when waves differ, which is rare.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hipgraph_cb.virtual.isa.core.lane_mask import LaneMask, bits_of_number, combined
from hipgraph_cb.virtual.isa.core.operands import scalar_reader, scalar_reader64
from hipgraph_cb.virtual.isa.core.register_limits import SCALARS
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, UnsupportedInstruction, semantics
from hipgraph_cb.virtual.isa.core.state import EXEC, M0, MASK32, MASK64, State, uniform

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

Number = Any  # int or int64 array
Function = Callable[..., Number]


def signed32(value: Number) -> Number:
    """The two's complement reading of 32 bits."""
    return (value ^ 0x80000000) - 0x80000000


def signed64(value: int) -> int:
    """The two's complement reading of 64 bits."""
    return (value ^ 1 << 63) - (1 << 63)


def _signed(value: int, width: int) -> int:
    return signed32(value) if width == 32 else signed64(value)


def _nonzero(raw: Number, result: Number) -> Any:
    del raw
    return result != 0


def _carry(raw: Number, result: Number) -> Any:
    del result
    return (raw >> 32) != 0


def _overflow(raw: Number, result: Number) -> Any:
    return raw != signed32(result)


@dataclass(frozen=True)
class Operation:
    """One scalar operation.

    Attributes:
        function: operands as ints (bit patterns) -> raw result; its low bits are stored.
        scc: (raw, stored) -> new SCC, or None when SCC stays.
        widths: bits of the result, then of each operand.
        arrays: the dtype of arrays on which the function is right too, or None if it takes ints only.
    """

    function: Function
    scc: Callable[[Number, Number], Any] | None
    widths: tuple[int, ...] = (32, 32, 32)
    arrays: type[np.integer[Any]] | None = np.int64


def _bfe(value: int, control: int, width: int, signed: bool) -> int:
    offset, length = control & (width - 1), control >> 16 & 0x7F
    if signed:
        value = _signed(value, width)
    extracted = value >> offset & ((1 << length) - 1)
    if signed and 0 < length < width and extracted >> (length - 1):
        extracted -= 1 << length
    return extracted


def _find_first(value: int, width: int) -> int:
    """Index of the lowest set bit, -1 for none."""
    return (value & -value).bit_length() - 1 if value & ((1 << width) - 1) else -1


def _leading(value: int, width: int) -> int:
    """Zeros before the highest set bit, -1 for none."""
    return width - value.bit_length() if value else -1


def _leading_sign(value: int, width: int) -> int:
    """Index from the top of the first bit that differs from the sign, -1 for none."""
    if value >> (width - 1):
        value ^= (1 << width) - 1
    return _leading(value, width)


def _reverse(value: int, width: int) -> int:
    return int(f"{value:0{width}b}"[::-1], 2)


def _bit_count(value: int) -> int:
    return value.bit_count()


def _quad_mask(value: int, width: int) -> int:
    return sum(1 << quad for quad in range(width // 4) if value >> 4 * quad & 15)


def _whole_quads(value: int, width: int) -> int:
    return sum(15 << 4 * quad for quad in range(width // 4) if value >> 4 * quad & 15)


def _replicate(value: int) -> int:
    return sum(3 << 2 * bit for bit in range(32) if value >> bit & 1)


def _sign_extend(value: Number, bits: int) -> Number:
    low = value & ((1 << bits) - 1)
    return (low ^ 1 << (bits - 1)) - (1 << (bits - 1))


BINARY: dict[str, Operation] = {
    "s_add_u32": Operation(lambda a, b: a + b, _carry),
    "s_sub_u32": Operation(lambda a, b: a - b, _carry),
    "s_add_i32": Operation(lambda a, b: signed32(a) + signed32(b), _overflow),
    "s_sub_i32": Operation(lambda a, b: signed32(a) - signed32(b), _overflow),
    "s_mul_i32": Operation(lambda a, b: a * b, None),
    "s_mul_hi_u32": Operation(lambda a, b: a * b >> 32, None, arrays=np.uint64),
    "s_mul_hi_i32": Operation(lambda a, b: signed32(a) * signed32(b) >> 32, None),
    "s_and_b32": Operation(lambda a, b: a & b, _nonzero),
    "s_or_b32": Operation(lambda a, b: a | b, _nonzero),
    "s_xor_b32": Operation(lambda a, b: a ^ b, _nonzero),
    "s_andn2_b32": Operation(lambda a, b: a & ~b, _nonzero),
    "s_orn2_b32": Operation(lambda a, b: a | ~b, _nonzero),
    "s_nand_b32": Operation(lambda a, b: ~(a & b), _nonzero),
    "s_nor_b32": Operation(lambda a, b: ~(a | b), _nonzero),
    "s_xnor_b32": Operation(lambda a, b: ~(a ^ b), _nonzero),
    "s_lshl_b32": Operation(lambda a, b: a << (b & 31), _nonzero),
    "s_lshr_b32": Operation(lambda a, b: a >> (b & 31), _nonzero),
    "s_ashr_i32": Operation(lambda a, b: signed32(a) >> (b & 31), _nonzero),
    "s_lshl_b64": Operation(lambda a, b: a << (b & 63), _nonzero, (64, 64, 32), np.uint64),
    "s_lshr_b64": Operation(lambda a, b: a >> (b & 63), _nonzero, (64, 64, 32), np.uint64),
    "s_ashr_i64": Operation(lambda a, b: signed64(a) >> (b & 63), _nonzero, (64, 64, 32), arrays=None),
    "s_bfm_b32": Operation(lambda a, b: ((1 << (a & 31)) - 1) << (b & 31), None, arrays=None),
    "s_bfm_b64": Operation(lambda a, b: ((1 << (a & 63)) - 1) << (b & 63), None, (64, 32, 32), arrays=None),
    "s_bfe_u32": Operation(lambda a, b: _bfe(a, b, 32, False), _nonzero, arrays=None),
    "s_bfe_i32": Operation(lambda a, b: _bfe(a, b, 32, True), _nonzero, arrays=None),
    "s_bfe_u64": Operation(lambda a, b: _bfe(a, b, 64, False), _nonzero, (64, 64, 32), arrays=None),
    "s_bfe_i64": Operation(lambda a, b: _bfe(a, b, 64, True), _nonzero, (64, 64, 32), arrays=None),
    "s_absdiff_i32": Operation(lambda a, b: abs(signed32(signed32(a) - signed32(b) & MASK32)), _nonzero),
    "s_lshl1_add_u32": Operation(lambda a, b: (a << 1) + b, _carry),
    "s_lshl2_add_u32": Operation(lambda a, b: (a << 2) + b, _carry),
    "s_lshl3_add_u32": Operation(lambda a, b: (a << 3) + b, _carry),
    "s_lshl4_add_u32": Operation(lambda a, b: (a << 4) + b, _carry),
    "s_add_nc_u64": Operation(lambda a, b: a + b, None, (64, 64, 64), np.uint64),
    "s_sub_nc_u64": Operation(lambda a, b: a - b, None, (64, 64, 64), np.uint64),
    "s_mul_u64": Operation(lambda a, b: a * b, None, (64, 64, 64), np.uint64),
    "s_pack_ll_b32_b16": Operation(lambda a, b: a & 0xFFFF | (b & 0xFFFF) << 16, None),
    "s_pack_lh_b32_b16": Operation(lambda a, b: a & 0xFFFF | b & 0xFFFF0000, None),
    "s_pack_hl_b32_b16": Operation(lambda a, b: a >> 16 | (b & 0xFFFF) << 16, None),
    "s_pack_hh_b32_b16": Operation(lambda a, b: a >> 16 | b & 0xFFFF0000, None),
}
UNARY: dict[str, Operation] = {
    "s_mov_b32": Operation(lambda a: a, None, (32, 32)),
    "s_not_b32": Operation(lambda a: ~a, _nonzero, (32, 32)),
    "s_abs_i32": Operation(lambda a: abs(signed32(a)), _nonzero, (32, 32)),
    "s_sext_i32_i8": Operation(lambda a: _sign_extend(a, 8), None, (32, 32)),
    "s_sext_i32_i16": Operation(lambda a: _sign_extend(a, 16), None, (32, 32)),
    "s_brev_b32": Operation(lambda a: _reverse(a, 32), None, (32, 32), None),
    "s_brev_b64": Operation(lambda a: _reverse(a, 64), None, (64, 64), None),
    "s_bcnt0_i32_b32": Operation(lambda a: 32 - _bit_count(a), _nonzero, (32, 32), None),
    "s_bcnt0_i32_b64": Operation(lambda a: 64 - _bit_count(a), _nonzero, (32, 64), None),
    "s_bcnt1_i32_b32": Operation(_bit_count, _nonzero, (32, 32), None),
    "s_bcnt1_i32_b64": Operation(_bit_count, _nonzero, (32, 64), None),
    "s_ff0_i32_b32": Operation(lambda a: _find_first(~a, 32), None, (32, 32), None),
    "s_ff0_i32_b64": Operation(lambda a: _find_first(~a, 64), None, (32, 64), None),
    "s_ff1_i32_b32": Operation(lambda a: _find_first(a, 32), None, (32, 32), None),
    "s_ff1_i32_b64": Operation(lambda a: _find_first(a, 64), None, (32, 64), None),
    "s_flbit_i32_b32": Operation(lambda a: _leading(a, 32), None, (32, 32), None),
    "s_flbit_i32_b64": Operation(lambda a: _leading(a, 64), None, (32, 64), None),
    "s_flbit_i32": Operation(lambda a: _leading_sign(a, 32), None, (32, 32), None),
    "s_flbit_i32_i64": Operation(lambda a: _leading_sign(a, 64), None, (32, 64), None),
    "s_quadmask_b32": Operation(lambda a: _quad_mask(a, 32), _nonzero, (32, 32), None),
    "s_quadmask_b64": Operation(lambda a: _quad_mask(a, 64), _nonzero, (64, 64), None),
    "s_wqm_b32": Operation(lambda a: _whole_quads(a, 32), _nonzero, (32, 32), None),
    "s_wqm_b64": Operation(lambda a: _whole_quads(a, 64), _nonzero, (64, 64), None),
    "s_bitreplicate_b64_b32": Operation(_replicate, None, (64, 32), None),
}
COMPARISONS: dict[str, Callable[[Number, Number], Any]] = {
    "eq": lambda a, b: a == b,
    "lg": lambda a, b: a != b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}


def number_reader(code: int, literal: int | None, width: int) -> Callable[[State], Any]:
    """Reads a scalar source as a number of `width` bits: int, or unsigned array [waves, 1]."""
    if width == 32:
        return scalar_reader(code, literal)
    wide = scalar_reader64(code, literal)

    def read(state: State) -> Any:
        value = wide(state)
        return uniform(value.words(state.shape)) if isinstance(value, LaneMask) else value

    return read


def write_number(state: State, register: int, width: int, value: Any) -> None:
    """Store the low `width` bits of an int or of an unsigned array [waves, 1]."""
    if width == 32:
        state.write_sgpr(register, value)
    else:
        state.write_sgpr64(register, value)


def wave_by_wave(function: Function, state: State, operands: tuple[Any, ...], mask: int) -> tuple[Any, Any]:
    """Apply an int function to each wave. Returns the raw results (object array) and the stored ones."""
    columns = [np.broadcast_to(np.asarray(operand, object), (state.waves, 1)) for operand in operands]
    raw = np.empty((state.waves, 1), object)
    for wave in range(state.waves):
        raw[wave, 0] = function(*(int(column[wave, 0]) for column in columns))
    return raw, raw & mask


def _are_ints(operands: tuple[Any, ...]) -> bool:
    for operand in operands:  # noqa: SIM110 - a generator for `all` takes four times as long
        if type(operand) is not int:
            return False
    return True


def evaluate(operation: Operation, state: State, operands: tuple[Any, ...]) -> tuple[Any, Any]:
    """The stored result (int or unsigned array) and the new SCC (None when it stays)."""
    width = operation.widths[0]
    mask = MASK32 if width == 32 else MASK64
    if _are_ints(operands):
        raw = operation.function(*operands)
        result = raw & mask
        return result, None if operation.scc is None else bool(operation.scc(raw, result))
    if operation.arrays is not None:
        raw = operation.function(*(np.asarray(operand).astype(operation.arrays) for operand in operands))
        stored = raw & mask
    else:
        raw, stored = wave_by_wave(operation.function, state, operands, mask)
    scc = None if operation.scc is None else np.asarray(operation.scc(raw, stored)).astype(np.bool_)
    return stored.astype(np.uint32 if width == 32 else np.uint64), scc


def _compile_binary(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    operation = BINARY[instruction.mnemonic]
    fields, literal = instruction.fields, instruction.literal
    first = number_reader(fields["ssrc0"], literal, operation.widths[1])
    second = number_reader(fields["ssrc1"], literal, operation.widths[2])
    destination, width = fields["sdst"], operation.widths[0]

    def step(state: State) -> None:
        result, scc = evaluate(operation, state, (first(state), second(state)))
        write_number(state, destination, width, result)
        if scc is not None:
            state.write_scc(scc)

    return step


def _compile_unary(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    operation = UNARY[instruction.mnemonic]
    source = number_reader(instruction.fields["ssrc0"], instruction.literal, operation.widths[1])
    destination, width = instruction.fields["sdst"], operation.widths[0]

    def step(state: State) -> None:
        result, scc = evaluate(operation, state, (source(state),))
        write_number(state, destination, width, result)
        if scc is not None:
            state.write_scc(scc)

    return step


_BINARY_LOGIC = ("and", "or", "xor", "andn2", "orn2", "nand", "nor", "xnor")
_MASKS_TOO = frozenset({"s_mov_b32", "s_not_b32"})
semantics(*(name for name in BINARY if name[2:-4] not in _BINARY_LOGIC))(_compile_binary)
semantics(*(name for name in UNARY if name not in _MASKS_TOO))(_compile_unary)


@semantics("s_addc_u32", "s_subb_u32")
def _compile_carry(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    first = number_reader(instruction.fields["ssrc0"], instruction.literal, 32)
    second = number_reader(instruction.fields["ssrc1"], instruction.literal, 32)
    destination = instruction.fields["sdst"]
    if instruction.mnemonic == "s_addc_u32":
        operation = Operation(lambda a, b, c: a + b + c, _carry)
    else:
        operation = Operation(lambda a, b, c: a - b - c, _carry)

    def step(state: State) -> None:
        carry = state.read_scc()
        operands = (first(state), second(state), int(carry) if isinstance(carry, bool) else carry)
        result, scc = evaluate(operation, state, operands)
        state.write_sgpr(destination, result)
        state.write_scc(scc)

    return step


@semantics("s_min_i32", "s_min_u32", "s_max_i32", "s_max_u32")
def _compile_extreme(instruction: Instruction, context: CompileContext) -> Compiled:
    """SCC says whether the first operand was taken."""
    del context
    first = number_reader(instruction.fields["ssrc0"], instruction.literal, 32)
    second = number_reader(instruction.fields["ssrc1"], instruction.literal, 32)
    destination = instruction.fields["sdst"]
    is_signed = instruction.mnemonic.endswith("i32")
    compare = COMPARISONS["lt" if "_min_" in instruction.mnemonic else "gt"]

    def step(state: State) -> None:
        a, b = first(state), second(state)
        if type(a) is int and type(b) is int:
            taken = compare(signed32(a), signed32(b)) if is_signed else compare(a, b)
            state.write_sgpr(destination, a if taken else b)
            state.write_scc(taken)
            return
        x, y = np.asarray(a, np.int64), np.asarray(b, np.int64)
        chosen = compare(signed32(x), signed32(y)) if is_signed else compare(x, y)
        state.write_sgpr(destination, np.where(chosen, x, y).astype(np.uint32))
        state.write_scc(chosen)

    return step


def _compile_compare(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    parts = instruction.mnemonic.split("_")
    compare, kind = COMPARISONS[parts[2]], parts[3]
    width = int(kind[1:])
    fields = instruction.fields
    if instruction.format == "SOPK":
        first = number_reader(fields["sdst"], None, 32)
        immediate = fields["simm16"] & 0xFFFF
        value = (_sign_extend(immediate, 16) & MASK32) if kind == "i32" else immediate
        second: Callable[[State], Any] = lambda state: value  # noqa: E731
    else:
        first = number_reader(fields["ssrc0"], instruction.literal, width)
        second = number_reader(fields["ssrc1"], instruction.literal, width)

    def step(state: State) -> None:
        a, b = first(state), second(state)
        if type(a) is int and type(b) is int:
            state.write_scc(compare(signed32(a), signed32(b)) if kind == "i32" else compare(a, b))
            return
        x, y = (np.asarray(operand).astype(np.uint64) for operand in (a, b))
        if kind == "i32":
            x, y = x.astype(np.uint32).view(np.int32), y.astype(np.uint32).view(np.int32)
        state.write_scc(compare(x, y))

    return step


semantics(*(f"s_{form}_{test}_{kind}" for form in ("cmp", "cmpk") for test in COMPARISONS for kind in ("i32", "u32")))(
    _compile_compare
)
semantics("s_cmp_eq_u64", "s_cmp_lg_u64")(_compile_compare)


@semantics("s_bitcmp0_b32", "s_bitcmp1_b32", "s_bitcmp0_b64", "s_bitcmp1_b64")
def _compile_bit_compare(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    width = int(instruction.mnemonic[-2:])
    wanted = int(instruction.mnemonic[8])
    operation = Operation(
        lambda a, b: int(a >> (b & (width - 1)) & 1 == wanted), _nonzero, (32, width, 32), arrays=None
    )
    first = number_reader(instruction.fields["ssrc0"], instruction.literal, width)
    second = number_reader(instruction.fields["ssrc1"], instruction.literal, 32)

    def step(state: State) -> None:
        state.write_scc(evaluate(operation, state, (first(state), second(state)))[1])

    return step


@semantics("s_bitset0_b32", "s_bitset1_b32", "s_bitset0_b64", "s_bitset1_b64")
def _compile_bit_set(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    width = int(instruction.mnemonic[-2:])
    destination = instruction.fields["sdst"]
    source = number_reader(instruction.fields["ssrc0"], instruction.literal, 32)
    old = number_reader(destination, None, width)
    if instruction.mnemonic[8] == "1":
        function: Function = lambda value, bit: value | 1 << (bit & (width - 1))  # noqa: E731
    else:
        function = lambda value, bit: value & ~(1 << (bit & (width - 1)))  # noqa: E731
    operation = Operation(function, None, (width, width, 32), arrays=None)

    def step(state: State) -> None:
        write_number(state, destination, width, evaluate(operation, state, (old(state), source(state)))[0])

    return step


@semantics("s_cselect_b32", "s_cselect_b64", "s_cmov_b32", "s_cmov_b64")
def _compile_select(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    width = int(instruction.mnemonic[-2:])
    fields, destination = instruction.fields, instruction.fields["sdst"]
    dtype = np.uint32 if width == 32 else np.uint64
    first = number_reader(fields["ssrc0"], instruction.literal, width)
    if instruction.mnemonic.startswith("s_cmov"):
        second = number_reader(destination, None, width)
    else:
        second = number_reader(fields["ssrc1"], instruction.literal, width)

    def step(state: State) -> None:
        condition = state.read_scc()
        if isinstance(condition, (bool, np.bool_)):
            value = first(state) if condition else second(state)
        else:
            value = np.where(condition, np.asarray(first(state), dtype), np.asarray(second(state), dtype))
        write_number(state, destination, width, value)

    return step


@semantics("s_movk_i32", "s_addk_i32", "s_mulk_i32", "s_cmovk_i32")
def _compile_immediate(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    destination = instruction.fields["sdst"]
    value = _sign_extend(instruction.fields["simm16"] & 0xFFFF, 16) & MASK32
    if instruction.mnemonic == "s_movk_i32":
        return lambda state: state.write_sgpr(destination, value)
    if instruction.mnemonic == "s_cmovk_i32":
        return lambda state: _conditional_move(state, destination, value)
    operation = BINARY["s_add_i32" if instruction.mnemonic == "s_addk_i32" else "s_mul_i32"]

    def step(state: State) -> None:
        result, scc = evaluate(operation, state, (state.read_sgpr(destination), value))
        state.write_sgpr(destination, result)
        if scc is not None:
            state.write_scc(scc)

    return step


def _conditional_move(state: State, destination: int, value: int) -> None:
    condition = state.read_scc()
    if isinstance(condition, (bool, np.bool_)):
        if condition:
            state.write_sgpr(destination, value)
        return
    old = np.asarray(state.read_sgpr(destination), np.uint32)
    state.write_sgpr(destination, np.where(condition, np.uint32(value), old))


# Logic: operands as wide as a wave are often lane masks, and are kept as such

LOGIC: dict[str, Callable[[Any, Any], Any]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "andn2": lambda a, b: a & ~b,
    "orn2": lambda a, b: a | ~b,
    "nand": lambda a, b: ~(a & b),
    "nor": lambda a, b: ~(a | b),
    "xnor": lambda a, b: ~(a ^ b),
    "andn1": lambda a, b: ~a & b,
    "orn1": lambda a, b: ~a | b,
}


def _width(instruction: Instruction) -> int:
    return int(instruction.mnemonic[-2:])


def _mask_reader(code: int, literal: int | None, width: int, context: CompileContext) -> Callable[[State], Any]:
    """Reads a scalar source of `width` bits: int, unsigned array [waves, 1], or the lane mask that it is."""
    if width == 64:
        return scalar_reader64(code, literal)
    if width == context.lanes and code < SCALARS:
        return lambda state: state.read_mask_or_number(code)
    return scalar_reader(code, literal)


def _write_mask(state: State, register: int, width: int, value: Any) -> None:
    """The inverse of `_mask_reader`."""
    if width == 64:
        state.write_sgpr64(register, value)
    else:
        state.write_mask_or_number(register, value)


def _logic(function: Callable[[Any, Any], Any], width: int, a: Any, b: Any) -> tuple[Any, Any]:
    """The result (int, array or LaneMask) and SCC (a condition that may be counted later)."""
    if isinstance(a, LaneMask) or isinstance(b, LaneMask):
        mask = LaneMask(combined(function, bits_of_number(a, width), bits_of_number(b, width)))
        return mask, mask
    if isinstance(a, int) and isinstance(b, int):
        result = function(a, b) & (MASK64 if width == 64 else MASK32)
        return result, result != 0
    dtype = np.uint64 if width == 64 else np.uint32
    result = function(np.asarray(a, dtype), np.asarray(b, dtype))
    return result, result != 0


@semantics(*(f"s_{name}_b{width}" for name in _BINARY_LOGIC for width in (32, 64)))
def _compile_logic(instruction: Instruction, context: CompileContext) -> Compiled:
    width = _width(instruction)
    if width < context.lanes:
        return _compile_binary(instruction, context)
    function = LOGIC[instruction.mnemonic[2:-4]]
    first = _mask_reader(instruction.fields["ssrc0"], instruction.literal, width, context)
    second = _mask_reader(instruction.fields["ssrc1"], instruction.literal, width, context)
    destination = instruction.fields["sdst"]

    def step(state: State) -> None:
        result, scc = _logic(function, width, first(state), second(state))
        _write_mask(state, destination, width, result)
        state.write_scc(scc)

    return step


@semantics("s_mov_b32", "s_mov_b64")
def _compile_move(instruction: Instruction, context: CompileContext) -> Compiled:
    width = _width(instruction)
    if width < context.lanes:
        return _compile_unary(instruction, context)
    source = _mask_reader(instruction.fields["ssrc0"], instruction.literal, width, context)
    destination = instruction.fields["sdst"]
    return lambda state: _write_mask(state, destination, width, source(state))


@semantics("s_not_b32", "s_not_b64")
def _compile_not(instruction: Instruction, context: CompileContext) -> Compiled:
    width = _width(instruction)
    if width < context.lanes:
        return _compile_unary(instruction, context)
    source = _mask_reader(instruction.fields["ssrc0"], instruction.literal, width, context)
    destination = instruction.fields["sdst"]
    ones = (1 << width) - 1

    def step(state: State) -> None:
        result, scc = _logic(LOGIC["xor"], width, source(state), ones)
        _write_mask(state, destination, width, result)
        state.write_scc(scc)

    return step


@semantics(*(f"s_{name}_saveexec_b{width}" for name in LOGIC for width in (32, 64)))
@semantics(*(f"s_{name}_wrexec_b{width}" for name in ("andn1", "andn2") for width in (32, 64)))
def _compile_save_exec(instruction: Instruction, context: CompileContext) -> Compiled:
    """D = EXEC; EXEC = S op EXEC (saveexec), or D = EXEC = S op EXEC (wrexec)."""
    name, form, _ = instruction.mnemonic[2:].split("_")
    width, function = _width(instruction), LOGIC[name]
    if width != context.lanes:
        raise UnsupportedInstruction(f"waves of {context.lanes} lanes")
    source = _mask_reader(instruction.fields["ssrc0"], instruction.literal, width, context)
    destination = instruction.fields["sdst"]
    saves_old = form == "saveexec"

    def step(state: State) -> None:
        old = state.read_mask_or_number(EXEC)
        result, scc = _logic(function, width, source(state), old)
        state.write_mask_or_number(EXEC, result)
        _write_mask(state, destination, width, old if saves_old else result)
        state.write_scc(scc)

    return step


@semantics("s_movrels_b32", "s_movrels_b64", "s_movreld_b32", "s_movreld_b64")
def _compile_relative_move(instruction: Instruction, context: CompileContext) -> Compiled:
    """M0 is added to the number of the source (movrels) or of the destination (movreld)."""
    del context
    width = int(instruction.mnemonic[-2:])
    by_source = "movrels" in instruction.mnemonic
    source, destination = instruction.fields["ssrc0"], instruction.fields["sdst"]
    read_plain = number_reader(source, instruction.literal, width)

    def step(state: State) -> None:
        offset = state.read_sgpr(M0)
        if not isinstance(offset, int):
            raise state.fault(instruction, "M0 differs between waves that run together")
        moved = (source if by_source else destination) + offset
        if moved + width // 32 > SCALARS or moved % (width // 32):
            raise state.fault(instruction, f"{width // 32} scalar registers from number {moved} on, which M0 leads to")
        read = number_reader(moved, None, width) if by_source else read_plain
        write_number(state, destination if by_source else moved, width, read(state))

    return step
