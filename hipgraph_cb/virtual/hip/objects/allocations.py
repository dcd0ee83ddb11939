"""Whose memory an address is: device, pinned host, managed, registered, or the caller's own."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import MemoryType
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.memory import Memory, OutOfMemory
from hipgraph_cb.virtual.virtual_memory import Refusals, VirtualMemory

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class DeviceAllocation:
    """A range that HIP knows: `size` bytes at `address`, made on device `ordinal`, from `pool` or, 0, none.

    Attributes:
        reach: end of the addresses that a call takes, where that is not the end of the range: the device checks the
            others.
    """

    address: int
    size: int
    kind: MemoryType
    ordinal: int
    flags: int = 0
    pool: int = 0
    reach: int = 0

    @property
    def end(self) -> int:
        return self.reach or self.address + self.size


class CreatedMemory(NamedTuple):
    """Whose memory without an address is. `properties`: a hipMemAllocationProp."""

    kind: MemoryType
    ordinal: int
    properties: bytes


_REFUSALS = Refusals(
    unknown=Code.INVALID_VALUE,
    invalid=Code.INVALID_VALUE,
    other_size=Code.UNKNOWN,
    in_use=Code.UNKNOWN,
    no_room=Code.OUT_OF_MEMORY,
    foreign=Code.INVALID_VALUE,
)


@dataclass(frozen=True)
class RegisteredMemory:
    """Memory of the host program that hipHostRegister made known.

    Kernels reach it by its device pointer, which leads to a copy in device memory. The copy is made when a kernel
    starts, and what the kernel has changed goes back when it ends.
    """

    host: int
    size: int
    flags: int
    device: int

    def enter(self, memory: Memory) -> NDArray[np.uint8]:
        """Bring the copy up to date; returns the bytes as they are."""
        now = np.frombuffer(ctypes.string_at(self.host, self.size), np.uint8)
        memory.bytes(self.device, self.size)[:] = now
        return now

    def leave(self, memory: Memory, before: NDArray[np.uint8]) -> None:
        """Take over what has changed in the copy since `enter`."""
        after = memory.bytes(self.device, self.size)
        changed = np.flatnonzero(after != before)
        if len(changed):
            _host_view(self.host, self.size)[changed] = after[changed]


def _host_view(address: int, size: int) -> NDArray[np.uint8]:
    view: NDArray[np.uint8] = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))
    return view


@dataclass
class Allocations:
    """The allocations of all devices; they share one arena, so every device can reach every range.

    Attributes:
        used: bytes in use by device ordinal.
        pool_used, pool_high: bytes in use of memory pools, now and at most, by their handles.
        registered: host memory of the program that it made known, by its address.
        virtual: reserved ranges, memory without an address, and what is mapped.
    """

    memory: Memory
    limit: int
    virtual: VirtualMemory[CreatedMemory] = field(init=False)
    used: dict[int, int] = field(default_factory=dict)
    pool_used: dict[int, int] = field(default_factory=dict)
    pool_high: dict[int, int] = field(default_factory=dict)
    registered: dict[int, RegisteredMemory] = field(default_factory=dict)
    _known: dict[int, DeviceAllocation] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _dormant: dict[int, DeviceAllocation] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.virtual = VirtualMemory(self.memory, _REFUSALS)

    def in_use(self, ordinal: int) -> int:
        """The bytes of a device that are in use."""
        created = (
            known.physical.size
            for known in self.virtual.handles()
            if known.owner.ordinal == ordinal and known.owner.kind is MemoryType.DEVICE
        )
        return self.used.get(ordinal, 0) + sum(created)

    def check_room(self, size: int, ordinal: int) -> None:
        used = self.in_use(ordinal)
        if used + size > self.limit:
            raise CallError(Code.OUT_OF_MEMORY, f"{used} of {self.limit} bytes are in use, {size} were asked for")

    def allocate(self, size: int, kind: MemoryType, ordinal: int, flags: int = 0, pool: int = 0) -> int:
        """The address of `size` fresh bytes; hipErrorOutOfMemory where the device has no room."""
        if kind is not MemoryType.HOST:
            self.check_room(size, ordinal)
        label = f"{kind.name.lower()} memory #{next(self._numbers)}"
        try:
            address = self.memory.allocate(size, label=label)
        except OutOfMemory as error:
            raise CallError(Code.OUT_OF_MEMORY, str(error)) from error
        self._known[address] = DeviceAllocation(address, size, kind, ordinal, flags, pool)
        if kind is not MemoryType.HOST:
            self.used[ordinal] = self.used.get(ordinal, 0) + size
        if pool:
            self.pool_used[pool] = self.pool_used.get(pool, 0) + size
            self.pool_high[pool] = max(self.pool_high.get(pool, 0), self.pool_used[pool])
        return address

    def free(self, allocation: DeviceAllocation) -> None:
        self._end(allocation)
        self.memory.free(allocation.address)

    def _end(self, allocation: DeviceAllocation) -> None:
        del self._known[allocation.address]
        if allocation.kind is not MemoryType.HOST:
            self.used[allocation.ordinal] -= allocation.size
        if allocation.pool:
            self.pool_used[allocation.pool] -= allocation.size

    def put_to_sleep(self, allocation: DeviceAllocation) -> None:
        """End the life of a graph's memory until `wake`; its address stays its own."""
        self._end(allocation)
        self.memory.put_to_sleep(allocation.address)
        self._dormant[allocation.address] = allocation

    def wake(self, allocation: DeviceAllocation) -> None:
        """Begin the life of a graph's memory; its bytes are fresh."""
        if self._dormant.pop(allocation.address, None) is None:
            return
        self.memory.wake(allocation.address)
        self._known[allocation.address] = allocation
        self.used[allocation.ordinal] = self.used.get(allocation.ordinal, 0) + allocation.size

    def forget(self, allocation: DeviceAllocation) -> None:
        """End the life of a graph's memory for good."""
        if self.is_registered(allocation):
            self.free(allocation)
        elif self._dormant.pop(allocation.address, None) is not None:
            self.memory.forget(allocation.address)

    def find(self, address: int) -> DeviceAllocation | None:
        """The allocation that holds the byte at `address`, or None for memory that HIP did not make."""
        exact = self._known.get(address)
        if exact is not None:
            return exact
        if not self.memory.is_inside(address):
            return self._registered_at(address) if self.registered else None
        if self.memory.may_be_reserved(address):
            return self._mapped_at(address)
        found = self.memory.find(address)
        if found is None:
            return self._holding(self._dormant, address) if self._dormant else None
        return self._known.get(found.address, self._internal(found.address, found.size))

    @staticmethod
    def _holding(allocations: dict[int, DeviceAllocation], address: int) -> DeviceAllocation | None:
        for allocation in allocations.values():
            if allocation.address <= address < allocation.address + allocation.size:
                return allocation
        return None

    def _mapped_at(self, address: int) -> DeviceAllocation | None:
        """What is mapped there. AMD's calls check nothing of a range behind its first byte."""
        mapped = self.virtual.find(address)
        if mapped is None:
            return None
        mapping, owner = mapped.mapping, mapped.memory.owner
        return DeviceAllocation(mapping.address, mapping.size, owner.kind, owner.ordinal, reach=mapped.reservation.end)

    def _registered_at(self, address: int) -> DeviceAllocation | None:
        for registered in self.registered.values():
            if registered.host <= address < registered.host + registered.size:
                return DeviceAllocation(registered.host, registered.size, MemoryType.HOST, 0, registered.flags)
        return None

    def host_address(self, address: int) -> int:
        """Where the bytes behind an address are: for a device pointer to registered memory, in that memory."""
        for registered in self.registered.values():
            if registered.device <= address < registered.device + registered.size:
                return registered.host + address - registered.device
        return address

    def view(self, address: int, size: int) -> NDArray[np.uint8]:
        """A writable view of bytes that HIP knows; raises MemoryFault where they are not in one live range."""
        if self.registered:
            address = self.host_address(address)
            found = self._registered_at(address)
            if found is not None and address + size <= found.address + found.size:
                return _host_view(address, size)
        return self.memory.bytes(address, size)

    def is_registered(self, allocation: DeviceAllocation) -> bool:
        """It was made by `allocate`, so it may be freed; a module's memory may not."""
        return self._known.get(allocation.address) is allocation

    @staticmethod
    def _internal(address: int, size: int) -> DeviceAllocation:
        """Memory of a module: its globals may be copied to and from."""
        return DeviceAllocation(address, size, MemoryType.DEVICE, 0)
