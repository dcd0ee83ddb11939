"""Whose memory an address is: device, pinned host, managed, or the caller's own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum

from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.codes import Code
from hipgraph_cb.virtual.memory import Memory, OutOfMemory


class MemoryKind(IntEnum):
    """hipMemoryType."""

    UNREGISTERED = 0
    HOST = 1
    DEVICE = 2
    MANAGED = 3


@dataclass(frozen=True)
class DeviceAllocation:
    """A range that HIP knows: `size` bytes at `address`, made on device `ordinal`."""

    address: int
    size: int
    kind: MemoryKind
    ordinal: int
    flags: int = 0


@dataclass
class Allocations:
    """The allocations of all devices; they share one arena, so every device can reach every range."""

    memory: Memory
    limit: int
    used: dict[int, int] = field(default_factory=dict)
    _known: dict[int, DeviceAllocation] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def allocate(self, size: int, kind: MemoryKind, ordinal: int, flags: int = 0) -> int:
        """The address of `size` fresh bytes; hipErrorOutOfMemory where the device has no room."""
        if kind is not MemoryKind.HOST and self.used.get(ordinal, 0) + size > self.limit:
            raise CallError(
                Code.OUT_OF_MEMORY,
                f"{self.used.get(ordinal, 0)} of {self.limit} bytes are in use, {size} were asked for",
            )
        label = f"{kind.name.lower()} memory #{next(self._numbers)}"
        try:
            address = self.memory.allocate(size, label=label)
        except OutOfMemory as error:
            raise CallError(Code.OUT_OF_MEMORY, str(error)) from error
        self._known[address] = DeviceAllocation(address, size, kind, ordinal, flags)
        if kind is not MemoryKind.HOST:
            self.used[ordinal] = self.used.get(ordinal, 0) + size
        return address

    def free(self, allocation: DeviceAllocation) -> None:
        del self._known[allocation.address]
        if allocation.kind is not MemoryKind.HOST:
            self.used[allocation.ordinal] -= allocation.size
        self.memory.free(allocation.address)

    def find(self, address: int) -> DeviceAllocation | None:
        """The allocation that holds the byte at `address`, or None for memory that HIP did not make."""
        exact = self._known.get(address)
        if exact is not None:
            return exact
        memory = self.memory
        if not memory.base <= address < memory.base + memory.capacity:
            return None
        found = memory.find(address)
        return None if found is None else self._known.get(found.address, self._internal(found.address, found.size))

    def is_registered(self, allocation: DeviceAllocation) -> bool:
        """It was made by `allocate`, so it may be freed; a module's memory may not."""
        return self._known.get(allocation.address) is allocation

    def is_in_arena(self, address: int) -> bool:
        """`address` is a device address, live or not."""
        return self.memory.base <= address < self.memory.base + self.memory.capacity

    @staticmethod
    def _internal(address: int, size: int) -> DeviceAllocation:
        """Memory of a module: its globals may be copied to and from."""
        return DeviceAllocation(address, size, MemoryKind.DEVICE, 0)
