"""S_GETREG: the fields of MODE, STATUS and the rest, and s_sendmsg."""

from __future__ import annotations

import numpy as np
import pytest
from support.lanes import GFX942, make_state, run_code

from hipgraph_cb.virtual.isa.core.operands import PRIVATE_BASE, SHARED_BASE
from hipgraph_cb.virtual.isa.core.registry import UnsupportedInstruction, compiler_of
from hipgraph_cb.virtual.isa.execution.instruction_set import MODULES
from hipgraph_cb.virtual.isa.targets.gfx9.decode import decode
from hipgraph_cb.virtual.memory import Memory

STATUS, STATUS_9_2 = "02f894b8", "420a94b8"  # s_getreg_b32 s20, hwreg(HW_REG_STATUS[, 9, 2])
SCC, EXECZ, VCCZ, IN_TG, VALID = 1, 1 << 9, 1 << 10, 1 << 11, 1 << 16


@pytest.mark.parametrize("waves_per_group", [1, 2])
def test_status_holds_scc_the_zero_flags_and_whether_there_are_other_waves(waves_per_group):
    state = make_state(Memory(1 << 16), groups=2, waves_per_group=waves_per_group)
    state.write_sgpr64(106, 0)
    state.write_scc(True)
    run_code(state, STATUS)
    group = IN_TG if waves_per_group > 1 else 0
    assert state.read_sgpr(20) == SCC | VCCZ | VALID | group
    state.write_sgpr64(106, 4)
    state.write_scc(False)
    run_code(state, STATUS)
    assert state.read_sgpr(20) == VALID | group


def test_status_may_differ_between_waves_and_is_read_in_parts():
    state = make_state(Memory(1 << 16), groups=3)
    state.write_sgpr64(106, np.array([[0], [1], [0]], np.uint64))
    state.write_exec(np.array([[True], [False], [False]]))
    run_code(state, STATUS_9_2)
    assert state.read_sgpr(20).ravel().tolist() == [0b10, 0b01, 0b11]


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("0ff894b8", SHARED_BASE >> 48 << 16 | PRIVATE_BASE >> 48),  # hwreg(HW_REG_SH_MEM_BASES)
        ("03f894b8", 0),  # hwreg(HW_REG_TRAPSTS)
        ("04f894b8", 0),  # hwreg(HW_REG_HW_ID)
        ("14f894b8", 0),  # hwreg(HW_REG_XCC_ID)
    ],
)
def test_other_registers(code, value):
    state = make_state(Memory(1 << 16))
    run_code(state, code)
    assert state.read_sgpr(20) == value


def compiled(code: str):
    instruction = decode(bytes.fromhex(code), 0)
    assert MODULES
    return compiler_of(instruction.mnemonic)(instruction, GFX942)


def test_clearing_exceptions_and_an_interrupt_do_nothing():
    assert compiled("03f800ba00000000") is None  # s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS), 0
    assert compiled("010090bf") is None  # s_sendmsg sendmsg(MSG_INTERRUPT)


def test_messages_of_graphics_are_refused():
    with pytest.raises(UnsupportedInstruction, match="message 3"):
        compiled("030090bf")
