"""Atomics on device memory: GLOBAL, FLAT and MUBUF share what happens once the addresses are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.faults import FaultKind
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, Step, semantics
from hipgraph_cb.virtual.isa.core.state import State
from hipgraph_cb.virtual.isa.memory.atomic_operations import (
    BRAIN_HALVES,
    FLOAT32,
    FLOAT64,
    HALVES,
    INTEGER32,
    INTEGER64,
    AtomicOperation,
    perform,
)
from hipgraph_cb.virtual.isa.memory.global_memory import global_addresses, vector_register
from hipgraph_cb.virtual.isa.memory.memory_access import Addresses, active_only, checked, spread

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

_INTEGERS = ("swap", "cmpswap", "add", "sub", "smin", "umin", "smax", "umax", "and", "or", "xor", "inc", "dec")
OPERATIONS: dict[str, AtomicOperation] = {
    **{name: INTEGER32[name] for name in _INTEGERS},
    **{f"{name}_x2": INTEGER64[name] for name in _INTEGERS},
    "csub": INTEGER32["csub"],
    "cond_sub": INTEGER32["cond_sub"],
    **{f"{name}_f32": FLOAT32[name] for name in ("add", "min", "max", "cmpswap")},
    "add_f64": FLOAT64["add"],
    "min_f64": FLOAT64["min"],
    "max_f64": FLOAT64["max"],
    "pk_add_f16": HALVES,
    "pk_add_bf16": BRAIN_HALVES,
}


@semantics(*(f"global_atomic_{name}" for name in OPERATIONS))
def _compile_global(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    operation = OPERATIONS[instruction.mnemonic.removeprefix("global_atomic_")]
    return atomic_step(instruction, global_addresses(instruction), operation, data="data", result="vdst")


def atomic_step(
    instruction: Instruction,
    addresses: Callable[[State], Addresses],
    operation: AtomicOperation,
    *,
    data: str,
    result: str,
) -> Step:
    """An atomic on device memory; the old value goes to the register field `result` when the sc0 bit is set.

    A compare-and-swap has the new value in the first and the compared one in the second operand of field `data`.
    """
    source, destination = data_register(instruction, data, operation), result_register(instruction, result, operation)
    need_old = bool(instruction.fields["sc0"])

    def step(state: State) -> None:
        old = device_atomic(state, instruction, addresses(state), operation, source, need_old)
        if old is not None:
            write_old(state, destination, old)

    return step


def data_register(instruction: Instruction, name: str, operation: AtomicOperation) -> int:
    """The first register of the operands, which are consecutive."""
    return vector_register(instruction, name, operation.size // 4 * operation.operands)


def result_register(instruction: Instruction, name: str, operation: AtomicOperation) -> int:
    """The first register of the old value, if the sc0 bit requests it."""
    return vector_register(instruction, name, operation.size // 4 if instruction.fields["sc0"] else 1)


def device_atomic(
    state: State,
    instruction: Instruction,
    addresses: Addresses,
    operation: AtomicOperation,
    source: int,
    need_old: bool,
) -> NDArray[Any] | None:
    """Apply `operation` at the addresses of the active lanes; what they found, or None if it is not needed.

    Raises:
        DeviceFault: an active lane's address is misaligned or not in live memory.
    """
    where = state.full(addresses)
    refuse_misaligned(state, instruction, where, operation.size)
    offsets = checked(state, instruction, where, operation.size)
    if not offsets.size:
        return None
    operands = read_operands(state, source, operation)
    places, memory = offsets.reshape(-1), state.memory.u8
    if not state.watches_atomics:
        state.atomics_changed = True
        return perform(memory, places, operands, operation, need_old)
    cells = memory.view(f"u{operation.size}")
    before = cells.take(places // operation.size)
    old = perform(memory, places, operands, operation, need_old)
    if not np.array_equal(before, cells.take(places // operation.size)):
        state.atomics_changed = True
    return old


def read_operands(state: State, source: int, operation: AtomicOperation) -> list[NDArray[Any]]:
    """The operands of the active lanes from consecutive registers, each one-dimensional and unsigned."""
    read = state.read_vgpr if operation.size == 4 else state.read_vgpr64
    width = operation.size // 4
    values = [state.full(read(source + width * index)) for index in range(operation.operands)]
    return [np.ascontiguousarray(active_only(state, value)).reshape(-1) for value in values]


def write_old(state: State, destination: int, old: NDArray[Any]) -> None:
    """Put what the active lanes found (one-dimensional) into their registers."""
    write_result(state, destination, spread(state, old if state.active is not None else old.reshape(state.shape)))


def write_result(state: State, destination: int, value: NDArray[Any]) -> None:
    """Put a value of 4 or 8 bytes a lane into a register, or two."""
    if value.dtype.itemsize == 4:
        state.write_vgpr(destination, value)
    else:
        state.write_vgpr64(destination, value)


def refuse_misaligned(state: State, instruction: Instruction, addresses: Addresses, size: int) -> None:
    """An atomic must be at a multiple of its size.

    Raises:
        DeviceFault: some active lane's address is not a multiple of `size`.
    """
    selected = active_only(state, addresses)
    if not (selected & (size - 1)).any():
        return
    lanes = state.full((addresses & (size - 1)).astype(np.bool_)) & state.active_bits()
    description = f"an atomic of {size} bytes at an address that is not a multiple of {size}"
    raise state.fault(instruction, description, kind=FaultKind.ILLEGAL_ADDRESS, lanes=lanes, addresses=addresses)
