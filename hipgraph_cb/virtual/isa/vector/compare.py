"""v_cmp and v_cmpx of every type, and the class tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, UnsupportedInstruction, semantics
from hipgraph_cb.virtual.isa.core.state import EXEC, VCC, State
from hipgraph_cb.virtual.isa.vector.float_alu import is_signalling
from hipgraph_cb.virtual.isa.vector.vector import sources

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

Test = Callable[[Any, Any], NDArray[np.bool_]]


def _not(test: Test) -> Test:
    return lambda a, b: ~test(a, b)


def _ordered(a: Any, b: Any) -> NDArray[np.bool_]:
    result: NDArray[np.bool_] = ~(np.isnan(a) | np.isnan(b))
    return result


def _different(a: Any, b: Any) -> NDArray[np.bool_]:
    """Ordered and not equal."""
    result: NDArray[np.bool_] = (a < b) | (a > b)
    return result


def _constant(value: bool) -> Test:
    return lambda a, b: np.full(np.broadcast_shapes(a.shape, b.shape), value)


_COMMON: dict[str, Test] = {
    "f": _constant(False),
    "lt": np.less,
    "eq": np.equal,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
INTEGER_TESTS: dict[str, Test] = {**_COMMON, "ne": np.not_equal, "t": _constant(True)}
FLOAT_TESTS: dict[str, Test] = {
    **_COMMON,
    "lg": _different,
    "o": _ordered,
    "u": _not(_ordered),
    "nge": _not(np.greater_equal),
    "nlg": _not(_different),
    "ngt": _not(np.greater),
    "nle": _not(np.less_equal),
    "neq": np.not_equal,
    "nlt": _not(np.less),
    "tru": _constant(True),
}
INTEGER_KINDS = ("i16", "u16", "i32", "u32", "i64", "u64")
FLOAT_KINDS = ("f16", "f32", "f64")


def _mask_destination(instruction: Instruction) -> int:
    """The first scalar register that takes the result."""
    if instruction.format == "VOP3":
        return instruction.fields["vdst"]
    if instruction.sdwa is not None and instruction.sdwa.get("sd", 0):
        return instruction.sdwa["sdst"]
    return VCC


def _refuse_lanes_that_are_off(instruction: Instruction, context: CompileContext) -> None:
    """Refuse DPP that leaves lanes out, whose bits of the result no document gives."""
    if instruction.dpp is None:
        return
    if not context.target.differences.compares_through_dpp:
        raise UnsupportedInstruction("DPP")
    if instruction.dpp["row_mask"] & instruction.dpp["bank_mask"] != 15 or not instruction.dpp["bound_ctrl"]:
        raise UnsupportedInstruction("lanes that DPP turns off")


def _compile(instruction: Instruction, context: CompileContext, kinds: tuple[str, str], test: Test) -> Compiled:
    first, second = sources(instruction, kinds, context, arithmetic=True)
    is_exec_form = instruction.mnemonic.startswith("v_cmpx")
    exec_only = is_exec_form and context.target.differences.compares_write_exec_only
    destination = EXEC if exec_only else _mask_destination(instruction)
    _refuse_lanes_that_are_off(instruction, context)
    if exec_only or not is_exec_form:
        return lambda state: state.write_compare(destination, test(first(state), second(state)))

    def step(state: State) -> None:
        state.write_compare(destination, test(first(state), second(state)))
        state.write_exec(state.read_mask(destination))

    if destination == EXEC:
        raise UnsupportedInstruction("EXEC as a second destination")
    return step


def _compile_comparison(instruction: Instruction, context: CompileContext) -> Compiled:
    _, _, name, kind = instruction.mnemonic.split("_")
    tests = FLOAT_TESTS if kind[0] == "f" else INTEGER_TESTS
    return _compile(instruction, context, (kind, kind), tests[name])


for _form in ("v_cmp", "v_cmpx"):
    semantics(*(f"{_form}_{name}_{kind}" for name in INTEGER_TESTS for kind in INTEGER_KINDS))(_compile_comparison)
    semantics(*(f"{_form}_{name}_{kind}" for name in FLOAT_TESTS for kind in FLOAT_KINDS))(_compile_comparison)


def classes(value: NDArray[Any]) -> NDArray[np.uint32]:
    """One set bit a value: signalling NaN, quiet NaN, -inf, -normal, -denormal, -0, +0, +denormal, +normal, +inf."""
    magnitude = np.abs(value)
    tiny = np.finfo(value.dtype).tiny
    positive = np.where(magnitude == 0, 6, np.where(magnitude < tiny, 7, np.where(np.isinf(value), 9, 8)))
    bit = np.where(np.signbit(value), 11 - positive, positive)
    bit = np.where(np.isnan(value), np.where(is_signalling(value), 0, 1), bit)
    bits: NDArray[np.uint32] = np.uint32(1) << bit.astype(np.uint32)
    return bits


def _in_class(value: NDArray[Any], mask: NDArray[np.uint32]) -> NDArray[np.bool_]:
    result: NDArray[np.bool_] = (classes(value) & mask) != 0
    return result


@semantics(*(f"{form}_class_{kind}" for form in ("v_cmp", "v_cmpx") for kind in FLOAT_KINDS))
def _compile_class(instruction: Instruction, context: CompileContext) -> Compiled:
    kind = instruction.mnemonic[-3:]
    return _compile(instruction, context, (kind, "u32"), _in_class)
