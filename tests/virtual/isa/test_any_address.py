"""Every form of access at any 64-bit address: inside an allocation it goes on, anywhere else a fault names it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.lanes import lanes_of, make_state, run

from hipgraph_cb.virtual.faults import DeviceFault, FaultKind
from hipgraph_cb.virtual.isa.core import lane_loops
from hipgraph_cb.virtual.isa.core.operands import PRIVATE_BASE, SHARED_BASE
from hipgraph_cb.virtual.isa.core.scaled_index import ScaledIndex
from hipgraph_cb.virtual.isa.core.state import State
from hipgraph_cb.virtual.isa.memory.linear_access import NO_SADDR
from hipgraph_cb.virtual.memory import Memory

pytestmark = pytest.mark.usefixtures("each_way")
tried_often = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

SIZE = 4096
M0 = 124
EVERYTHING = 1 << 64
EDGES = [0, 1 << 31, 1 << 32, 1 << 47, 1 << 48, (1 << 63) - (1 << 31), 1 << 63, EVERYTHING - (1 << 32)]
WAVES = 2
LANES = np.arange(64, dtype=np.uint64)

memory = Memory(1 << 20)
start = memory.allocate(SIZE, alignment=4096, label="a")
near_an_edge = st.builds(
    lambda edge, distance: (edge + distance) % EVERYTHING,
    st.sampled_from([*EDGES, start, start + SIZE, memory.base, memory.base + memory.capacity]),
    st.integers(-24, 24),
)


def is_inside(address: int, size: int) -> bool:
    return start <= address and address + size <= start + SIZE


def new_state(waves: int = WAVES) -> State:
    state = make_state(memory, groups=waves, lds_size=1024)
    state.write_sgpr(M0, 0)
    state.write_vgpr64(20, np.zeros((1, 1), np.uint64))
    state.write_vgpr64(22, np.zeros((1, 1), np.uint64))
    return state


def expect(state: State, access: Callable[[], None], address: int, size: int) -> None:
    """`access` goes on or fails at `address`."""
    if is_inside(address, size):
        access()
        return
    with pytest.raises(DeviceFault) as caught:
        access()
    assert caught.value.kind is FaultKind.ILLEGAL_ADDRESS, str(caught.value)
    assert caught.value.address == address, str(caught.value)


def global_form(mnemonic: str, **fields: Any) -> Callable[[State], None]:
    return lambda state: run(state, mnemonic, "GLOBAL", vdst=30, data=20, **{"saddr": NO_SADDR} | fields)


FORMS = {  # bytes, alignment
    "global_load_dword": (4, 1),
    "global_load_dwordx3": (12, 1),
    "global_load_dwordx4": (16, 1),
    "global_load_ubyte": (1, 1),
    "global_load_sshort": (2, 1),
    "global_load_short_d16_hi": (2, 1),
    "global_store_dword": (4, 1),
    "global_store_dwordx4": (16, 1),
    "global_store_byte": (1, 1),
    "global_store_short": (2, 1),
    "global_load_lds_dword": (4, 1),
    "global_load_lds_ubyte": (1, 1),
    "global_atomic_add": (4, 4),
    "global_atomic_cmpswap_x2": (8, 8),
    "global_atomic_add_f64": (8, 8),
}


@pytest.mark.parametrize("mnemonic", FORMS)
@tried_often
@given(
    address=near_an_edge,
    offset=st.integers(-4096, 4095),
    form=st.sampled_from(["pair", "base", "wave"]),
    data=st.data(),
)
def test_global(mnemonic, address, offset, form, data):
    size, alignment = FORMS[mnemonic]
    address -= address % alignment
    if "lds" in mnemonic:
        offset = abs(offset) % 64  # it counts for the address in LDS as well
    state, target = new_state(), (address - offset) % EVERYTHING
    if form == "pair":
        state.write_vgpr64(0, np.full((1, 1), target, np.uint64))
        saddr = NO_SADDR
    else:
        index = data.draw(st.sampled_from([0, 4, 0x7FFFFFFC, 0x80000000, 0xFFFFFFFF]))
        base = (target - index) % EVERYTHING
        state.write_vgpr(0, np.full((1, 1), index, np.uint32))
        # In the second form the first wave is at a sound address, so that the waves' bases are apart.
        sound = (start + 64 - offset - index) % EVERYTHING
        state.write_sgpr64(8, base if form == "base" else np.array([[sound], [base]], np.uint64))
        saddr = 8
    execute = global_form(mnemonic, addr=0, saddr=saddr, offset=offset)
    expect(state, lambda: execute(state), address, size)


@pytest.mark.parametrize("mnemonic", FORMS)
@tried_often
@given(address=near_an_edge, lane=st.integers(0, 63), others_are_off=st.booleans())
@example(address=(1 << 63) - 1, lane=0, others_are_off=False)
def test_one_lane_of_many(mnemonic, address, lane, others_are_off):
    size, alignment = FORMS[mnemonic]
    address -= address % alignment
    addresses = np.uint64(start) + np.uint64(16) * LANES
    addresses[lane] = address
    state = new_state()
    state.write_vgpr64(0, addresses.reshape(1, 64))
    if others_are_off:
        state.write_exec((lane == LANES).reshape(1, 64))
    expect(state, lambda: global_form(mnemonic, addr=0)(state), address, size)


@pytest.mark.parametrize("mnemonic", FORMS)
@tried_often
@given(address=near_an_edge, lane=st.integers(0, 63))
@example(address=(1 << 63) - 1, lane=0)
def test_lanes_that_are_off_may_hold_any_address(mnemonic, address, lane):
    addresses = np.uint64(start) + np.uint64(16) * LANES
    addresses[lane] = address
    state = new_state()
    state.write_vgpr64(0, addresses.reshape(1, 64))
    state.write_exec((lane != LANES).reshape(1, 64))
    global_form(mnemonic, addr=0)(state)


@pytest.mark.parametrize("mnemonic", ["global_load_dword", "global_load_dwordx4", "global_store_dword"])
@tried_often
@given(
    base=near_an_edge,
    index=st.sampled_from([0, 1, 1 << 16, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]),
    shift=st.integers(0, 31),
    is_masked=st.booleans(),
)
@example(base=0x7FFFFFFF << 32, index=0xFFFFFFFF, shift=31, is_masked=False)
@example(base=start + (1 << 32), index=0xFFFFFFFF, shift=31, is_masked=True)
def test_an_index_that_is_shifted_and_added(mnemonic, base, index, shift, is_masked):
    state = new_state()
    indices = np.zeros((WAVES, 64), np.uint32)
    indices[0, 1:] = index
    state.write_scaled(0, ScaledIndex(base, indices, shift))
    if is_masked:
        state.write_exec(np.tile(LANES < 60, (WAVES, 1)))
    size, _ = FORMS[mnemonic]
    last = (base + (index << shift)) % EVERYTHING
    address = last if is_inside(base, size) else base
    expect(state, lambda: global_form(mnemonic, addr=0)(state), address, size)


FLAT = {
    "flat_load_dword": 4,
    "flat_load_ushort": 2,
    "flat_store_dwordx2": 8,
    "flat_store_byte": 1,
    "flat_atomic_add": 4,
}


@pytest.mark.parametrize("mnemonic", FLAT)
@tried_often
@given(address=near_an_edge.filter(lambda address: address >> 32 not in (SHARED_BASE >> 32, PRIVATE_BASE >> 32)))
def test_flat(mnemonic, address):
    address -= address % 4 if "atomic" in mnemonic else 0
    state = new_state()
    state.write_vgpr64(0, np.full((1, 1), address, np.uint64))
    run_it = lambda: run(state, mnemonic, "FLAT", addr=0, vdst=30, data=20)  # noqa: E731
    expect(state, run_it, address, FLAT[mnemonic])


SCALAR = {f"s_load_dword{times}": 4 * count for times, count in (("", 1), ("x2", 2), ("x4", 4), ("x8", 8), ("x16", 16))}
SCALAR |= {"s_atomic_add": 4, "s_atomic_cmpswap_x2": 8}


@pytest.mark.parametrize("mnemonic", [*SCALAR, "s_store_dword"])
@tried_often
@given(address=near_an_edge, distance=st.sampled_from([0, 4, -4, 4092]), is_same=st.booleans())
def test_scalar(mnemonic, address, distance, is_same):
    size = SCALAR.get(mnemonic, 4)
    address -= address % (8 if "x2" in mnemonic else 4)
    base = (address - distance) % EVERYTHING
    state = new_state()
    sound = (start + 64 - distance) % EVERYTHING
    state.write_sgpr64(8, base if is_same else np.array([[sound], [base]], np.uint64))
    run_it = lambda: run(state, mnemonic, "SMEM", sbase=8, sdata=16, imm=1, offset=distance)  # noqa: E731
    expect(state, run_it, address, size)


BUFFER = {"buffer_load_dword": 4, "buffer_load_ubyte": 1, "buffer_store_dword": 4, "buffer_store_short": 2}
BUFFER |= {"buffer_atomic_add": 4}


@pytest.mark.parametrize("mnemonic", BUFFER)
@tried_often
@given(address=near_an_edge, index=st.sampled_from([0, 4, 0x7FFFFFFC, 0xFFFFFFF0]), is_same=st.booleans())
def test_buffers(mnemonic, address, index, is_same):
    """A descriptor holds 48 bits of its base, so an address is below 2**48 + 2**33."""
    base = (address - index) % (1 << 48)
    base -= base % 4
    other = (start + 64 - index) % (1 << 48) if is_same is False else base
    state = new_state()
    low, high = (np.array([[other], [base]], np.uint64) >> np.uint64(half) for half in (0, 32))
    for register, word in enumerate((low, high)):
        state.write_sgpr(8 + register, word.astype(np.uint32) if not is_same else int(word[1, 0]) & 0xFFFFFFFF)
    state.write_sgpr(10, 0xFFFFFFFF)
    state.write_sgpr(11, 0)
    state.write_vgpr(0, np.full((1, 1), index, np.uint32))
    run_it = lambda: run(state, mnemonic, "MUBUF", vaddr=0, vdata=20, srsrc=8, offen=1, soffset=128)  # noqa: E731
    if other + index < start:  # the base of the sound wave wrapped around at 48 bits, so it is not sound
        return
    expect(state, run_it, base + index, BUFFER[mnemonic])


@tried_often
@given(
    origin=near_an_edge,
    indices=st.lists(st.integers(0, 0xFFFFFFFF) | st.sampled_from([0, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]), min_size=1),
    shift=st.integers(0, 31),
    size=st.sampled_from([1, 2, 4]),
)
def test_machine_code_reads_what_its_bounds_hold_and_nothing_else(origin, indices, shift, size):
    if lane_loops.LOOPS is None:
        return
    signed = origin - EVERYTHING if origin >> 63 else origin
    places = [signed + (index << shift) for index in indices]
    data = np.arange(SIZE, dtype=np.uint8)
    found = lane_loops.gather(data, signed, np.array([indices], np.uint32), shift, size=size, bounds=(size, 0, SIZE))
    if all(0 <= place <= SIZE - size for place in places):
        expected = [int.from_bytes(data[place : place + size].tobytes(), "little") for place in places]
        assert found.tolist() == [expected]
    else:
        assert found is None


@tried_often
@given(addresses=st.lists(near_an_edge, min_size=1, max_size=70), size=st.sampled_from([1, 2, 4, 8, 12, 16, 64]))
def test_the_check_of_the_arena_finds_exactly_the_addresses_outside(addresses, size):
    found = memory.check(np.array(addresses, np.uint64).view(np.int64), size)
    expected = [not is_inside(address, size) for address in addresses]
    assert (found is None and not any(expected)) or (found is not None and found.tolist() == expected)


@pytest.mark.parametrize("mnemonic", ["global_load_lds_dword", "global_load_lds_ubyte", "global_load_lds_sshort"])
@pytest.mark.parametrize("offset", [-4096, -1024, -260, -256, -4, -1, 0, 1020, 4095])
@pytest.mark.parametrize("waves", [1, WAVES])
def test_a_transfer_never_writes_outside_lds(mnemonic, offset, waves):
    """LDS is placed within a larger array, whose bytes in front of it and behind it stay as they are."""
    state = new_state(waves)
    around = np.full(8192 * 3, 0x5A, np.uint8)
    lds = slice(8192, 8192 + state.lds.size)
    around[lds] = 0
    state.lds = around[lds].reshape(state.lds.shape)
    state.write_vgpr64(0, np.full((1, 1), start + 2048 - offset, np.uint64))
    try:
        run(state, mnemonic, "GLOBAL", addr=0, saddr=NO_SADDR, offset=offset)
    except DeviceFault as fault:
        assert "outside the workgroup's 1024 bytes of LDS" in fault.description
    around[lds] = 0x5A
    assert (around == 0x5A).all()


def test_a_wave_without_lanes_stores_to_no_private_memory():
    state = new_state()
    state.scratch_size = 16
    state.write_exec(np.zeros((1, 1), np.bool_))
    for mnemonic in ("scratch_store_dword", "scratch_load_dword", "scratch_store_byte"):
        run(state, mnemonic, "SCRATCH", saddr=NO_SADDR, offset=4000, data=20, vdst=30)
    assert (lanes_of(state, 30) == 0xCDCDCDCD).all()
