"""What a family of processors has of its own: how its code is read, and what its waves and registers are.

The meanings of instructions are shared by all families. They are written for *operations*: instructions under the names
and operand codes that `core/instruction.py` describes. A family that spells them otherwise translates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction
    from hipgraph_cb.virtual.isa.core.wait_layout import WaitLayout

Opcodes = Mapping[str, Mapping[int, str]]
"""Format -> number -> mnemonic."""


@dataclass(frozen=True)
class Differences:
    """Where operations of one name do not do the same in every family.

    Attributes:
        keeps_other_half: whether a 16-bit instruction leaves the half of its register that it does not write; without
            it that half is cleared, but for the few instructions that `core/results.py` lists.
        halves_in_short_forms: whether bit 7 of a 16-bit vector operand of a short encoding chooses the upper half.
        compares_write_exec_only: whether v_cmpx has EXEC as its only destination.
        descriptors_choose_range: whether a buffer descriptor says by OOB_SELECT how its range is meant.
        compares_through_dpp: whether a comparison can take a source from another lane.
        ids_in_trap_registers: whether a wave finds its workgroup's number in trap registers, not in user registers.
        always_clamps_nan: whether clamp makes NaN zero whatever the descriptor says, and minimum and maximum are always
            those of IEEE.
        splits_matrix_rows: whether each group of sixteen lanes holds another part of a row in a wave matrix.
        exchanges_within_32: whether ds_bpermute and ds_permute choose among the 32 lanes of a half of the wave.
    """

    keeps_other_half: bool = False
    halves_in_short_forms: bool = False
    compares_write_exec_only: bool = False
    descriptors_choose_range: bool = False
    compares_through_dpp: bool = False
    ids_in_trap_registers: bool = False
    always_clamps_nan: bool = False
    splits_matrix_rows: bool = False
    exchanges_within_32: bool = False


@dataclass(frozen=True, eq=False)
class Target:
    """One family of processors.

    Attributes:
        family: its name.
        processors: those whose code `decode` reads.
        decode: reads the instruction at a byte offset of code for a processor; see targets/gfx9/decode.py.
        text: an instruction in LLVM's syntax, in code for waves of so many lanes.
        opcodes: every instruction there is, and `source` says who says so.
        exclusions: reason -> the instructions that are left out for it.
        wave_size: the lanes of a wave, by the kernel code properties of the descriptor.
        vector_granule: vector registers are allotted in so many, by the lanes of a wave.
        hardware_registers: number -> name of what s_getreg reads; see scalar/program_control.py.
        wait_layout: how its waits for loads are encoded; None where it executes nothing.
        operations: what an instruction does, as operations in order; None where it is one already. Several operations
            all read before any of them writes. It raises UnsupportedInstruction where there is no such operation.
        operation_name: the operation that a mnemonic is.
        buffer_formats: number of a format of elements -> data format and number format; None where a buffer descriptor
            has these two themselves.
        differences: see there.
        executes: whether its code is executed; otherwise it is only read.
    """

    family: str
    processors: frozenset[str]
    decode: Callable[[bytes, int, str], Instruction]
    text: Callable[[Instruction, int], str]
    opcodes: Opcodes
    source: str
    exclusions: Mapping[str, tuple[str, ...]]
    wave_size: Callable[[int], int]
    vector_granule: Mapping[int, int]
    hardware_registers: Mapping[int, str]
    wait_layout: WaitLayout | None = None
    operations: Callable[[Instruction], tuple[Instruction, ...]] | None = None
    operation_name: Callable[[str], str] = str
    buffer_formats: Mapping[int, tuple[int, int]] | None = None
    differences: Differences = field(default_factory=Differences)
    executes: bool = True
