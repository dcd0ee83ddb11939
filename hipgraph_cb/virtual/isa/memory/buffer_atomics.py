"""Atomics through a buffer descriptor: `vdata` holds the operands and receives the old value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, semantics
from hipgraph_cb.virtual.isa.core.state import State
from hipgraph_cb.virtual.isa.memory.buffer_memory import buffer_places, in_range
from hipgraph_cb.virtual.isa.memory.global_atomics import OPERATIONS, data_register, device_atomic, write_old

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

_FORMS = {f"buffer_atomic_{name}": operation for name, operation in OPERATIONS.items() if name != "pk_add_bf16"}


@semantics(*_FORMS)
def _compile(instruction: Instruction, context: CompileContext) -> Compiled:
    """Lanes that are out of range do nothing and find zero."""
    del context
    operation, places = _FORMS[instruction.mnemonic], buffer_places(instruction)
    register, need_old = data_register(instruction, "vdata", operation), bool(instruction.fields["sc0"])
    nothing = np.zeros((1, 1), np.uint32)

    def step(state: State) -> None:
        place = places(state)
        lanes = in_range(state, place, operation.size)
        with state.narrowed(lanes):
            old = device_atomic(state, instruction, place.addresses, operation, register, need_old)
            if old is not None:
                write_old(state, register, old)
        if need_old and not lanes.all():
            with state.narrowed(~lanes):
                for word in range(operation.size // 4):
                    state.write_vgpr(register + word, nothing)

    return step
