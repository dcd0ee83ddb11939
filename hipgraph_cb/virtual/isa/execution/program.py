"""The code of a kernel as basic blocks of closures, compiled when execution first gets there.

A program depends on the bytes of a code segment, the target and the MODE register, and on nothing of a launch:
addresses are offsets from the start of the segment. So one program serves every copy of the same code, on every device:
its blocks are found without a lock, and made under one.
"""

from __future__ import annotations

import bisect
import hashlib
import re
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from hipgraph_cb.virtual.faults import FaultKind
from hipgraph_cb.virtual.isa.core.control import Branch, ConditionalBranch, ControlFlow, Jump
from hipgraph_cb.virtual.isa.core.instruction import UnknownInstruction
from hipgraph_cb.virtual.isa.core.register_limits import refuse_missing_scalar_results
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Step, UnsupportedInstruction, compiler_of
from hipgraph_cb.virtual.isa.execution import instruction_set
from hipgraph_cb.virtual.isa.vector.paired import both_at_once
from hipgraph_cb.virtual.isa.vector.register_indexing import indexed
from hipgraph_cb.virtual.isa.vector.wide_addition import WIDE_ADDITION, wide_addition

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction
    from hipgraph_cb.virtual.isa.core.state import State

__all__ = ["Block", "Program", "program_for"]

CACHE_SIZE = 256
LONGEST_BLOCK = 128  # instructions; between two blocks a kernel can be stopped
MODULES = instruction_set.MODULES  # importing them registers the compilers


class Block:
    """Instructions that are executed one after the other.

    Attributes:
        steps: what to run.
        instructions: the instruction of each step.
        end: offset of what follows the block.
        control: how it ends; None falls through to `end`.
        last: the instruction `control` came from.
        only_reads: it changes neither memory nor a clock nor another wave.
        writes: it does or may change something by other means than atomics of device memory.
    """

    __slots__ = ("control", "end", "instructions", "last", "only_reads", "steps", "writes")

    def __init__(self, start: int) -> None:
        self.steps: list[Step] = []
        self.instructions: list[Instruction] = []
        self.end = start
        self.control: ControlFlow | None = None
        self.last: Instruction | None = None
        self.only_reads = True
        self.writes = False


class Program:
    """Basic blocks of one code segment under one mode."""

    def __init__(self, code: bytes, context: CompileContext) -> None:
        self.code = code
        self.context = context
        self.blocks: dict[int, Block] = {}
        self._compiled: dict[int, tuple[Instruction, Step | ControlFlow | None]] = {}
        self._leaders: list[int] = []  # sorted offsets where some branch goes
        self._compiling = threading.RLock()

    def under(self, mode: int) -> Program:
        """The same code under another MODE register."""
        return program_for(self.code, self.context.under(mode), type(self))

    def block(self, start: int) -> Block:
        """The block that starts at offset `start`.

        Raises:
            UnknownInstruction: its first instruction cannot be decoded or is outside the code.
        """
        block = self.blocks.get(start)
        if block is None:
            with self._compiling:
                block = self.blocks.get(start)
                if block is None:
                    block = self.blocks[start] = self._build(start)
        return block

    def _build(self, start: int) -> Block:
        block = Block(start)
        index = bisect.bisect_right(self._leaders, start)
        stop = self._leaders[index] if index < len(self._leaders) else len(self.code)
        count = 0
        while (block.end < stop or block.end == start) and count < LONGEST_BLOCK:
            try:
                instruction, compiled = self._instruction(block.end)
            except UnknownInstruction:
                if block.end == start:
                    raise
                break
            block.end += instruction.size
            count += 1
            if isinstance(compiled, ControlFlow):
                block.control, block.last = compiled, instruction
                if not isinstance(compiled, (Branch, ConditionalBranch, Jump)):
                    block.only_reads, block.writes = False, True
                self._note_targets(compiled, block.end)
                break
            if compiled is not None:
                self._append(block, instruction, compiled)
            if self._ends_behind(instruction):
                break
        return block

    def _ends_behind(self, instruction: Instruction) -> bool:
        """Whether a block ends behind an instruction that is no control flow."""
        del instruction
        return False

    def _append(self, block: Block, instruction: Instruction, step: Step) -> None:
        if block.instructions:
            together = self._done_at_once(block.instructions[-1], instruction)
            if together is not None:
                block.steps[-1], step = together, _nothing
        block.steps.append(step)
        block.instructions.append(instruction)
        self._note_effect(block, instruction)

    def _done_at_once(self, first: Instruction, second: Instruction) -> Step | None:
        """One step for two instructions that follow each other, where there is a faster one."""
        target = self.context.target
        names = (target.operation_name(first.mnemonic), target.operation_name(second.mnemonic))
        if names != WIDE_ADDITION or self.context.indexes_registers:
            return None
        if target.operations is not None:
            (first,), (second,) = target.operations(first), target.operations(second)
        return wide_addition(first, second)

    def _note_effect(self, block: Block, instruction: Instruction) -> None:
        """Whether a block changes what other waves may wait for. Of atomics on device memory `State` knows it."""
        if instruction.format not in MEMORY_FORMATS:
            return
        operation = self.context.target.operation_name(instruction.mnemonic)
        if _READS.match(operation) and not instruction.fields.get("lds", 0):
            return
        block.only_reads = False
        if not _DEVICE_ATOMICS.match(operation):
            block.writes = True

    def _instruction(self, offset: int) -> tuple[Instruction, Step | ControlFlow | None]:
        found = self._compiled.get(offset)
        if found is None:
            instruction = self.context.target.decode(self.code, offset, self.context.processor)
            found = self._compiled[offset] = (instruction, self._compiled_operations(instruction))
        return found

    def _compiled_operations(self, instruction: Instruction) -> Step | ControlFlow | None:
        translate = self.context.target.operations
        if translate is None:
            return self._compile(instruction)
        try:
            operations = translate(instruction)
        except UnsupportedInstruction as error:
            return _refusal_of_form(instruction, error)
        if len(operations) == 1:
            return self._compile(operations[0])
        return both_at_once(operations, self._compile)

    def _compile(self, instruction: Instruction) -> Step | ControlFlow | None:
        if instruction.format not in _VECTOR_FORMATS:
            return self._compile_plain(instruction)
        if self.context.skips_vectors:
            return None
        if not self.context.indexes_registers:
            return self._compile_plain(instruction)
        try:
            return indexed(instruction, self._compile_plain)
        except UnsupportedInstruction as error:
            return _refusal_of_form(instruction, error)

    def _compile_plain(self, instruction: Instruction) -> Step | ControlFlow | None:
        compiler = compiler_of(instruction.mnemonic)
        if compiler is None:
            return _refusal(instruction, f"{_name(instruction)} is not implemented")
        try:
            refuse_missing_scalar_results(instruction, self.context.lanes)
            return compiler(instruction, self.context)
        except UnsupportedInstruction as error:
            return _refusal_of_form(instruction, error)
        except Exception as error:  # noqa: BLE001  # raised by its step, so that it is reported with its place
            return _failing(error)

    def _note_targets(self, control: ControlFlow, end: int) -> None:
        """Blocks end before every known branch target, so that groups of waves can meet there."""
        if isinstance(control, (Branch, ConditionalBranch)):
            self._note_leader(control.target)
        self._note_leader(end)

    def _note_leader(self, offset: int) -> None:
        index = bisect.bisect_left(self._leaders, offset)
        if index < len(self._leaders) and self._leaders[index] == offset:
            return
        self._leaders.insert(index, offset)
        for start in [start for start, block in self.blocks.items() if start < offset < block.end]:
            del self.blocks[start]


_VECTOR_FORMATS = frozenset(
    {"VOP1", "VOP2", "VOPC", "VOP3", "VOP3SD", "VOP3P", "MFMA", "DS", "FLAT", "GLOBAL", "SCRATCH", "MUBUF", "MTBUF"}
)
MEMORY_FORMATS = {"DS", "GLOBAL", "FLAT", "SCRATCH", "MUBUF", "MTBUF", "SMEM"}
_READS = re.compile(r"(global|flat|scratch|t?buffer)_load_(?!lds)|ds_(read|permute|bpermute|swizzle)|s_(buffer_)?load")
_DEVICE_ATOMICS = re.compile(r"(global|buffer)_atomic_")


def _nothing(state: State) -> None:
    """What is left to do for an instruction that the one before it has done too."""


def _failing(error: Exception) -> Step:
    def fail(state: State) -> None:
        del state
        raise error

    return fail


def _name(instruction: Instruction) -> str:
    return (instruction.encoded or instruction).mnemonic


def _refusal_of_form(instruction: Instruction, error: UnsupportedInstruction) -> Step:
    return _refusal(instruction, f"{_name(instruction)} is not implemented with {error}")


def _refusal(instruction: Instruction, description: str) -> Step:
    def refuse(state: State) -> None:
        raise state.fault(instruction, description, kind=FaultKind.ILLEGAL_INSTRUCTION)

    return refuse


_CACHE: OrderedDict[tuple[bytes, CompileContext, type[Program]], Program] = OrderedDict()
_LOCK = threading.Lock()


def program_for(code: bytes, context: CompileContext, kind: type[Program] = Program) -> Program:
    """The program of `code`; equal code in an equal context gives the same program of a kind."""
    key = (hashlib.sha256(code).digest(), context, kind)
    with _LOCK:
        program = _CACHE.get(key)
        if program is None:
            program = _CACHE[key] = kind(code, context)
        _CACHE.move_to_end(key)
        while len(_CACHE) > CACHE_SIZE:
            _CACHE.popitem(last=False)
        return program
