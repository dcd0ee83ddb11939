"""Atomics on local memory (DS), with and without return."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.isa.core.lds_range import access_lds
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, semantics
from hipgraph_cb.virtual.isa.core.state import M0, State
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
from hipgraph_cb.virtual.isa.memory.global_atomics import read_operands, refuse_misaligned, write_result
from hipgraph_cb.virtual.isa.memory.global_memory import vector_register
from hipgraph_cb.virtual.isa.memory.lds import PAIRS, whole_offset
from hipgraph_cb.virtual.isa.memory.memory_access import Addresses, active_only

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction


def _names() -> dict[str, AtomicOperation]:
    """The part of the mnemonic behind `ds_`, without `rtn`."""
    names = {"pk_add_f16": HALVES, "pk_add_bf16": BRAIN_HALVES, "wrap_b32": INTEGER32["wrap"]}
    for bits, integers, floats in ((32, INTEGER32, FLOAT32), (64, INTEGER64, FLOAT64)):
        names |= {f"{name}_u{bits}": integers[name] for name in ("add", "sub", "rsub", "inc", "dec")}
        names |= {f"{name}_b{bits}": integers[name] for name in ("and", "or", "xor", "mskor")}
        for name in ("min", "max"):
            names |= {f"{name}_i{bits}": integers[f"s{name}"], f"{name}_u{bits}": integers[f"u{name}"]}
        names |= {f"{name}_f{bits}": floats[name] for name in ("add", "min", "max")}
        names |= {f"wrxchg_b{bits}": integers["swap"], f"cmpst_b{bits}": integers["cmpswap"]}
        names[f"cmpst_f{bits}"] = floats["cmpswap"]
    return names


OPERATIONS = _names()


def _with_return(name: str) -> str:
    stem, _, kind = name.rpartition("_")
    return f"ds_{stem}_rtn_{kind}"


_RETURNING = {_with_return(name): operation for name, operation in OPERATIONS.items()}
_SILENT = {f"ds_{name}": operation for name, operation in OPERATIONS.items() if not name.startswith(("wrxchg", "wrap"))}


@semantics(*_RETURNING, *_SILENT)
def _compile(instruction: Instruction, context: CompileContext) -> Compiled:
    """A compare-and-store has the compared value in data0 and the new one in data1 (the reverse of GLOBAL)."""
    del context
    mnemonic = instruction.mnemonic
    need_old = mnemonic in _RETURNING
    operation = _RETURNING[mnemonic] if need_old else _SILENT[mnemonic]
    address, offset = instruction.fields["addr"], whole_offset(instruction)
    sources = [
        vector_register(instruction, name, operation.size // 4) for name in ("data0", "data1")[: operation.operands]
    ]
    if "cmpst" in mnemonic:
        sources.reverse()
    destination = vector_register(instruction, "vdst", operation.size // 4 if need_old else 1)

    def operands(state: State) -> list[NDArray[Any]]:
        return [read_operands(state, source, _one_operand(operation))[0] for source in sources]

    def step(state: State) -> None:
        given = state.read_vgpr(address).astype(np.int64)
        for old in lds_atomic(state, instruction, given, offset, operation, operands, need_old):
            write_result(state, destination, old)

    return step


def lds_atomic(
    state: State,
    instruction: Instruction,
    address: NDArray[np.int64],
    offset: int,
    operation: AtomicOperation,
    operands: Callable[[State], list[NDArray[Any]]],
    need_old: bool,
) -> list[NDArray[Any]]:
    """Apply `operation` for the active lanes inside LDS; in one array what they found if that is needed, 0 outside.

    Args:
        operands: reads those of the lanes that are active when it is called.

    Raises:
        DeviceFault: an active lane's address is misaligned.
    """
    refuse_misaligned(state, instruction, address + offset, operation.size)

    def change(memory: NDArray[np.uint8], offsets: Addresses) -> list[NDArray[Any]]:
        old = perform(memory, offsets.reshape(-1), operands(state), operation, need_old) if offsets.size else None
        return [np.empty(0, f"u{operation.size}") if old is None else old] if need_old else []

    return access_lds(state, instruction, address, offset, operation.size, change)


@semantics("ds_wrxchg2_rtn_b32", "ds_wrxchg2_rtn_b64", "ds_wrxchg2st64_rtn_b32", "ds_wrxchg2st64_rtn_b64")
def _compile_pair(instruction: Instruction, context: CompileContext) -> Compiled:
    """Two exchanges one after the other."""
    del context
    form = instruction.mnemonic.removeprefix("ds_wrxchg").replace("_rtn", "")
    words, unit = PAIRS[form]
    operation = (INTEGER32 if words == 1 else INTEGER64)["swap"]
    destination = vector_register(instruction, "vdst", 2 * words)
    address = instruction.fields["addr"]
    places = [
        (vector_register(instruction, f"data{index}", words), unit * instruction.fields[f"offset{index}"])
        for index in (0, 1)
    ]

    def step(state: State) -> None:
        given = state.read_vgpr(address).astype(np.int64)
        found = []
        for source, offset in places:
            operands = partial(read_operands, source=source, operation=operation)
            found += lds_atomic(state, instruction, given, offset, operation, operands, need_old=True)
        for index, old in enumerate(found):
            write_result(state, destination + words * index, old)

    return step


@semantics("ds_append", "ds_consume")
def _compile_count(instruction: Instruction, context: CompileContext) -> Compiled:
    """Each wave adds (subtracts) the number of its active lanes to the word at M0 + offset; all of them get the old."""
    del context
    name = "add" if instruction.mnemonic == "ds_append" else "sub"
    operation, offset = INTEGER32[name], whole_offset(instruction)
    destination = vector_register(instruction, "vdst")

    def step(state: State) -> None:
        active = state.active_bits()
        counts = active.sum(axis=1, dtype=np.uint32)
        first = (np.cumsum(active, axis=1) == 1) & active  # one lane speaks for its wave
        base = state.read_sgpr(M0)
        start = base & 0xFFFF if isinstance(base, int) else (base & np.uint32(0xFFFF)).astype(np.int64)
        addresses = state.full(np.asarray(start + offset, np.int64).reshape(-1, 1))
        with state.narrowed(first):
            found = lds_atomic(
                state,
                instruction,
                addresses,
                0,
                operation,
                lambda state: [active_only(state, counts.reshape(-1, 1))],
                need_old=True,
            )
        for old in found:
            state.write_vgpr(destination, np.where(first, old, np.uint32(0)).max(axis=1, keepdims=True))

    return step


@semantics("ds_condxchg32_rtn_b64")
def _compile_conditional_exchange(instruction: Instruction, context: CompileContext) -> Compiled:
    """Two words at a multiple of eight: each takes the lower 31 bits of its operand if bit 31 of that is set."""
    del context
    address, offset = instruction.fields["addr"], whole_offset(instruction)
    source, destination = vector_register(instruction, "data0", 2), vector_register(instruction, "vdst", 2)
    operation = AtomicOperation(np.uint32, lambda old, new: np.where(new >> np.uint32(31), new & _LOWER, old))

    def step(state: State) -> None:
        places = (state.read_vgpr(address).astype(np.int64) + offset) & 0xFFF8
        found = []
        for part in (0, 1):
            operands = partial(read_operands, source=source + part, operation=operation)
            found += lds_atomic(state, instruction, places, 4 * part, operation, operands, need_old=True)
        for part, old in enumerate(found):
            write_result(state, destination + part, old)

    return step


_LOWER = np.uint32(0x7FFFFFFF)


def _one_operand(operation: AtomicOperation) -> AtomicOperation:
    """The same cell, for reading one operand at a time."""
    return AtomicOperation(operation.dtype, operation.combine)
