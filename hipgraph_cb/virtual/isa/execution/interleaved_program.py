"""Programs for waves that interleave: blocks end behind every memory instruction, and waits and loads are counted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from hipgraph_cb.virtual.isa.core.control import ControlFlow
from hipgraph_cb.virtual.isa.core.pending_loads import LOCAL, SCALAR, VECTOR
from hipgraph_cb.virtual.isa.core.state import AGPR
from hipgraph_cb.virtual.isa.core.watched_state import Access, WatchedState
from hipgraph_cb.virtual.isa.execution.program import MEMORY_FORMATS, Program

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction
    from hipgraph_cb.virtual.isa.core.registry import Step
    from hipgraph_cb.virtual.isa.core.state import State
    from hipgraph_cb.virtual.isa.core.target import Target

_KINDS = {"SMEM": (SCALAR,), "DS": (LOCAL,), "FLAT": (VECTOR, LOCAL)}
_CACHE_CONTROL = re.compile(r"buffer_(gl[01]_)?(inv|wbinvl1)")
_RETURNS_NOTHING = re.compile(r"(global|flat|scratch|t?buffer)_(store|atomic)")
_MESSAGES = ("s_sendmsg_rtn_b32", "s_sendmsg_rtn_b64")


class InterleavedProgram(Program):
    """As `Program`, for states that are watched."""

    def _ends_behind(self, instruction: Instruction) -> bool:
        return instruction.format in MEMORY_FORMATS

    def _compiled_operations(self, instruction: Instruction) -> Step | ControlFlow | None:
        compiled = super()._compiled_operations(instruction)
        layout = self.context.target.wait_layout
        counts = None if layout is None else layout.counts(instruction)
        if counts is not None:
            return _wait(counts)
        access = access_of(instruction, self.context.target)
        if access is None or isinstance(compiled, ControlFlow) or (compiled is None and self.context.skips_vectors):
            return compiled
        return _performed(access, compiled or _nothing)


def access_of(instruction: Instruction, target: Target) -> Access | None:
    """The counters that an instruction is in; None for one that is in none."""
    operation = target.operation_name(instruction.mnemonic)
    if operation in _MESSAGES:
        return Access(instruction, (SCALAR,))
    if instruction.format not in MEMORY_FORMATS or _CACHE_CONTROL.match(operation):
        return None
    fields = instruction.fields
    kinds = _KINDS.get(instruction.format, (VECTOR,))
    layout = target.wait_layout
    if layout is not None and layout.counts_stores_apart and _RETURNS_NOTHING.match(operation):
        returns = "atomic" in operation and (fields.get("glc") or fields.get("th", 0) & 1)
        kinds = kinds if returns else tuple(kind for kind in kinds if kind != VECTOR)
    keeps = -1
    if "d16" in operation:
        keeps = fields.get("vdst", fields.get("vdata", -1)) + (AGPR if fields.get("acc", 0) else 0)
    return Access(instruction, kinds, keeps)


def _nothing(state: State) -> None:
    """A memory instruction that only counts."""


def _wait(counts: Mapping[str, int]) -> Step:
    def wait(state: State) -> None:
        cast(WatchedState, state).loads.wait(counts, state.running)

    return wait


def _performed(access: Access, step: Step) -> Step:
    def perform(state: State) -> None:
        cast(WatchedState, state).perform(access, step)

    return perform
