"""Reserved ranges, and memory without an address that is mapped into them."""

from __future__ import annotations

import os

import numpy as np
import pytest

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.virtual.memory import PAGE, Memory, MemoryFault
from hipgraph_cb.virtual.physical_memory import PhysicalMemory, identity_of


@pytest.fixture
def memory() -> Memory:
    return Memory(1 << 20, 1 << 24)


@pytest.fixture
def pages():
    """Two pages without an address, whose bytes are 0xCD."""
    made = PhysicalMemory.create(2 * PAGE, 0xCD, 1 << 20)
    yield made
    made.close()


def mapped(memory, reservation, place, pages, count=1, offset=0):
    mapping = memory.reservations.map(reservation, reservation.address + place * PAGE, count * PAGE, pages, offset)
    mapping.is_accessible = True
    memory.reservations.renew(reservation)
    return mapping


def test_a_reserved_range_is_apart_from_allocations_and_has_the_address_that_is_wanted_if_it_is_free(memory):
    first = memory.reservations.reserve(4 * PAGE, 1 << 20)
    assert first.address % (1 << 20) == 0
    assert first.address > memory.base + memory.capacity
    wanted = first.address + (1 << 20)
    assert memory.reservations.reserve(PAGE, PAGE, wanted).address == wanted
    assert memory.reservations.reserve(PAGE, PAGE, wanted).address != wanted
    assert memory.reservations.reserve(1 << 30, PAGE) is None


def test_where_the_address_space_is_limited_nothing_can_be_reserved_and_allocations_can_be_made():
    memory = Memory(1 << 20, 1 << 60)
    assert memory.end == memory.base + memory.capacity
    assert memory.reservations.reserve(PAGE, PAGE) is None
    assert memory.bytes(memory.allocate(64), 64).shape == (64,)


def test_memory_that_is_mapped_twice_has_the_same_bytes_at_both_addresses(memory, pages):
    reservation = memory.reservations.reserve(8 * PAGE, PAGE)
    mapped(memory, reservation, 0, pages, 2)
    mapped(memory, reservation, 4, pages, 2)
    mapped(memory, reservation, 7, pages, 1, PAGE)
    start = reservation.address
    assert (memory.bytes(start, 2 * PAGE) == 0xCD).all()
    memory.bytes(start + PAGE, 4)[:] = [1, 2, 3, 4]
    assert memory.bytes(start + 5 * PAGE, 4).tolist() == [1, 2, 3, 4]
    assert memory.bytes(start + 7 * PAGE, 4).tolist() == [1, 2, 3, 4]


def test_mapped_ranges_without_a_gap_are_one_live_range(memory, pages):
    reservation = memory.reservations.reserve(4 * PAGE, PAGE)
    first = mapped(memory, reservation, 0, pages)
    start, across = reservation.address, np.array([reservation.address + PAGE - 4], np.int64)
    assert memory.check(across, 8).all()
    mapped(memory, reservation, 1, pages)
    assert memory.check(across, 8) is None
    assert memory.bytes(start + 8, 2 * PAGE - 8).shape == (2 * PAGE - 8,)
    memory.reservations.unmap(reservation, [first])
    assert memory.check(np.array([start, start + PAGE], np.int64), 8).tolist() == [True, False]
    with pytest.raises(MemoryFault):
        memory.bytes(start + PAGE - 4, 8)


def test_memory_keeps_its_bytes_when_it_is_mapped_elsewhere(memory, pages):
    reservation = memory.reservations.reserve(4 * PAGE, PAGE)
    mapping = mapped(memory, reservation, 0, pages)
    view = memory.bytes(reservation.address, 3)
    view[:] = [7, 8, 9]
    memory.reservations.unmap(reservation, [mapping])
    assert view.tolist() == [0xDD] * 3
    mapped(memory, reservation, 2, pages)
    assert memory.bytes(reservation.address + 2 * PAGE, 3).tolist() == [7, 8, 9]


def test_an_address_says_what_it_is(memory, pages):
    reservation = memory.reservations.reserve(4 * PAGE, PAGE)
    start, name = reservation.address, "`reserved memory #0`, 16384 bytes"
    assert memory.describe(start + 8) == f"8 bytes into {name}, where nothing is mapped"
    mapping = mapped(memory, reservation, 0, pages)
    assert memory.describe(start + 4090, 8) == (
        "4090 bytes into `mapped part of reserved memory #0`, 4096 bytes: 2 of 8 bytes past its end"
    )
    mapping.is_accessible = False
    memory.reservations.renew(reservation)
    assert memory.describe(start + 8) == f"8 bytes into {name}, where access was not given"
    memory.reservations.unmap(reservation, [mapping])
    memory.reservations.release(reservation)
    assert memory.describe(start + 8) == f"8 bytes into {name}, which was freed"


def test_released_addresses_are_reserved_again_when_there_are_no_others(memory):
    size = 15 << 20
    for _ in range(5):
        reservation = memory.reservations.reserve(size, PAGE)
        assert memory.describe(reservation.address).endswith("where nothing is mapped")
        memory.reservations.release(reservation)


def test_an_exported_file_is_the_same_memory(pages):
    descriptor = pages.exported()
    assert identity_of(descriptor) == pages.identity
    again = PhysicalMemory.imported(descriptor)
    assert (again.size, again.identity) == (pages.size, pages.identity)
    with pytest.raises(OSError, match="not permitted"):
        os.ftruncate(descriptor, 0)
    os.close(descriptor)
    again.close()


def test_a_file_that_may_shrink_is_not_taken_for_memory(tmp_path):
    with (tmp_path / "file").open("w+b") as file, pytest.raises(InvalidArgumentError) as caught:
        PhysicalMemory.imported(file.fileno())
    assert str(caught.value).startswith("this is not memory of a virtual GPU")
    for descriptor in (-1, 999_999):
        assert identity_of(descriptor) is None
        with pytest.raises(InvalidArgumentError):
            PhysicalMemory.imported(descriptor)


@pytest.mark.parametrize("seed", range(4))
def test_random_mappings_hold_what_was_written_and_nothing_else_is_live(seed):
    """Compared page by page with a list of what each page should be: memory without an address, or nothing."""
    memory, random = Memory(1 << 16, 1 << 20), np.random.default_rng(seed)
    pool = [PhysicalMemory.create(3 * PAGE, 0, 1 << 20) for _ in range(3)]
    contents = np.zeros((3, 3), np.uint8)  # the first byte of each page of each of them
    reservation = memory.reservations.reserve(16 * PAGE, PAGE)
    pages: list[tuple[int, int] | None] = [None] * 16
    for _ in range(150):
        place, size, index = int(random.integers(16)), int(random.integers(1, 4)), int(random.integers(3))
        mapping, offset = reservation.mappings.get(reservation.address + place * PAGE), int(random.integers(4 - size))
        if mapping is not None and random.random() < 0.6:
            memory.reservations.unmap(reservation, [mapping])
            pages[place : place + mapping.size // PAGE] = [None] * (mapping.size // PAGE)
        elif place + size <= 16 and reservation.is_free(reservation.address + place * PAGE, size * PAGE):
            mapped(memory, reservation, place, pool[index], size, offset * PAGE)
            pages[place : place + size] = [(index, offset + step) for step in range(size)]
        if pages[place] is not None:
            contents[pages[place]] = random.integers(256)
            memory.bytes(reservation.address + place * PAGE, 1)[0] = contents[pages[place]]
        starts = reservation.address + PAGE * np.arange(16, dtype=np.int64)
        is_live = np.array([page is not None for page in pages])
        faulty = memory.check(starts, 1)
        assert (is_live if faulty is None else ~faulty).tolist() == is_live.tolist()
        across = memory.check(starts[:-1] + PAGE - 4, 8)
        both = is_live[:-1] & is_live[1:]
        assert (np.ones(15, np.bool_) if across is None else ~across).tolist() == both.tolist()
        for start, page in zip(starts.tolist(), pages, strict=True):
            assert page is None or memory.bytes(start, 1)[0] == contents[page]
    for physical in pool:
        physical.close()
