"""Two operations of one instruction (VOPD): both read their sources before either writes its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hipgraph_cb.virtual.isa.core.control import ControlFlow
from hipgraph_cb.virtual.isa.core.operands import VGPR_BASE

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction
    from hipgraph_cb.virtual.isa.core.registry import Step
    from hipgraph_cb.virtual.isa.core.state import State

Compile = Callable[["Instruction"], "Step | ControlFlow | None"]


def both_at_once(operations: Sequence[Instruction], compile_one: Compile) -> Step:
    """The step of two operations with a vector register each as their result."""
    first, second = operations
    if _reads(second, first.fields["vdst"]):
        if _reads(first, second.fields["vdst"]):
            return _crossed(first, second, compile_one)
        first, second = second, first
    one, other = _step(first, compile_one), _step(second, compile_one)

    def step(state: State) -> None:
        one(state)
        other(state)

    return step


def _reads(operation: Instruction, register: int) -> bool:
    fields = operation.fields
    return fields["src0"] == VGPR_BASE + register or fields.get("vsrc1") == register


def _step(operation: Instruction, compile_one: Compile) -> Step:
    step = compile_one(operation)
    if step is None or isinstance(step, ControlFlow):
        raise TypeError(f"{operation.mnemonic} is no operation of a pair")
    return step


def _crossed(first: Instruction, second: Instruction, compile_one: Compile) -> Step:
    """Each reads what the other writes, so the second one runs on what was there before."""
    one, other, register = _step(first, compile_one), _step(second, compile_one), first.fields["vdst"]

    def step(state: State) -> None:
        before = state.read_vgpr(register)
        one(state)
        result = state.read_vgpr(register)
        state.replace_vgpr(register, before)
        other(state)
        state.replace_vgpr(register, result)

    return step
