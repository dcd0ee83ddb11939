"""Every memory instruction that the corpus holds, under every kind of EXEC, against plain byte arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from support.lanes import lanes_of, make_state, run_code

from hipgraph_cb.virtual.memory import Memory

pytestmark = pytest.mark.usefixtures("each_way")

SENTINEL = 0x5EA5EA55
DATA, DESTINATION = 8, 8
ENDS = np.zeros((1, 64), np.bool_)
ENDS[0, [0, 63]] = True
EXEC = {
    "all": np.ones((1, 64), np.bool_),
    "first and last": ENDS,
    "some": np.random.default_rng(9).random((2, 64)) < 0.5,
    "none": np.zeros((1, 64), np.bool_),
}
WAVES, STRIDE = 2, 16  # a workgroup a wave; each lane has bytes of its own
LDS_BYTES = 64 * STRIDE + 256
# which 16 bytes a lane has: a permutation, so that neighbours are not side by side
PLACES = np.stack([np.random.default_rng(wave).permutation(64) for wave in range(WAVES)])


class Access(NamedTuple):
    """`spots`: bytes from the lane's place where each register's value is; `size` bytes each."""

    text: str
    code: str
    spots: tuple[int, ...]
    size: int = 4

    @property
    def mnemonic(self) -> str:
        return self.text.split()[0]


# Addresses are in v0 (a pair for global), the buffer's descriptor in s[4:7], data in v8 and up.
LOADS = [
    Access("global_load_dword v8, v[0:1], off", "008050dc00007f08", (0,)),
    Access("global_load_dwordx2 v[8:9], v[0:1], off", "008054dc00007f08", (0, 4)),
    Access("global_load_dwordx4 v[8:11], v[0:1], off", "00805cdc00007f08", (0, 4, 8, 12)),
    Access("global_load_ubyte v8, v[0:1], off offset:3", "038040dc00007f08", (3,), 1),
    Access("global_load_ushort v8, v[0:1], off offset:6", "068048dc00007f08", (6,), 2),
    Access("buffer_load_dword v8, v0, s[4:7], 0 offen", "001050e000080180", (0,)),
    Access("buffer_load_dwordx4 v[8:11], v0, s[4:7], 0 offen", "00105ce000080180", (0, 4, 8, 12)),
    Access("ds_read_b32 v8, v0", "00006cd800000008", (0,)),
    Access("ds_read_b64 v[8:9], v0", "0000ecd800000008", (0, 4)),
    Access("ds_read_u16 v8, v0 offset:2", "020078d800000008", (2,), 2),
    Access("ds_read2_b32 v[8:9], v0 offset0:3 offset1:1", "03016ed800000008", (12, 4)),
    Access("ds_read2_b64 v[8:11], v0 offset0:1 offset1:0", "0100eed800000008", (8, 12, 0, 4)),
    Access("ds_read2st64_b32 v[8:9], v0 offset0:0 offset1:1", "000170d800000008", (0, 256)),
]
STORES = [
    Access("global_store_byte v[0:1], v8, off offset:1", "018060dc00087f00", (1,), 1),
    Access("global_store_short v[0:1], v8, off offset:2", "028068dc00087f00", (2,), 2),
    Access("global_store_dword v[0:1], v8, off", "008070dc00087f00", (0,)),
    Access("global_store_dwordx2 v[0:1], v[8:9], off", "008074dc00087f00", (0, 4)),
    Access("global_store_dwordx3 v[0:1], v[8:10], off", "008078dc00087f00", (0, 4, 8)),
    Access("global_store_dwordx4 v[0:1], v[8:11], off", "00807cdc00087f00", (0, 4, 8, 12)),
    Access("buffer_store_dword v8, v0, s[4:7], 0 offen", "001070e000080180", (0,)),
    Access("buffer_store_dwordx4 v[8:11], v0, s[4:7], 0 offen", "00107ce000080180", (0, 4, 8, 12)),
    Access("ds_write_b32 v0, v8", "00001ad800080000", (0,)),
    Access("ds_write_b64 v0, v[8:9]", "00009ad800080000", (0, 4)),
    Access("ds_write_b128 v0, v[8:11]", "0000bed900080000", (0, 4, 8, 12)),
    Access("ds_write2_b32 v0, v8, v9 offset0:2 offset1:0", "02001cd800080900", (8, 0)),
    Access("ds_write2_b64 v0, v[8:9], v[10:11] offset0:1 offset1:0", "01009cd800080a00", (8, 12, 0, 4)),
]


class Scene:
    """Two waves with a block of bytes each, in device memory or LDS, and the addresses of the lanes' places."""

    def __init__(self, access: Access, exec_bits: np.ndarray) -> None:
        self.memory = Memory(1 << 20)
        self.state = make_state(self.memory, groups=WAVES, lds_size=LDS_BYTES)
        size = WAVES * LDS_BYTES
        self.base = self.memory.allocate(size)
        self.in_lds = access.mnemonic.startswith("ds_")
        self.bytes[:] = np.random.default_rng(4).integers(0, 256, self.bytes.shape, dtype=np.uint8)
        self.before = self.bytes.copy()
        own = PLACES * STRIDE
        blocks = np.arange(WAVES).reshape(-1, 1) * LDS_BYTES
        if access.mnemonic.startswith("global"):
            self.state.write_vgpr64(0, (self.base + blocks + own).astype(np.uint64))
        elif self.in_lds:
            self.state.write_vgpr(0, own.astype(np.uint32))
        else:
            self.state.write_vgpr(0, (blocks + own).astype(np.uint32))
            for index, word in enumerate((self.base & 0xFFFFFFFF, self.base >> 32, size, 0)):
                self.state.write_sgpr(4 + index, word)
        self.starts = blocks + own
        self.lanes = np.resize(exec_bits, (WAVES, 64))
        self.state.write_exec(self.lanes)

    @property
    def bytes(self) -> np.ndarray:
        """All bytes of both waves, as a view."""
        return self.state.lds.reshape(-1) if self.in_lds else self.memory.bytes(self.base, WAVES * LDS_BYTES)

    def number(self, wave: int, lane: int, spot: int, size: int) -> int:
        start = int(self.starts[wave, lane]) + spot
        return int.from_bytes(self.before[start : start + size].tobytes(), "little")

    def active(self) -> list[tuple[int, int]]:
        return [(int(wave), int(lane)) for wave, lane in np.argwhere(self.lanes)]


@pytest.mark.parametrize("exec_name", EXEC)
@pytest.mark.parametrize("access", LOADS, ids=[access.mnemonic for access in LOADS])
def test_loads_of_the_corpus_fill_the_lanes_that_are_on(access, exec_name):
    scene = Scene(access, np.ones((1, 64), np.bool_))
    for index in range(4):
        scene.state.write_vgpr(DESTINATION + index, np.full((1, 1), SENTINEL + index, np.uint32))
    scene.lanes = np.resize(EXEC[exec_name], (WAVES, 64))
    scene.state.write_exec(scene.lanes)
    run_code(scene.state, access.code)
    expected = np.full((4, WAVES, 64), SENTINEL, np.uint32) + np.arange(4, dtype=np.uint32).reshape(-1, 1, 1)
    for wave, lane in scene.active():
        for index, spot in enumerate(access.spots):
            expected[index, wave, lane] = scene.number(wave, lane, spot, access.size)
    for index in range(4):
        assert np.array_equal(lanes_of(scene.state, DESTINATION + index), expected[index])
    assert np.array_equal(scene.bytes, scene.before)


def data_words() -> np.ndarray:
    return np.random.default_rng(8).integers(0, 1 << 32, (4, WAVES, 64), dtype=np.uint32)


@pytest.mark.parametrize("exec_name", EXEC)
@pytest.mark.parametrize("access", STORES, ids=[access.mnemonic for access in STORES])
def test_stores_of_the_corpus_write_the_bytes_of_the_lanes_that_are_on(access, exec_name):
    scene = Scene(access, EXEC[exec_name])
    words = data_words()
    scene.state.write_exec(np.ones((1, 64), np.bool_))
    for index in range(4):
        scene.state.write_vgpr(DATA + index, words[index])
    scene.state.write_exec(scene.lanes)
    run_code(scene.state, access.code)
    expected = scene.before.copy()
    for wave, lane in scene.active():
        for index, spot in enumerate(access.spots):
            start = int(scene.starts[wave, lane]) + spot
            data = int(words[index, wave, lane]).to_bytes(4, "little")[: access.size]
            expected[start : start + access.size] = np.frombuffer(data, np.uint8)
    assert np.array_equal(scene.bytes, expected)


def swapped_where_equal(old: np.ndarray, new: np.ndarray, compare: np.ndarray) -> np.ndarray:
    return np.where(old == compare, new, old)


ATOMICS = [
    ("ds_add_u32 v0, v8", "000000d800080000", np.uint32, lambda old, a, b: old + a),
    ("global_atomic_add v12, v[0:1], v8, off sc0", "008009dd00087f0c", np.uint32, lambda old, a, b: old + a),
    ("global_atomic_add_f32 v[0:1], v8, off", "008034dd00087f00", np.float32, lambda old, a, b: old + a),
    (
        "global_atomic_cmpswap v12, v[0:1], v[8:9], off sc0",
        "008005dd00087f0c",
        np.uint32,
        swapped_where_equal,
    ),
]


@pytest.mark.parametrize("exec_name", EXEC)
@pytest.mark.parametrize(("text", "code", "dtype", "function"), ATOMICS, ids=[row[0].split()[0] for row in ATOMICS])
def test_atomics_of_the_corpus_change_the_cells_of_the_lanes_that_are_on(text, code, dtype, function, exec_name):
    scene = Scene(Access(text, code, (0,)), EXEC[exec_name])
    cells = scene.bytes.view(np.uint32)[scene.starts // 4].view(dtype)
    a, b = data_words()[:2]
    b[:, ::2] = cells.view(np.uint32)[:, ::2]
    scene.state.write_exec(np.ones((1, 64), np.bool_))
    scene.state.write_vgpr(DATA, a)
    scene.state.write_vgpr(DATA + 1, b)
    scene.state.write_vgpr(12, np.full((1, 1), SENTINEL, np.uint32))
    scene.state.write_exec(scene.lanes)
    run_code(scene.state, code)
    with np.errstate(all="ignore"):
        new = function(cells, a.view(dtype), b.view(dtype))
    expected = np.where(scene.lanes, new.view(np.uint32), cells.view(np.uint32))
    assert np.array_equal(scene.bytes.view(np.uint32)[scene.starts // 4], expected)
    returned = np.where(scene.lanes, cells.view(np.uint32), np.uint32(SENTINEL))
    assert np.array_equal(lanes_of(scene.state, 12), returned if "sc0" in text else np.full_like(returned, SENTINEL))


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("050502c008000000", 1),  # s_load_dword s20, s[10:11], 0x8
        ("050506c008000000", 2),  # s_load_dwordx2 s[20:21], s[10:11], 0x8
        ("05050ac008000000", 4),  # s_load_dwordx4 s[20:23], s[10:11], 0x8
        ("05050ec008000000", 8),  # s_load_dwordx8 s[20:27], s[10:11], 0x8
    ],
)
def test_scalar_loads_of_the_corpus(code, count):
    memory = Memory(1 << 20)
    values = np.random.default_rng(1).integers(0, 1 << 32, (3, 10), dtype=np.uint32)
    base = memory.allocate(values.nbytes)
    memory.bytes(base, values.nbytes)[:] = values.view(np.uint8).ravel()
    state = make_state(memory, groups=3)
    for place in (np.full((3, 1), 1), np.arange(3).reshape(-1, 1)):  # the same address, one a wave
        state.write_sgpr64(10, (base + 40 * place).astype(np.uint64))
        run_code(state, code)
        for index in range(count):
            found = np.broadcast_to(np.asarray(state.read_sgpr(20 + index)), (3, 1))
            assert np.array_equal(found[:, 0], values[place[:, 0], 2 + index])
