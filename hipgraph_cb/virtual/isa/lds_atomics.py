"""Atomics on local memory (DS), with and without return."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hipgraph_cb.virtual.isa.atomic_operations import (
    BRAIN_HALVES,
    FLOAT32,
    FLOAT64,
    HALVES,
    INTEGER32,
    INTEGER64,
    AtomicOperation,
    perform,
)
from hipgraph_cb.virtual.isa.global_atomics import read_operands, refuse_misaligned, write_old
from hipgraph_cb.virtual.isa.global_memory import vector_register
from hipgraph_cb.virtual.isa.lds import PAIRS, lds_offsets, place_in_lds, whole_offset
from hipgraph_cb.virtual.isa.registry import CompileContext, Compiled, semantics
from hipgraph_cb.virtual.isa.state import M0, State

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.instruction import Instruction


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
    sources = [vector_register(instruction, name) for name in ("data0", "data1")[: operation.operands]]
    if "cmpst" in mnemonic:
        sources.reverse()
    destination = vector_register(instruction, "vdst")

    def step(state: State) -> None:
        offsets = lds_offsets(state, instruction, address, offset, operation.size)
        refuse_misaligned(state, instruction, state.read_vgpr(address).astype(np.int64) + offset, operation.size)
        if not offsets.size:
            return
        operands = [read_operands(state, source, _one_operand(operation))[0] for source in sources]
        old = perform(state.lds.reshape(-1), offsets.reshape(-1), operands, operation, need_old)
        if old is not None:
            write_old(state, destination, old)

    return step


@semantics("ds_wrxchg2_rtn_b32", "ds_wrxchg2_rtn_b64", "ds_wrxchg2st64_rtn_b32", "ds_wrxchg2st64_rtn_b64")
def _compile_pair(instruction: Instruction, context: CompileContext) -> Compiled:
    """Two exchanges one after the other."""
    del context
    form = instruction.mnemonic.removeprefix("ds_wrxchg").replace("_rtn", "")
    words, unit = PAIRS[form]
    operation = (INTEGER32 if words == 1 else INTEGER64)["swap"]
    destination = vector_register(instruction, "vdst")
    address = instruction.fields["addr"]
    places = [
        (vector_register(instruction, f"data{index}"), unit * instruction.fields[f"offset{index}"]) for index in (0, 1)
    ]

    def step(state: State) -> None:
        found = []
        for source, offset in places:
            offsets = lds_offsets(state, instruction, address, offset, operation.size)
            refuse_misaligned(state, instruction, state.read_vgpr(address).astype(np.int64) + offset, operation.size)
            if offsets.size:
                operands = read_operands(state, source, operation)
                found.append(perform(state.lds.reshape(-1), offsets.reshape(-1), operands, operation, need_old=True))
        for index, old in enumerate(found):
            if old is not None:
                write_old(state, destination + words * index, old)

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
            offsets = place_in_lds(state, instruction, addresses, 0, 4)
            refuse_misaligned(state, instruction, addresses, 4)
        if not offsets.size:
            return
        waves = counts > 0
        found = perform(state.lds.reshape(-1), offsets.reshape(-1), [counts[waves]], operation, need_old=True)
        old = np.zeros((state.waves, 1), np.uint32)
        if found is not None:
            old[waves, 0] = found
        state.write_vgpr(destination, old)

    return step


@semantics("ds_condxchg32_rtn_b64")
def _compile_conditional_exchange(instruction: Instruction, context: CompileContext) -> Compiled:
    """Two words at a multiple of eight: each takes the lower 31 bits of its operand if bit 31 of that is set."""
    del context
    address, offset = instruction.fields["addr"], whole_offset(instruction)
    source, destination = vector_register(instruction, "data0"), vector_register(instruction, "vdst")
    operation = AtomicOperation(np.uint32, lambda old, new: np.where(new >> np.uint32(31), new & _LOWER, old))

    def step(state: State) -> None:
        places = (state.read_vgpr(address).astype(np.int64) + offset) & 0xFFF8
        found = []
        for part in (0, 1):
            offsets = place_in_lds(state, instruction, state.full(places + 4 * part), 0, 4)
            if offsets.size:
                operands = read_operands(state, source + part, operation)
                found.append(perform(state.lds.reshape(-1), offsets.reshape(-1), operands, operation, need_old=True))
        for part, old in enumerate(found):
            if old is not None:
                write_old(state, destination + part, old)

    return step


_LOWER = np.uint32(0x7FFFFFFF)


def _one_operand(operation: AtomicOperation) -> AtomicOperation:
    """The same cell, for reading one operand at a time."""
    return AtomicOperation(operation.dtype, operation.combine)
