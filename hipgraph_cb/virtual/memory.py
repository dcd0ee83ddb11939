"""The memory of a virtual GPU: one arena of this process, whose device pointers are real host addresses.

The arena is mapped without being reserved, so its capacity costs address space only. Fresh allocations are filled with
0xCD, freed ones with 0xDD, and a freed range is reused as late as possible: a program that reads what it never
wrote, or what it has freed, looks wrong. The poison of the last freed ranges stays, the pages of older ones are
released. Every access is checked against the *requested* size of a live allocation, with unused bytes between two.
"""

from __future__ import annotations

import bisect
import ctypes
import mmap
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hipgraph_cb.errors import InvalidArgumentError, OutOfRangeError, ResourceExhaustedError
from hipgraph_cb.virtual.address_space import AddressSpace
from hipgraph_cb.virtual.quarantine import POISON_LIMIT, Quarantine
from hipgraph_cb.virtual.reservations import Reservations

if TYPE_CHECKING:
    from numpy.typing import NDArray

FRESH = 0xCD
POISON = 0xDD
PAGE = 4096
# An allocation larger than this is filled at both ends only: touching every page would make it resident.
FILL_LIMIT = 512 << 20
_MAP_NORESERVE = 0x4000  # the mmap module has the name only since Python 3.13


class OutOfMemory(ResourceExhaustedError):  # noqa: N818
    """The arena has no free range of the requested size."""


class InvalidFree(InvalidArgumentError):  # noqa: N818
    """`free` got an address that is not the start of a live allocation."""


class MemoryFault(OutOfRangeError):  # noqa: N818
    """A host-side access that is not in one live allocation; `.address` and `.size` say which."""

    def __init__(self, address: int, size: int, description: str) -> None:
        super().__init__(
            f"{size} bytes at {address:#x} are not inside one live device allocation",
            found=description,
            allowed="a range inside one allocation that has not been freed",
        )
        self.address = address
        self.size = size


@dataclass(frozen=True)
class Allocation:
    """A live or freed range: `size` bytes at `address`, exactly as they were requested."""

    address: int
    size: int
    label: str

    @property
    def end(self) -> int:
        return self.address + self.size

    def __str__(self) -> str:
        name = f"`{self.label}`" if self.label else f"the allocation at {self.address:#x}"
        return f"{name}, {self.size} bytes"


class _Table:
    """An immutable picture of the live allocations; kernels on a worker thread read it without a lock."""

    __slots__ = ("_end_list", "_start_list", "ends", "last", "starts")

    def __init__(self, starts: list[int], allocations: dict[int, Allocation]) -> None:
        self._start_list = list(starts)
        self._end_list = [allocations[start].end for start in starts]
        self.starts: NDArray[np.int64] = np.array(starts, np.int64)
        self.ends: NDArray[np.int64] = np.array(self._end_list, np.int64)
        self.last = (0, 0)  # start and end of the range the previous check hit

    def holds(self, low: int, high: int) -> bool:
        """Whether one allocation holds the bytes from `low` up to (not including) `high`."""
        start, end = self.last
        if start <= low and high <= end:
            return True
        index = bisect.bisect_right(self._start_list, low) - 1
        if index < 0 or high > self._end_list[index]:
            return False
        self.last = (self._start_list[index], self._end_list[index])
        return True

    def faulty(self, addresses: NDArray[np.int64], size: int) -> NDArray[np.bool_] | None:
        if self.holds(int(addresses.min()), int(addresses.max()) + size):
            return None
        return self._faulty_exactly(addresses, size)

    def _faulty_exactly(self, addresses: NDArray[np.int64], size: int) -> NDArray[np.bool_] | None:
        if not len(self.starts):
            return np.ones(addresses.shape, np.bool_)
        index = self.starts.searchsorted(addresses, "right") - 1
        # Compared, never added to: a kernel chooses the addresses, and `addresses + size` may wrap around.
        faulty = (index < 0) | (addresses > self.ends[np.maximum(index, 0)] - size)
        return faulty if faulty.any() else None


def _arena(capacity: int, reservable: int) -> mmap.mmap:
    """Pages for allocations, and for ranges to be reserved where the process may have so much address space."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
    with suppress(OSError, OverflowError):  # a limit of the address space: ulimit -v
        return mmap.mmap(-1, capacity + reservable, flags=flags)
    try:
        return mmap.mmap(-1, capacity, flags=flags)
    except (OSError, OverflowError) as error:
        raise ResourceExhaustedError(
            "the memory of a virtual GPU cannot be mapped",
            found=f"{capacity} bytes: {error}",
            next_step="ask for less: HIPGRAPH_CB_VIRTUAL_MEMORY=4G, or VirtualSettings(memory=...)",
        ) from error


class Memory:
    """The arena of one virtual device.

    Attributes:
        base: address of its first byte.
        capacity: bytes for allocations, a multiple of the page size.
        end: address behind its last byte.
        reservations: the part behind the allocations, of `reservable` bytes, where ranges may be reserved and mapped.
        u8, u16, u32, u64: the whole arena as numpy arrays; element 0 is at `base`.
    """

    def __init__(self, capacity: int, reservable: int = 0) -> None:
        self.capacity = -(-capacity // PAGE) * PAGE
        self._map = _arena(self.capacity, -(-reservable // PAGE) * PAGE)
        self.u8: NDArray[np.uint8] = np.frombuffer(self._map, np.uint8)
        self.u16: NDArray[np.uint16] = self.u8.view(np.uint16)
        self.u32: NDArray[np.uint32] = self.u8.view(np.uint32)
        self.u64: NDArray[np.uint64] = self.u8.view(np.uint64)
        self.base: int = self.u8.ctypes.data
        self.end = self.base + len(self._map)
        self._lock = threading.RLock()
        self._live: dict[int, Allocation] = {}
        self._starts: list[int] = []
        self._asleep: dict[int, Allocation] = {}
        self._space = AddressSpace(self.base, self.base + self.capacity)
        self.reservations = Reservations(self, self.base + self.capacity, self.end)
        self._quarantine = Quarantine()
        self._table: _Table | None = None

    def keep_mapped(self) -> None:
        """Leave the arena mapped until the process is gone: C code may read signals after the interpreter has ended."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._map))

    def is_inside(self, address: int) -> bool:
        """Whether the arena holds the byte at `address`, live or not."""
        return self.base <= address < self.end

    def may_be_reserved(self, address: int) -> bool:
        """Whether the byte at `address` is in the part of the reservations."""
        return self.base + self.capacity <= address < self.end

    @property
    def live_bytes(self) -> int:
        """The sum of the sizes of all live allocations."""
        with self._lock:
            return sum(allocation.size for allocation in self._live.values())

    def allocate(self, size: int, *, alignment: int = 256, label: str = "") -> int:
        """Return the address of `size` fresh bytes (at least one), a multiple of `alignment` (a power of two).

        Raises:
            OutOfMemory: no free range is large enough.
        """
        if size < 0 or alignment < 1 or alignment & (alignment - 1):
            raise InvalidArgumentError("an allocation needs a size >= 0 and a power of two as alignment")
        with self._lock:
            address = self._space.take(max(size, 1), alignment)
            if address is None:
                raise OutOfMemory(
                    f"device memory has no free range of {size} bytes",
                    found=f"{self.live_bytes} of {self.capacity} bytes in use",
                    next_step="free buffers, or use a larger virtual device",
                )
            self._quarantine.remove_overlapping(address, address + max(size, 1))
            self._begin(Allocation(address, size, label))
        self._fill(address, size, FRESH)
        return address

    def free(self, address: int) -> None:
        """End the life of the allocation that starts at `address`; its bytes are poisoned and not reused for long.

        Raises:
            InvalidFree: no live allocation starts there.
        """
        with self._lock:
            self._release(self._end(address))

    def put_to_sleep(self, address: int) -> None:
        """Like `free`, but the range is not reused until it is forgotten, and it can be woken."""
        with self._lock:
            self._asleep[address] = self._end(address)

    def wake(self, address: int) -> None:
        """Make a sleeping range live again, with fresh bytes."""
        with self._lock:
            allocation = self._asleep.pop(address)
            self._begin(allocation)
        self._fill(address, allocation.size, FRESH)

    def forget(self, address: int) -> None:
        """Let a sleeping range be reused."""
        with self._lock:
            self._release(self._asleep.pop(address))

    def _begin(self, allocation: Allocation) -> None:
        self._live[allocation.address] = allocation
        bisect.insort(self._starts, allocation.address)
        self._table = None

    def _end(self, address: int) -> Allocation:
        """Take a live allocation out of those that kernels may access, and poison it."""
        allocation = self._take_out(address)
        self.poison(address, allocation.size)
        return allocation

    def poison(self, address: int, size: int) -> None:
        """Fill bytes that are not live any more, or release their pages where they are many."""
        if size <= POISON_LIMIT:
            self._fill(address, size, POISON)
        else:
            self._give_pages_back(address, address + size)

    def _take_out(self, address: int) -> Allocation:
        allocation = self._live.pop(address, None)
        if allocation is None:
            raise InvalidFree(
                f"no live allocation starts at {address:#x}",
                found=self.describe(address),
                allowed="an address that `allocate` returned and that was not freed since",
            )
        del self._starts[bisect.bisect_left(self._starts, address)]
        self._table = None
        return allocation

    # -- of the reservations -------------------------------------------------------------------------------------------

    def change_lives(self, ended: Iterable[int], begun: Iterable[tuple[int, int, str]]) -> None:
        """Replace live ranges, by their addresses, by others: address, size and label. Their bytes stay as they are.

        A kernel that runs meanwhile sees the ranges before or those after, never none.
        """
        with self._lock:
            for address in ended:
                self._take_out(address)
            for address, size, label in begun:
                self._begin(Allocation(address, size, label))

    def remember_freed(self, address: int, size: int, label: str) -> None:
        """A fault there names the range, for some time."""
        with self._lock:
            self._retire(Allocation(address, size, label))

    def forget_freed(self, address: int, size: int) -> None:
        """These bytes are used again."""
        with self._lock:
            self._quarantine.remove_overlapping(address, address + size)

    def _release(self, allocation: Allocation) -> None:
        """Put a range into quarantine, out of which the oldest ones go."""
        self._space.release(allocation.address)
        self._retire(allocation)

    def _retire(self, allocation: Allocation) -> None:
        self._quarantine.add(allocation)
        while (oldest := self._quarantine.oldest_beyond_room()) is not None:
            first, last = self._space.gap(oldest.address)
            before, after = self._quarantine.neighbours(oldest.address)
            first = first if before is None else max(first, before.end)
            last = last if after is None else min(last, after.address)
            # The pages that the range touches, unless a neighbour touches them too.
            self._give_pages_back(max(first, oldest.address // PAGE * PAGE), min(last, -(-oldest.end // PAGE) * PAGE))

    def find(self, address: int) -> Allocation | None:
        """The live allocation that holds the byte at `address`."""
        with self._lock:
            index = bisect.bisect_right(self._starts, address) - 1
            if index < 0:
                return None
            allocation = self._live[self._starts[index]]
        return allocation if address < allocation.end else None

    def allocations(self) -> tuple[Allocation, ...]:
        """All live allocations in address order."""
        with self._lock:
            return tuple(self._live[start] for start in self._starts)

    def bytes(self, address: int, size: int) -> NDArray[np.uint8]:
        """A writable view of `size` bytes.

        Raises:
            MemoryFault: they are not in one live allocation.
        """
        allocation = self.find(address)
        if size == 0 and (allocation is not None or address in (found.end for found in self.allocations())):
            return self.u8[:0]
        if allocation is None or size < 0 or address + size > allocation.end:
            raise MemoryFault(address, size, self.describe(address, size))
        offset = address - self.base
        return self.u8[offset : offset + size]

    def check(self, addresses: NDArray[np.int64], size: int) -> NDArray[np.bool_] | None:
        """Which of the accesses of `size` bytes at `addresses` (any shape, not empty) leave live memory.

        Returns None when all are sound. One range is compared first; the search per address runs only when
        that fails.
        """
        return (self._table or self._new_table()).faulty(addresses, size)

    def holds(self, low: int, high: int) -> bool:
        """Whether one live allocation holds all bytes from address `low` up to (not including) `high`."""
        return (self._table or self._new_table()).holds(low, high)

    def range_at(self, address: int) -> tuple[int, int]:
        """Start and end of the live allocation that holds `address`; of the one met last when none does."""
        table = self._table or self._new_table()
        table.holds(address, address + 1)
        return table.last

    def _new_table(self) -> _Table:
        with self._lock:
            table = self._table = _Table(self._starts, self._live)
        return table

    def describe(self, address: int, size: int = 1) -> str:
        """The place of `address` relative to the nearest allocation, live or freed, as text."""
        if 0 <= address < PAGE:
            return f"{address} bytes after the null pointer" if address else "the null pointer"
        with self._lock:
            allocation = self.find(address)
            if allocation is not None:
                return _inside(address, size, allocation)
            asleep = (each for each in self._asleep.values() if each.address <= address < each.end)
            freed = self._quarantine.find(address) or next(asleep, None)
            if freed is not None:
                return f"{address - freed.address} bytes into {freed}, which was freed"
            return self.reservations.describe(address) or self._nearest(address)

    def _nearest(self, address: int) -> str:
        if not self.is_inside(address):
            return "outside device memory"
        if not self._starts:
            return "device memory holds no allocation"
        index = bisect.bisect_right(self._starts, address) - 1
        before = self._live[self._starts[index]] if index >= 0 else None
        after = self._live[self._starts[index + 1]] if index + 1 < len(self._starts) else None
        if before is not None and (after is None or address - before.end <= after.address - address):
            return f"{address - before.end} bytes past the end of {before}"
        return f"{after.address - address} bytes before {after}" if after else "outside device memory"

    def _fill(self, address: int, size: int, value: int) -> None:
        offset = address - self.base
        if size <= FILL_LIMIT:
            self.u8[offset : offset + size] = value
            return
        self.u8[offset : offset + FILL_LIMIT // 2] = value
        self.u8[offset + size - FILL_LIMIT // 2 : offset + size] = value

    def _give_pages_back(self, first: int, end: int) -> None:
        """Release the pages that are wholly within these bytes."""
        start = -(-(first - self.base) // PAGE) * PAGE
        length = (end - self.base) // PAGE * PAGE - start
        if length > 0:
            self._map.madvise(mmap.MADV_DONTNEED, start, length)


def _inside(address: int, size: int, allocation: Allocation) -> str:
    offset = address - allocation.address
    if address + size <= allocation.end:
        return f"{offset} bytes into {allocation}"
    return f"{offset} bytes into {allocation}: {address + size - allocation.end} of {size} bytes past its end"
