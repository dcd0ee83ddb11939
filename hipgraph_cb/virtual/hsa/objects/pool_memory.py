"""What memory pools gave out, and host memory that was locked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from hipgraph_cb.abi.hsa.status import Status
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hsa.objects.agent import Agent, MemoryPool
from hipgraph_cb.virtual.memory import Memory, MemoryFault, OutOfMemory

GRANULE = 4096


@dataclass
class PoolAllocation:
    """`size` bytes of a pool at `address`, exactly as they were requested.

    Attributes:
        agents: handles of those that were allowed to access it, beside the owner.
        callbacks: pairs of a function's address and its data, to be called when it is freed.
    """

    address: int
    size: int
    pool: MemoryPool
    user_data: int = 0
    agents: list[int] = field(default_factory=list)
    callbacks: list[tuple[int, int]] = field(default_factory=list)


class MemoryOfPool(NamedTuple):
    """Whose memory without an address is. `kind`: hsa_amd_memory_type_t."""

    pool: MemoryPool
    kind: int


@dataclass(frozen=True)
class LockedRange:
    """Host memory that agents may access."""

    address: int
    size: int
    agents: tuple[int, ...]


class PoolMemory:
    """The allocations of all pools. Ranges are checked to the byte, although a pool gives whole pages."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.allocations: dict[int, PoolAllocation] = {}
        self.locked: dict[int, LockedRange] = {}
        self.attached: list[int] = []

    def used(self, agent: Agent) -> int:
        """The bytes of an agent's pools that are allocated."""
        return sum(known.size for known in self.allocations.values() if known.pool.agent is agent)

    def allocate(self, pool: MemoryPool, size: int) -> int:
        label = f"HSA memory #{len(self.allocations)}"
        try:
            address = self._memory.allocate(size, alignment=GRANULE, label=label)
        except OutOfMemory as error:
            raise CallError(Status.OUT_OF_RESOURCES, str(error)) from error
        self.allocations[address] = PoolAllocation(address, size, pool)
        return address

    def free(self, allocation: PoolAllocation) -> None:
        del self.allocations[allocation.address]
        self._memory.free(allocation.address)

    def release_all(self) -> None:
        for allocation in list(self.allocations.values()):
            self.free(allocation)
        self.locked.clear()
        self.attached.clear()

    def find(self, address: int) -> PoolAllocation | None:
        """The allocation that holds the byte at `address`."""
        exact = self.allocations.get(address)
        if exact is not None or not self._memory.is_inside(address):
            return exact
        found = self._memory.find(address)
        return None if found is None else self.allocations.get(found.address)

    def find_locked(self, address: int) -> LockedRange | None:
        for locked in self.locked.values():
            if locked.address <= address < locked.address + locked.size:
                return locked
        return None

    def check_range(self, address: int, size: int) -> None:
        """Refuse a range that is partly in device memory and not inside one live allocation there."""
        memory = self._memory
        if address + size <= memory.base or address >= memory.end:
            return  # the program's own memory
        try:
            memory.bytes(address, size)
        except MemoryFault as error:
            raise CallError(Status.INVALID_ALLOCATION, str(error)) from error

    def owner(self, address: int, agents: dict[int, Agent]) -> Agent | None:
        """The GPU whose memory this is, or None for host memory."""
        allocation = self.find(address)
        return None if allocation is None or allocation.pool.agent.gpu is None else allocation.pool.agent
