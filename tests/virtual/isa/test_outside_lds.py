"""Outside a workgroup's LDS: reads give zero, writes are dropped, atomics do both; by a setting it is a fault."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from support.instructions import opcode_list
from support.lanes import execute, lanes_of, make_state, run, run_code

from hipgraph_cb.virtual.faults import DeviceFault, FaultKind
from hipgraph_cb.virtual.isa.core.lds_range import OutsideLds
from hipgraph_cb.virtual.isa.core.operands import SHARED_BASE
from hipgraph_cb.virtual.isa.core.state import M0
from hipgraph_cb.virtual.isa.targets.gfx9.decode import decode
from hipgraph_cb.virtual.memory import Memory

pytestmark = pytest.mark.usefixtures("each_way")

LANES = np.arange(64, dtype=np.uint32)
LDS_SIZE = 4096
ADDRESS, DATA0, DATA1, RESULT = 0, 4, 8, 20
AT_M0 = {"ds_append", "ds_consume", "ds_read_addtid_b32", "ds_write_addtid_b32"}
MOVES_LANES = re.compile(r"ds_(nop|swizzle|permute|bpermute|gws_)")
LISTED = [(code, text.split()[0]) for form, _, code, text in opcode_list() if form == "DS"]
ADDRESSED = [entry for entry in LISTED if entry[1] not in AT_M0 and not MOVES_LANES.match(entry[1])]


@pytest.fixture(scope="module")
def memory() -> Memory:
    return Memory(1 << 20)


def filled(memory: Memory, addresses: np.ndarray):
    """Two workgroups with the same known bytes in LDS and in registers, every lane at its address."""
    state = make_state(memory, groups=2, lds_size=LDS_SIZE)
    rng = np.random.default_rng(5)
    state.lds[:] = rng.integers(0, 256, LDS_SIZE, dtype=np.uint8)
    for register in range(1, 32):
        state.write_vgpr(register, rng.integers(0, 2**32, (1, 64), dtype=np.uint32))
    state.write_vgpr(ADDRESS, np.asarray(addresses, np.uint32).reshape(1, 64))
    return state


def registers(state) -> np.ndarray:
    return np.array([lanes_of(state, register) for register in range(32)])


def instruction_of(code: bytes):
    instruction = decode(code, 0)
    fields = {"addr": ADDRESS, "data0": DATA0, "data1": DATA1, "vdst": RESULT, "offset1": 1}
    return replace(instruction, fields=instruction.fields | fields)


@pytest.mark.parametrize("every_lane", [True, False], ids=["all", "some"])
@pytest.mark.parametrize(("code", "mnemonic"), ADDRESSED, ids=[mnemonic for _, mnemonic in ADDRESSED])
def test_lanes_outside_do_nothing_to_lds_and_get_zero(memory, code, mnemonic, every_lane):
    """As if those lanes were off, apart from the zeros in what the instruction returns."""
    outside = np.full(64, every_lane) | (LANES % 3 == 0)
    state = filled(memory, np.where(outside, 0xF000, 256 + 8 * LANES))
    reference = filled(memory, 256 + 8 * LANES)
    before = registers(reference)
    returned = registers_written(memory, code)
    reference.write_exec(~outside.reshape(1, 64))
    execute(reference, instruction_of(code))
    execute(state, instruction_of(code))
    assert np.array_equal(state.lds, reference.lds)
    expected = registers(reference)
    expected[ADDRESS] = before[ADDRESS] = registers(state)[ADDRESS]
    for register in returned:
        expected[register][:, outside] = 0
    assert np.array_equal(registers(state), expected)


def registers_written(memory: Memory, code: bytes) -> list[int]:
    state = filled(memory, 256 + 8 * LANES)
    before = registers(state)
    execute(state, instruction_of(code))
    return [register for register in range(32) if not np.array_equal(before[register], registers(state)[register])]


@pytest.mark.parametrize("mnemonic", ["ds_append", "ds_consume"])
def test_a_counter_outside_counts_nothing_and_gives_zero(memory, mnemonic):
    state = filled(memory, LANES)
    before = state.lds.copy()
    state.write_sgpr(M0, 0xF000)
    run(state, mnemonic, "DS", vdst=RESULT)
    assert np.array_equal(state.lds, before)
    assert not lanes_of(state, RESULT).any()


def test_addresses_of_the_lane_number_are_checked_too(memory):
    state = filled(memory, LANES)
    before = state.lds.copy()
    state.write_sgpr(M0, LDS_SIZE - 128)
    run(state, "ds_write_addtid_b32", "DS", data0=DATA0)
    assert np.array_equal(state.lds[:, :-128], before[:, :-128])
    assert np.array_equal(state.lds[0, -128:].view(np.uint32), lanes_of(state, DATA0)[0, :32])
    run(state, "ds_read_addtid_b32", "DS", vdst=RESULT)
    assert np.array_equal(lanes_of(state, RESULT), np.where(LANES < 32, lanes_of(state, DATA0), 0))


def test_a_transfer_to_lds_drops_what_is_outside(memory):
    state = filled(memory, LANES)
    before = state.lds.copy()
    source = memory.allocate(256)
    memory.bytes(source, 256).view(np.uint32)[:] = LANES + 7
    state.write_sgpr64(8, source)
    state.write_vgpr(1, (4 * LANES).reshape(1, 64))
    state.write_sgpr(M0, LDS_SIZE - 128)
    run(state, "global_load_lds_dword", "GLOBAL", addr=1, saddr=8)
    assert np.array_equal(state.lds[:, :-128], before[:, :-128])
    assert np.array_equal(state.lds[1, -128:].view(np.uint32), LANES[:32] + 7)


@pytest.mark.parametrize(
    ("code", "register"),
    [
        ("000050dc00000004", 4),  # flat_load_dword v4, v[0:1]
        ("000040dc00000004", 4),  # flat_load_ubyte v4, v[0:1]
        ("000070dc00020000", None),  # flat_store_dword v[0:1], v2
        ("000060dc00020000", None),  # flat_store_byte v[0:1], v2
        ("000009dd00020004", 4),  # flat_atomic_add v4, v[0:1], v2 sc0
    ],
)
def test_the_same_holds_through_generic_addresses(memory, code, register):
    state = filled(memory, LANES)
    before = state.lds.copy()
    state.write_vgpr64(0, np.full((1, 1), SHARED_BASE + LDS_SIZE, np.uint64))
    run_code(state, code)
    assert np.array_equal(state.lds, before)
    assert register is None or not lanes_of(state, register).any()


def test_an_access_that_is_partly_outside_counts_as_outside(memory):
    state = filled(memory, np.full(64, LDS_SIZE - 8))
    before = state.lds.copy()
    run(state, "ds_write_b128", "DS", addr=ADDRESS, data0=DATA0)
    assert np.array_equal(state.lds, before)
    run(state, "ds_read_b128", "DS", addr=ADDRESS, vdst=RESULT)
    assert not registers(state)[RESULT : RESULT + 4].any()


def test_each_address_of_a_pair_counts_for_itself(memory):
    state = filled(memory, np.full(64, LDS_SIZE - 8))
    run(state, "ds_read2_b32", "DS", addr=ADDRESS, offset0=1, offset1=2, vdst=RESULT)
    assert (lanes_of(state, RESULT) == state.lds[0, -4:].view(np.uint32)[0]).all()
    assert not lanes_of(state, RESULT + 1).any()


def test_a_misaligned_atomic_is_a_fault_there_too(memory):
    state = filled(memory, np.full(64, 0xF00002))
    with pytest.raises(DeviceFault) as raised:
        run(state, "ds_add_u32", "DS", addr=ADDRESS, data0=DATA0)
    assert raised.value.description == "an atomic of 4 bytes at an address that is not a multiple of 4"


def test_accesses_outside_are_counted_by_lane_and_the_first_is_reported(memory):
    state = filled(memory, np.where(LANES == 50, 0xF00000, 0))
    run(state, "ds_read_b32", "DS", addr=ADDRESS, vdst=RESULT, offset0=4)
    run(state, "ds_read_b32", "DS", addr=ADDRESS, vdst=RESULT)
    assert state.outside_lds.lanes == 4
    assert state.outside_lds.first == (
        "launch failure: 4 bytes at LDS address 0xf00004, outside the workgroup's 4096 bytes of LDS\n"
        "  kernel: tried\n"
        "  instruction: ds_read_b32 v20, v0 offset:4\n"
        "  pc: 0x1000 (entry +0x0)\n"
        "  workgroup: (0, 0, 0), wave 0, lane 50\n"
        "  address: 0xf00004"
    )


def test_where_they_are_refused_the_first_lane_outside_is_a_fault(memory):
    state = filled(memory, np.where(LANES == 50, 0xF00000, 0))
    state.outside_lds = OutsideLds(are_refused=True)
    with pytest.raises(DeviceFault) as raised:
        run(state, "ds_write_b32", "DS", addr=ADDRESS, data0=DATA0)
    fault = raised.value
    assert fault.kind is FaultKind.LAUNCH_FAILURE
    assert fault.description == "4 bytes at LDS address 0xf00000, outside the workgroup's 4096 bytes of LDS"
    assert (fault.workgroup, fault.wave, fault.lane, fault.address) == ((0, 0, 0), 0, 50, 0xF00000)
