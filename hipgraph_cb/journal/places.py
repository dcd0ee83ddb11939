"""Which memory of the program an address is in, by allocations: an address that is used again is in another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hipgraph_cb.abi.hip.enums import MemoryType
from hipgraph_cb.journal.notes import Memory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime

WORD = 8
_OF_THE_HOST = (MemoryType.HOST, MemoryType.MANAGED)


class NotKept(Exception):  # noqa: N818 - a reason, not an error of the program
    """Why a recording cannot keep what is done."""


class Region(NamedTuple):
    """An allocation, or memory that the program has registered.

    Attributes:
        owner: its identity.
        is_host: the program may write there without a call.
    """

    owner: object
    start: int
    size: int
    label: str
    is_host: bool

    @property
    def end(self) -> int:
        return self.start + self.size


class Place(NamedTuple):
    """Where in the memory of the recording an address is. `memory` is its number."""

    memory: int
    offset: int


class Places:
    """The memory that commands have used.

    Args:
        note: is given the note of each allocation, before the first command that uses it.
    """

    def __init__(self, runtime: HipRuntime, note: Callable[[Memory], None]) -> None:
        self._runtime = runtime
        self._note = note
        self._numbers: dict[int, tuple[int, Region]] = {}
        self._shadows: dict[int, NDArray[np.uint8]] = {}

    def region(self, address: int) -> Region | None:
        """The memory that holds an address; None where it is that of no allocation.

        Raises:
            NotKept: memory that HIP has, and that the program did not allocate.
        """
        allocations = self._runtime.allocations
        for registered in allocations.registered.values():
            for start in (registered.host, registered.device):
                if start <= address < start + registered.size:
                    return Region(registered, start, registered.size, "registered memory", True)
        found = allocations.find(address)
        if found is None:
            return None
        if not allocations.is_registered(found):
            where = self._runtime.memory.describe(address)
            if self._runtime.memory.may_be_reserved(address):
                raise NotKept(f"{where}: memory that hipMemMap has mapped, which may be at several addresses")
            raise NotKept(f"{where}: memory that no allocation has made, such as global variables")
        return Region(found, found.address, found.size, f"{found.kind.name.lower()} memory", found.kind in _OF_THE_HOST)

    def place(self, address: int, writes: int = 0) -> Place | None:
        """Where an address is; its memory is noted with what it holds unless the `writes` bytes from there on are all
        of it. An address at an end is that of the memory before it where no other begins there."""
        region = self.region(address)
        if region is None and address:
            region = self.region(address - 1)
        if region is None:
            return None
        known = self._numbers.get(id(region.owner))
        if known is None:
            known = self._add(region, is_overwritten=address == region.start and writes == region.size)
        return Place(known[0], address - region.start)

    def _add(self, region: Region, is_overwritten: bool) -> tuple[int, Region]:
        number = len(self._numbers)
        contents = None
        if not is_overwritten:
            contents = self.contents(region)
            self.refuse_addresses(contents, region.label)
        region = region._replace(label=f"{region.label} {number}")
        self._note(Memory(number, region.size, region.label, None if contents is None else contents.tobytes()))
        if region.is_host:
            self._shadows[number] = self.contents(region).copy()
        known = self._numbers[id(region.owner)] = number, region
        return known

    def contents(self, region: Region) -> NDArray[np.uint8]:
        """What the memory holds now."""
        return self._runtime.allocations.view(region.start, region.size)

    def changed_by_the_program(self, number: int) -> tuple[int, bytes] | None:
        """What the program has written into memory of the host since `remember`: the first byte, and the bytes up to
        the last one that differs."""
        before = self._shadows.get(number)
        if before is None:
            return None
        now = self.contents(self._of(number))
        differing = np.flatnonzero(now != before)
        if not len(differing):
            return None
        first, last = int(differing[0]), int(differing[-1])
        self.refuse_addresses(now, self._of(number).label)
        return first, now[first : last + 1].tobytes()

    def remember(self, number: int) -> None:
        """A command has changed memory: what differs from now on, the program has written."""
        if number in self._shadows:
            self._shadows[number] = self.contents(self._of(number)).copy()

    def living(self) -> list[tuple[int, Region]]:
        """Numbers and memory of what has not been freed."""
        allocations = self._runtime.allocations
        alive = {*map(id, allocations.registered.values())}
        return [
            (number, region)
            for number, region in self._numbers.values()
            if id(region.owner) in alive or allocations.find(region.start) is region.owner
        ]

    def _of(self, number: int) -> Region:
        return next(region for each, region in self._numbers.values() if each == number)

    def refuse_addresses(self, data: NDArray[np.uint8], holder: str) -> None:
        """Refuse bytes in which an address of an allocation stands: a replay would find other memory there."""
        if len(data) < WORD:
            return
        memory = self._runtime.memory
        words = data[: len(data) // WORD * WORD]
        if words.ctypes.data % WORD:
            words = words.copy()
        values = words.view(np.uint64)
        inside = np.flatnonzero((values >= memory.base) & (values < memory.end))
        for index in inside:
            address = int(values[index])
            if self._runtime.allocations.find(address) is not None:
                raise NotKept(
                    f"{holder} holds the address {address:#x} at byte {int(index) * WORD}: {memory.describe(address)}"
                )
