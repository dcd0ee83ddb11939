"""FLAT: lanes of one instruction may mean LDS, private memory and device memory."""

from __future__ import annotations

import numpy as np
import pytest
from support.lanes import lanes_of, make_state, run_code

from hipgraph_cb.virtual.faults import DeviceFault, FaultKind
from hipgraph_cb.virtual.isa.core.operands import PRIVATE_BASE, SHARED_BASE
from hipgraph_cb.virtual.isa.execution import instruction_set  # noqa: F401  # registers the instructions
from hipgraph_cb.virtual.memory import Memory

pytestmark = pytest.mark.usefixtures("each_way")

LANES = np.arange(64)
LOAD = "000050dc00000004"  # flat_load_dword v4, v[0:1]
LOAD_BYTE = "050040dc00000004"  # flat_load_ubyte v4, v[0:1] offset:5
LOAD_X2 = "000054dc00000004"  # flat_load_dwordx2 v[4:5], v[0:1]
STORE = "000070dc00020000"  # flat_store_dword v[0:1], v2
STORE_BYTE = "000060dc00020000"  # flat_store_byte v[0:1], v2
ADD = "000009dd00020004"  # flat_atomic_add v4, v[0:1], v2 sc0
KINDS = LANES % 3  # 0: LDS, 1: private, 2: device


class Places:
    """A state whose lane n addresses word n of LDS, word 2 of its scratch, or word n of a buffer."""

    def __init__(self) -> None:
        self.memory = Memory(1 << 20)
        self.state = make_state(self.memory, lds_size=512)
        self.state.scratch_size = 16
        self.buffer = self.memory.allocate(520, label="data")
        rng = np.random.default_rng(2)
        self.lds = self.state.lds.reshape(-1)[:512]
        self.device = self.memory.bytes(self.buffer, 520)
        self.lds[:] = rng.integers(0, 256, 512)
        self.device[:] = rng.integers(0, 256, 520)
        self.state.scratch[:] = rng.integers(0, 2**32, self.state.scratch.shape, dtype=np.uint32)
        private = PRIVATE_BASE + np.full(64, 8)
        address = np.choose(KINDS, [SHARED_BASE + 4 * LANES, private, self.buffer + 4 * LANES])
        self.point_at(address)

    def point_at(self, addresses) -> None:
        self.state.write_vgpr64(0, np.asarray(addresses).astype(np.uint64).reshape(1, 64))

    def expected(self, offset: int, dtype) -> np.ndarray:
        """The value of `dtype` at `offset` bytes from each lane's address."""
        size = np.dtype(dtype).itemsize
        own = np.ascontiguousarray(self.state.scratch[:, 0].T).view(np.uint8)
        sources = [
            (self.lds[4 * lane :], own[lane, 8:], self.device[4 * lane :])[KINDS[lane]][offset : offset + size]
            for lane in LANES
        ]
        return np.array([source.tobytes() for source in sources]).view(dtype)


@pytest.fixture
def places() -> Places:
    return Places()


def values(state, register: int) -> np.ndarray:
    return lanes_of(state, register)[0]


def test_each_lane_loads_from_the_memory_it_means(places):
    expected = places.expected(0, np.uint32)
    run_code(places.state, LOAD)
    assert np.array_equal(values(places.state, 4), expected)


def test_two_words_and_a_byte_further_on(places):
    first, second = places.expected(0, np.uint32), places.expected(4, np.uint32)
    octet = places.expected(5, np.uint8)
    run_code(places.state, LOAD_X2)
    assert np.array_equal(values(places.state, 4), first)
    assert np.array_equal(values(places.state, 5), second)
    run_code(places.state, LOAD_BYTE)
    assert np.array_equal(values(places.state, 4), octet)


@pytest.mark.parametrize(("code", "dtype"), [(STORE, np.uint32), (STORE_BYTE, np.uint8)])
def test_each_active_lane_stores_where_it_means_to(places, code, dtype):
    before = places.expected(0, dtype)
    on = LANES % 5 != 0
    places.state.write_exec(on.reshape(1, -1))
    places.state.write_vgpr(2, (LANES * 0x01010101).astype(np.uint32).reshape(1, 64))
    run_code(places.state, code)
    stored = (LANES * 0x01010101).astype(dtype)
    assert np.array_equal(places.expected(0, dtype), np.where(on, stored, before))


def test_an_atomic_works_on_lds_and_device_memory(places):
    kinds = LANES % 2
    places.point_at(np.where(kinds, SHARED_BASE + 16, places.buffer + 32))
    places.lds.view(np.uint32)[4] = 7
    places.device.view(np.uint32)[8] = 1000
    places.state.write_vgpr(2, np.full((1, 1), 3, np.uint32))
    run_code(places.state, ADD)
    assert np.array_equal(values(places.state, 4), np.where(kinds, 7, 1000) + 3 * (LANES // 2))
    assert (places.lds.view(np.uint32)[4], places.device.view(np.uint32)[8]) == (7 + 96, 1000 + 96)


def test_an_atomic_on_private_memory_is_a_fault(places):
    places.state.write_vgpr(2, np.zeros((1, 1), np.uint32))
    with pytest.raises(DeviceFault) as raised:
        run_code(places.state, ADD)
    assert raised.value.description == "an atomic on private memory"
    assert raised.value.lane == 1


def test_lanes_that_all_mean_device_memory_are_checked_as_such(places):
    places.point_at(places.buffer + 4 * LANES + 4 * 70)
    with pytest.raises(DeviceFault) as raised:
        run_code(places.state, LOAD)
    assert raised.value.kind is FaultKind.ILLEGAL_ADDRESS
    assert raised.value.description == "0 bytes past the end of `data`, 520 bytes"
    assert raised.value.lane == 60


def test_afterwards_the_same_lanes_are_active_as_before(places):
    on = (LANES < 40).reshape(1, -1)
    places.state.write_exec(on)
    run_code(places.state, LOAD)
    assert np.array_equal(places.state.active, on)
    with pytest.raises(DeviceFault):
        run_code(places.state, ADD)
    assert np.array_equal(places.state.active, on)
