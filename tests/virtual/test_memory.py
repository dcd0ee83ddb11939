"""Allocation, quarantine and the check of every access."""

from __future__ import annotations

import ctypes
import itertools
from pathlib import Path

import numpy as np
import pytest

from hipgraph_cb.virtual import quarantine
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


def test_a_host_view_must_be_in_one_live_allocation(memory):
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


def resident(memory: Memory) -> int:
    """Bytes of the arena that are in physical memory."""
    text = Path("/proc/self/smaps").read_text()
    block = text[text.index(f"{memory.base:x}-") :]
    return next(int(line.split()[1]) << 10 for line in block.splitlines() if line.startswith("Rss:"))


def test_a_large_freed_range_gives_its_pages_back():
    memory = Memory(1 << 30)
    for _ in range(20):
        address = memory.allocate(32 << 20)
        memory.free(address)
    assert resident(memory) < 40 << 20


@pytest.mark.parametrize(
    ("size", "cycles"),
    [(1 << 20, 100), (20_000, 5000), (64, 40_000), pytest.param(1000, 10**6, marks=pytest.mark.long)],
)
def test_memory_stays_flat_however_often_ranges_are_freed(size, cycles):
    memory = Memory(1 << 30)
    kept = [memory.allocate(size) for _ in range(3)]
    for _ in range(cycles):
        memory.free(memory.allocate(size))
    assert resident(memory) < 48 << 20
    assert memory.allocations() == tuple(memory.find(address) for address in kept)


def test_the_last_freed_ranges_stay_poisoned_and_are_reported_by_name():
    memory = Memory(1 << 30)
    freed = [memory.allocate(3000, label=f"#{number}") for number in range(2000)]
    views = [memory.bytes(address, 3000) for address in freed]
    for address in freed:
        memory.free(address)
    assert all((view == 0xDD).all() for view in views[-500:])
    assert memory.describe(freed[-1] + 5) == "5 bytes into `#1999`, 3000 bytes, which was freed"
    assert "which was freed" not in memory.describe(freed[0] + 5)


@pytest.mark.parametrize("seed", range(2))
def test_live_and_sleeping_ranges_are_not_disturbed(seed, monkeypatch):
    """For any allocations, frees, sleeps, wakes and forgets, in an arena that is used up again and again."""
    monkeypatch.setattr(quarantine, "MOST_RANGES", 5)
    memory, random = Memory(512 << 10), np.random.default_rng(seed)
    live: dict[int, int] = {}
    asleep: dict[int, int] = {}
    for number in range(800):
        action = random.integers(5)
        if action < 2:
            size = int(random.choice([0, 1, 64, 4000, 4096, 30_000]))
            try:
                address = memory.allocate(size, alignment=int(random.choice([1, 256, 4096])))
            except OutOfMemory:
                continue
            live[address] = size
        elif action == 2 and live:
            address = int(random.choice(list(live)))
            size = live.pop(address)
            memory.free(address) if number % 2 else memory.put_to_sleep(address)
            asleep |= {} if number % 2 else {address: size}
            continue
        elif action > 2 and asleep:
            address = int(random.choice(list(asleep)))
            size = asleep.pop(address)
            if action == 3:
                memory.forget(address)
                continue
            memory.wake(address)
            live[address] = size
        else:
            continue
        mine = memory.bytes(address, size)
        assert (mine == 0xCD).all()
        mine[:] = address >> 6 & 0x7F
        for other, length in live.items():
            assert (memory.bytes(other, length) == other >> 6 & 0x7F).all()
        ranges = sorted((start, start + max(length, 1)) for start, length in [*live.items(), *asleep.items()])
        assert all(end + 256 <= start for (_, end), (start, _) in itertools.pairwise(ranges))
