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
from hipgraph_cb.virtual.isa.lds import PAIRS, lds_offsets, whole_offset
from hipgraph_cb.virtual.isa.registry import CompileContext, Compiled, semantics
from hipgraph_cb.virtual.isa.state import State

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


def _one_operand(operation: AtomicOperation) -> AtomicOperation:
    """The same cell, for reading one operand at a time."""
    return AtomicOperation(operation.dtype, operation.combine)
