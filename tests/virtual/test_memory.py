"""Allocation, quarantine and the check of every access."""

from __future__ import annotations

import ctypes
import itertools
from pathlib import Path

import numpy as np
import pytest

from hipgraph_cb.virtual.memory import InvalidFree, Memory, MemoryFault, OutOfMemory


@pytest.fixture
def memory() -> Memory:
    return Memory(1 << 20)


def addresses(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def test_a_terabyte_of_capacity_costs_nothing():
    memory = Memory(1 << 40)
    assert memory.capacity == 1 << 40


def test_addresses_are_real_and_aligned(memory):
    for alignment in (1, 256, 4096):
        address = memory.allocate(100, alignment=alignment)
        assert address % alignment == 0
        memory.bytes(address, 4)[:] = [1, 2, 3, 4]
        assert ctypes.string_at(address, 4) == b"\x01\x02\x03\x04"


def test_fresh_memory_is_filled_with_cd_and_freed_memory_with_dd(memory):
    address = memory.allocate(300)
    view = memory.bytes(address, 300)
    assert (view == 0xCD).all()
    memory.free(address)
    assert (view == 0xDD).all()


def test_a_freed_range_is_not_reused_while_there_is_space(memory):
    first = memory.allocate(1000)
    memory.free(first)
    assert all(memory.allocate(1000) != first for _ in range(100))


def test_a_freed_range_is_reused_when_space_runs_out_and_is_fresh_again():
    memory = Memory(64 << 10)
    seen = set()
    for _ in range(1000):
        address = memory.allocate(10_000)
        assert (memory.bytes(address, 10_000) == 0xCD).all()
        seen.add(address)
        memory.free(address)
    assert len(seen) < 1000


def test_live_allocations_never_overlap_and_keep_a_guard():
    memory = Memory(64 << 10)
    random = np.random.default_rng(1)
    live = []
    for _ in range(500):
        if live and random.random() < 0.5:
            memory.free(live.pop(int(random.integers(len(live)))))
            continue
        try:
            live.append(memory.allocate(int(random.integers(1, 9000))))
        except OutOfMemory:
            continue
        ranges = [(found.address, found.end) for found in memory.allocations()]
        assert all(end + 256 <= start for (_, end), (start, _) in itertools.pairwise(ranges))


def test_running_out_says_how_much_is_in_use():
    memory = Memory(1 << 16)
    memory.allocate(30_000)
    with pytest.raises(OutOfMemory) as caught:
        memory.allocate(40_000)
    assert str(caught.value) == (
        "device memory has no free range of 40000 bytes\n"
        "  found: 30000 of 65536 bytes in use\n"
        "  next: free buffers, or use a larger virtual device"
    )


def test_freeing_twice_or_the_middle_is_refused(memory):
    address = memory.allocate(64, label="x")
    with pytest.raises(InvalidFree) as caught:
        memory.free(address + 4)
    assert caught.value.found == "4 bytes into `x`, 64 bytes"
    memory.free(address)
    with pytest.raises(InvalidFree) as caught:
        memory.free(address)
    assert caught.value.found == "0 bytes into `x`, 64 bytes, which was freed"


def test_a_host_view_must_lie_in_one_live_allocation(memory):
    address = memory.allocate(100, label="y")
    memory.allocate(100, label="z")
    assert memory.bytes(address + 99, 1).size == 1
    with pytest.raises(MemoryFault) as caught:
        memory.bytes(address + 90, 20)
    assert caught.value.found == "90 bytes into `y`, 100 bytes: 10 of 20 bytes past its end"
    memory.free(address)
    with pytest.raises(MemoryFault):
        memory.bytes(address, 1)


def test_describe_names_the_nearest_allocation(memory):
    first = memory.allocate(4096, label="y")
    second = memory.allocate(16)
    assert memory.describe(first + 4096 + 48) == "48 bytes past the end of `y`, 4096 bytes"
    assert memory.describe(second - 8) == f"8 bytes before the allocation at {second:#x}, 16 bytes"
    assert memory.describe(0) == "the null pointer"
    assert memory.describe(16) == "16 bytes after the null pointer"
    assert memory.describe(1 << 60) == "outside device memory"
    memory.free(first)
    assert memory.describe(first + 8) == "8 bytes into `y`, 4096 bytes, which was freed"


def test_the_check_is_against_the_requested_size(memory):
    address = memory.allocate(10)
    assert memory.check(addresses(address, address + 6), 4) is None
    assert memory.check(addresses(address, address + 7), 4).tolist() == [False, True]
    assert memory.check(addresses(address - 1), 1).tolist() == [True]


def test_the_check_finds_each_address_among_many_allocations(memory):
    sizes = [16, 300, 4096, 1, 77]
    starts = [memory.allocate(size) for size in sizes]
    memory.free(starts[2])
    probe, expected = [], []
    for start, size in zip(starts, sizes, strict=True):
        for offset in (-1, 0, size - 1, size):
            probe.append(start + offset)
            expected.append(not (0 <= offset < size) or start == starts[2])
    assert memory.check(np.array(probe, np.int64).reshape(4, 5), 1).ravel().tolist() == expected


def test_the_check_sees_a_free_at_once(memory):
    address = memory.allocate(64)
    assert memory.check(addresses(address), 4) is None
    memory.free(address)
    assert memory.check(addresses(address), 4).tolist() == [True]


def test_a_large_freed_range_gives_its_pages_back():
    memory = Memory(1 << 30)
    for _ in range(20):
        address = memory.allocate(32 << 20)
        memory.free(address)
    text = Path("/proc/self/smaps").read_text()
    block = text[text.index(f"{memory.base:x}-") :]
    resident = next(int(line.split()[1]) for line in block.splitlines() if line.startswith("Rss:"))
    assert resident < 40 << 10
