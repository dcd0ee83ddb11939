"""GLOBAL loads and stores: widths, extensions, addressing, EXEC, and what is refused."""

import numpy as np
import pytest
from support.lanes import lanes_of, make_state, run

from hipgraph_cb.virtual.faults import DeviceFault, FaultKind
from hipgraph_cb.virtual.isa.memory import global_memory
from hipgraph_cb.virtual.memory import Memory

pytestmark = pytest.mark.usefixtures("each_way")

OFF = global_memory.NO_SADDR
UNTOUCHED = 0xCDCDCDCD
LANES = np.arange(64, dtype=np.uint64)


@pytest.fixture
def memory() -> Memory:
    return Memory(16 << 20)


def upload(memory: Memory, array: np.ndarray, label: str = "") -> int:
    address = memory.allocate(array.nbytes, label=label)
    memory.bytes(address, array.nbytes)[:] = array.view(np.uint8)
    return address


def load(state, mnemonic: str, addresses: np.ndarray, *, vdst: int = 8, offset: int = 0) -> None:
    state.write_vgpr64(2, np.asarray(addresses, np.uint64).reshape(1, -1))
    run(state, mnemonic, "GLOBAL", addr=2, saddr=OFF, vdst=vdst, data=0, offset=offset)


def store(state, mnemonic: str, addresses: np.ndarray, *, data: int = 8, offset: int = 0) -> None:
    state.write_vgpr64(2, np.asarray(addresses, np.uint64).reshape(1, -1))
    run(state, mnemonic, "GLOBAL", addr=2, saddr=OFF, vdst=0, data=data, offset=offset)


@pytest.mark.parametrize(("size", "words"), [("dword", 1), ("dwordx2", 2), ("dwordx3", 3), ("dwordx4", 4)])
def test_a_load_fills_consecutive_registers(memory, size, words):
    source = np.random.default_rng(1).integers(0, 2**32, 64 * words, dtype=np.uint32)
    state = make_state(memory)
    load(state, f"global_load_{size}", upload(memory, source) + 4 * words * LANES)
    for word in range(words):
        assert np.array_equal(lanes_of(state, 8 + word)[0], source[word::words])


@pytest.mark.parametrize("shift", [0, 1, 2, 3])
def test_words_need_no_alignment(memory, shift):
    source = np.random.default_rng(2).integers(0, 256, 64 * 8 + 4, dtype=np.uint8)
    state = make_state(memory)
    address = upload(memory, source)
    load(state, "global_load_dwordx2", address + shift + 8 * LANES)
    expected = np.frombuffer(source.tobytes()[shift : shift + 512], np.uint32).reshape(64, 2)
    assert np.array_equal(lanes_of(state, 8)[0], expected[:, 0])
    assert np.array_equal(lanes_of(state, 9)[0], expected[:, 1])
    target = upload(memory, np.zeros(64 * 8 + 4, np.uint8))
    store(state, "global_store_dwordx2", target + shift + 8 * LANES)
    assert memory.bytes(target + shift, 512).tobytes() == source.tobytes()[shift : shift + 512]


@pytest.mark.parametrize(
    ("form", "dtype", "extended"),
    [
        ("ubyte", np.uint8, np.uint32),
        ("sbyte", np.int8, np.int32),
        ("ushort", np.uint16, np.uint32),
        ("sshort", np.int16, np.int32),
    ],
)
def test_narrow_loads_extend_by_their_sign(memory, form, dtype, extended):
    limits = np.iinfo(dtype)
    source = np.array([limits.min, -1 if limits.min else limits.max, 0, limits.max] * 16).astype(dtype)
    state = make_state(memory)
    load(state, f"global_load_{form}", upload(memory, source) + dtype(0).itemsize * LANES)
    assert np.array_equal(lanes_of(state, 8)[0], source.astype(extended).view(np.uint32))


@pytest.mark.parametrize(
    ("form", "expected"),
    [("byte", b"\x11\0\0"), ("byte_d16_hi", b"\x33\0\0"), ("short", b"\x11\x22\0"), ("short_d16_hi", b"\x33\x44\0")],
)
def test_narrow_stores_take_one_half_of_the_register(memory, form, expected):
    target = upload(memory, np.zeros(3, np.uint8))
    state = make_state(memory)
    state.write_vgpr(8, np.full((1, 1), 0x44332211, np.uint32))
    store(state, f"global_store_{form}", np.array([target]))
    assert memory.bytes(target, 3).tobytes() == expected


def test_a_scalar_base_takes_an_unsigned_32_bit_distance_and_a_signed_offset(memory):
    source = np.arange(1000, dtype=np.uint32)
    state = make_state(memory)
    state.write_sgpr64(4, upload(memory, source))
    state.write_vgpr(2, (4 * LANES + 400).astype(np.uint32).reshape(1, -1))
    run(state, "global_load_dword", "GLOBAL", addr=2, saddr=4, vdst=8, data=0, offset=-40)
    assert np.array_equal(lanes_of(state, 8)[0], source[90:154])


def test_inactive_lanes_neither_access_nor_change(memory):
    source = np.arange(64, dtype=np.uint32)
    address = upload(memory, source)
    state = make_state(memory)
    on = np.zeros((1, 64), np.bool_)
    on[0, [0, 5, 63]] = True
    addresses = address + 4 * LANES
    addresses[~on[0]] = 0  # would fault
    state.write_vgpr64(2, addresses.reshape(1, -1))
    state.write_exec(on)
    run(state, "global_load_dword", "GLOBAL", addr=2, saddr=OFF, vdst=8, data=0, offset=0)
    assert np.array_equal(lanes_of(state, 8), np.where(on, source, UNTOUCHED))
    state.write_vgpr(9, np.full((1, 1), 7, np.uint32))
    run(state, "global_store_dword", "GLOBAL", addr=2, saddr=OFF, vdst=0, data=9, offset=0)
    assert np.array_equal(memory.bytes(address, 256).view(np.uint32), np.where(on[0], 7, source))


def test_with_no_lane_active_nothing_happens(memory):
    state = make_state(memory)
    state.write_vgpr64(2, np.zeros((1, 1), np.uint64))
    state.write_exec(np.zeros((1, 64), np.bool_))
    for mnemonic in ("global_load_dwordx4", "global_load_sbyte", "global_store_dwordx4", "global_store_byte"):
        run(state, mnemonic, "GLOBAL", addr=2, saddr=OFF, vdst=8, data=8, offset=0)
    assert (lanes_of(state, 8) == UNTOUCHED).all()


def test_of_two_lanes_that_store_to_one_place_the_higher_wins(memory):
    target = upload(memory, np.zeros(1, np.uint32))
    state = make_state(memory)
    state.write_vgpr(8, LANES.astype(np.uint32).reshape(1, -1))
    store(state, "global_store_dword", np.array([target]))
    assert memory.bytes(target, 4).view(np.uint32)[0] == 63


@pytest.mark.parametrize("mnemonic", ["global_load_dword", "global_store_dword"])
def test_an_access_past_a_buffer_names_lane_address_and_buffer(memory, mnemonic):
    address = upload(memory, np.zeros(60, np.uint32), label="y")
    state = make_state(memory)
    access = load if "load" in mnemonic else store
    with pytest.raises(DeviceFault) as raised:
        access(state, mnemonic, address + 4 * LANES)
    fault = raised.value
    assert fault.kind is FaultKind.ILLEGAL_ADDRESS
    assert fault.description == "0 bytes past the end of `y`, 240 bytes"
    assert (fault.workgroup, fault.wave, fault.lane) == ((0, 0, 0), 0, 60)
    assert fault.address == address + 240


def test_a_word_that_ends_past_a_buffer_is_refused_whole(memory):
    address = upload(memory, np.zeros(6, np.uint8), label="y")
    with pytest.raises(DeviceFault) as raised:
        load(make_state(memory), "global_load_dword", np.array([address + 4]))
    assert raised.value.description == "4 bytes into `y`, 6 bytes: 2 of 4 bytes past its end"


def test_freed_memory_is_refused(memory):
    address = upload(memory, np.zeros(64, np.uint32), label="gone")
    memory.free(address)
    with pytest.raises(DeviceFault) as raised:
        load(make_state(memory), "global_load_dword", address + 4 * LANES)
    assert raised.value.description == "0 bytes into `gone`, 256 bytes, which was freed"
