"""SOPP, and the SOP1 and SOPK instructions that change the PC or the hardware registers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb.virtual.isa.core.control import Barrier, Branch, ConditionalBranch, EndProgram, Jump, SetMode
from hipgraph_cb.virtual.isa.core.float_mode import MODE_BITS, SKIPS_VECTORS
from hipgraph_cb.virtual.isa.core.lane_mask import LaneMask
from hipgraph_cb.virtual.isa.core.operands import (
    PRIVATE_BASE,
    SHARED_BASE,
    constant_value,
    scalar_reader,
    scalar_reader64,
)
from hipgraph_cb.virtual.isa.core.registry import CompileContext, Compiled, UnsupportedInstruction, semantics
from hipgraph_cb.virtual.isa.core.state import EXEC, VCC, MaskOrNumber, Scalar32, State

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

Condition = Callable[[State], Any]


def _sign16(value: int) -> int:
    return (value & 0xFFFF ^ 0x8000) - 0x8000


def _target(instruction: Instruction) -> int:
    return instruction.address + instruction.size + 4 * _sign16(instruction.fields["simm16"])


@semantics(
    "s_nop",
    "s_waitcnt",
    "s_waitcnt_depctr",
    "s_waitcnt_expcnt",
    "s_waitcnt_lgkmcnt",
    "s_waitcnt_vmcnt",
    "s_waitcnt_vscnt",
    "s_wait_idle",
    "s_wait_alu",
    "s_wait_bvhcnt",
    "s_wait_dscnt",
    "s_wait_expcnt",
    "s_wait_kmcnt",
    "s_wait_loadcnt",
    "s_wait_loadcnt_dscnt",
    "s_wait_samplecnt",
    "s_wait_storecnt",
    "s_wait_storecnt_dscnt",
    "s_sleep_var",
    "s_prefetch_data",
    "s_prefetch_data_pc_rel",
    "s_prefetch_inst",
    "s_prefetch_inst_pc_rel",
    "s_buffer_prefetch_data",
    "s_delay_alu",
    "s_clause",
    "s_version",
    "s_set_inst_prefetch_distance",
    "s_gl1_inv",
    "s_ttracedata_imm",
    "s_setprio",
    "s_sleep",
    "s_wakeup",
    "s_icache_inv",
    "s_incperflevel",
    "s_decperflevel",
    "s_ttracedata",
    "s_dcache_inv",
    "s_dcache_inv_vol",
    "s_dcache_wb",
    "s_dcache_wb_vol",
    "s_dcache_discard",
    "s_dcache_discard_x2",
    "s_atc_probe",
    "s_atc_probe_buffer",
    "s_cbranch_cdbgsys",
    "s_cbranch_cdbguser",
    "s_cbranch_cdbgsys_or_user",
    "s_cbranch_cdbgsys_and_user",
)
def _compile_nothing(instruction: Instruction, context: CompileContext) -> Compiled:
    """Memory is coherent and every result is there at once, so waits and cache controls have nothing to do.

    A branch on a debugger's conditions is never taken: they are zero where there is no debugger.
    """
    del instruction, context
    return None


@semantics("s_endpgm", "s_endpgm_saved")
def _compile_end(instruction: Instruction, context: CompileContext) -> Compiled:
    del instruction, context
    return EndProgram()


@semantics("s_barrier")
def _compile_barrier(instruction: Instruction, context: CompileContext) -> Compiled:
    del instruction, context
    return Barrier()


WORKGROUP_BARRIER = 0xFFFF  # minus one, as a barrier's number


@semantics("s_barrier_signal")
def _compile_signal(instruction: Instruction, context: CompileContext) -> Compiled:
    """A wave that waits has signalled before, so the wait alone is enough."""
    del context
    if constant_value(instruction.fields["ssrc0"], instruction.literal, "u16") != WORKGROUP_BARRIER:
        raise UnsupportedInstruction("a barrier other than the workgroup's")
    return None


@semantics("s_barrier_wait")
def _compile_wait(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    if instruction.fields["simm16"] & 0xFFFF != WORKGROUP_BARRIER:
        raise UnsupportedInstruction("a barrier other than the workgroup's")
    return Barrier()


@semantics("s_branch")
def _compile_branch(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    return Branch(_target(instruction))


def _negated(value: Any) -> Any:
    return not value if isinstance(value, (bool, np.bool_)) else ~value


def any_bit(mask: MaskOrNumber) -> Any:
    """Whether a scalar is not zero: bool, or bool [waves, 1]."""
    return mask.any() if isinstance(mask, LaneMask) else mask != 0


def _exec_any(state: State) -> Any:
    return True if state.exec is None else any_bit(state.read_mask_or_number(EXEC))


CONDITIONS: dict[str, Condition] = {
    "scc1": lambda state: state.read_scc(),
    "scc0": lambda state: _negated(state.read_scc()),
    "vccnz": lambda state: any_bit(state.read_mask_or_number(VCC)),
    "vccz": lambda state: _negated(any_bit(state.read_mask_or_number(VCC))),
    "execnz": _exec_any,
    "execz": lambda state: _negated(_exec_any(state)),
}


@semantics(*(f"s_cbranch_{name}" for name in CONDITIONS))
def _compile_conditional_branch(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    return ConditionalBranch(_target(instruction), CONDITIONS[instruction.mnemonic.removeprefix("s_cbranch_")])


MESSAGE_INTERRUPT = 1


@semantics("s_sendmsg")
def _compile_message(instruction: Instruction, context: CompileContext) -> Compiled:
    """An interrupt makes the host look at memory, which here it can do at any time; other messages are graphics'."""
    del context
    message = instruction.fields["simm16"] & 15
    if message != MESSAGE_INTERRUPT:
        raise UnsupportedInstruction(f"message {message}")
    return None


MESSAGE_REAL_TIME = 131


@semantics("s_sendmsg_rtn_b32", "s_sendmsg_rtn_b64")
def _compile_question(instruction: Instruction, context: CompileContext) -> Compiled:
    """A message with an answer; that of the clock is the only one there is without a driver."""
    del context
    message, destination = instruction.fields["ssrc0"], instruction.fields["sdst"]
    if message != MESSAGE_REAL_TIME or not instruction.mnemonic.endswith("b64"):
        raise UnsupportedInstruction(f"message {message}")
    return lambda state: state.write_sgpr64(destination, _advanced_clock(state))


@semantics("s_trap", "s_sethalt")
def _compile_trap(instruction: Instruction, context: CompileContext) -> Compiled:
    del context

    def trap(state: State) -> None:
        raise state.fault(instruction, f"the kernel executed {instruction.mnemonic}")

    return trap


@semantics("s_getpc_b64")
def _compile_get_pc(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    destination, offset = instruction.fields["sdst"], instruction.address + instruction.size
    return lambda state: state.write_sgpr64(destination, state.placement.code_address + offset)


@semantics("s_setpc_b64")
def _compile_set_pc(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    return Jump(scalar_reader64(instruction.fields["ssrc0"], instruction.literal))


@semantics("s_swappc_b64")
def _compile_swap_pc(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    destination = instruction.fields["sdst"]
    return Jump(
        scalar_reader64(instruction.fields["ssrc0"], instruction.literal),
        lambda state, link: state.write_sgpr64(destination, link),
    )


@semantics("s_call_b64")
def _compile_call(instruction: Instruction, context: CompileContext) -> Compiled:
    del context
    destination, target = instruction.fields["sdst"], _target(instruction)
    return Jump(
        lambda state: state.placement.code_address + target,
        lambda state, link: state.write_sgpr64(destination, link),
    )


# hardware registers: (number, offset, size) are packed in simm16


def _register_field(instruction: Instruction) -> tuple[int, int, int]:
    value = instruction.fields["simm16"]
    return value & 63, value >> 6 & 31, (value >> 11 & 31) + 1


@semantics("s_getreg_b32")
def _compile_get_register(instruction: Instruction, context: CompileContext) -> Compiled:
    register, offset, size = _register_field(instruction)
    destination, mask = instruction.fields["sdst"], (1 << size) - 1
    read = _HARDWARE_REGISTERS.get(context.target.hardware_registers.get(register, ""))
    if read is None:
        raise UnsupportedInstruction(f"hardware register {register}")

    def step(state: State) -> None:
        value = read(state)
        number = value >> offset & mask if isinstance(value, int) else value >> np.uint32(offset) & np.uint32(mask)
        state.write_sgpr(destination, number)

    return step


def _status(state: State) -> Scalar32:
    """SCC, EXECZ, VCCZ and VALID; IN_TG where workgroups have several waves. No other bit is ever set."""
    fixed = 1 << 16 | (1 << 11 if state.placement.waves_per_group > 1 else 0)
    parts = (
        (state.read_scc(), 0),
        (_negated(_exec_any(state)), 9),
        (_negated(any_bit(state.read_mask_or_number(VCC))), 10),
    )
    value: Any = fixed
    for condition, bit in parts:
        set_bit = np.asarray(condition).astype(np.uint32) << np.uint32(bit)
        value = value | (int(set_bit) if set_bit.ndim == 0 else set_bit)
    return value if isinstance(value, int) else np.asarray(value, np.uint32)


# TRAPSTS: no exception is ever raised; HW_ID and XCC_ID: everything runs in one place; SH_MEM_BASES: the upper 16 bits
# of the two apertures
_HARDWARE_REGISTERS: dict[str, Callable[[State], Scalar32]] = {
    "mode": lambda state: state.mode,
    "status": _status,
    "trap status": lambda state: 0,
    "hardware id": lambda state: 0,
    "memory bases": lambda state: PRIVATE_BASE >> 48 | SHARED_BASE >> 48 << 16,
    "die id": lambda state: 0,
    "cycles": lambda state: _advanced_clock(state) & 0xFFFFF,
}


@semantics("s_setreg_b32", "s_setreg_imm32_b32")
def _compile_set_register(instruction: Instruction, context: CompileContext) -> Compiled:
    register, offset, size = _register_field(instruction)
    name = context.target.hardware_registers.get(register)
    if name == "trap status":  # clearing exceptions that nothing raises
        return None
    if name != "mode":
        raise UnsupportedInstruction(f"hardware register {register}")
    mask = ((1 << size) - 1) << offset
    if instruction.mnemonic == "s_setreg_imm32_b32":
        literal = instruction.literal or 0
        return SetMode(lambda state, mode: (mode & ~mask | literal << offset & mask) & MODE_BITS)
    source = instruction.fields["sdst"]

    def value(state: State, mode: int) -> Scalar32:
        given = state.read_agreed(source)
        if isinstance(given, int):
            return (mode & ~mask | given << offset & mask) & MODE_BITS
        kept, given = np.uint32(mode & ~mask & MODE_BITS), given << np.uint32(offset)
        modes: NDArray[np.uint32] = kept | given & np.uint32(mask & MODE_BITS)
        return modes

    return SetMode(value)


@semantics("s_round_mode", "s_denorm_mode")
def _compile_float_mode(instruction: Instruction, context: CompileContext) -> Compiled:
    """Four bits of MODE: how results are rounded, or which denormals are kept."""
    del context
    low = 0 if instruction.mnemonic == "s_round_mode" else 4
    mask, bits = 15 << low, (instruction.fields["simm16"] & 15) << low
    return SetMode(lambda state, mode: mode & ~mask | bits)


@semantics("s_setvskip")
def _compile_skip(instruction: Instruction, context: CompileContext) -> Compiled:
    """VSKIP becomes the bit of the first source whose number the lower five bits of the second are.

    While it is set, vector instructions (arithmetic and memory) are not executed. They count as if they were not there:
    no wait counter sees them.
    """
    del context
    word = scalar_reader(instruction.fields["ssrc0"], instruction.literal)
    number = scalar_reader(instruction.fields["ssrc1"], instruction.literal)

    def switch(state: State, mode: int) -> Scalar32:
        value, bit = word(state), number(state)
        if isinstance(value, int) and isinstance(bit, int):
            return mode | SKIPS_VECTORS if value >> (bit & 31) & 1 else mode & ~SKIPS_VECTORS
        is_set = np.asarray(value, np.uint32) >> (np.asarray(bit, np.uint32) & np.uint32(31)) & np.uint32(1)
        modes = np.where(is_set != 0, np.uint32(mode | SKIPS_VECTORS), np.uint32(mode & ~SKIPS_VECTORS))
        return np.broadcast_to(modes, (state.waves, 1))

    return SetMode(switch)


@semantics("s_memtime", "s_memrealtime")
def _compile_time(instruction: Instruction, context: CompileContext) -> Compiled:
    """A clock that advances by 100 with every reading; see fidelity.py."""
    del context
    destination = instruction.fields["sdata"]

    return lambda state: state.write_sgpr64(destination, _advanced_clock(state))


def _advanced_clock(state: State) -> int:
    state.clock += 100
    return state.clock
