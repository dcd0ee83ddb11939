"""Virtual memory: handles of memory without an address, reserved ranges, and which agents may access what is mapped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from hipgraph_cb.abi.hsa.attributes import AccessPermission
from hipgraph_cb.abi.hsa.status import Status
from hipgraph_cb.errors import InvalidArgumentError, ResourceExhaustedError
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.handles import HandleTable
from hipgraph_cb.virtual.hsa.objects.agent import Agent, MemoryPool
from hipgraph_cb.virtual.memory import FILL_LIMIT, FRESH, Memory
from hipgraph_cb.virtual.physical_memory import PhysicalMemory, identity_of
from hipgraph_cb.virtual.reservations import Mapping, Reservation


@dataclass(eq=False)
class MemoryHandle:
    """Memory of a pool. `references`: how often it has to be released; `mappings`: how often it is mapped."""

    physical: PhysicalMemory
    pool: MemoryPool
    kind: int
    handle: int = 0
    references: int = 1
    mappings: int = 0


@dataclass(eq=False)
class MappedHandle:
    """A handle that is mapped. `permissions`: by the handles of agents."""

    mapping: Mapping
    reservation: Reservation
    memory: MemoryHandle
    permissions: dict[int, int] = field(default_factory=dict)


class VirtualMemory:
    """What was reserved, created and mapped by functions of HSA."""

    def __init__(self, memory: Memory) -> None:
        self._reservations = memory.reservations
        self._handles: HandleTable[MemoryHandle] = HandleTable(Status.INVALID_ALLOCATION, "handle of memory")
        self._reserved: dict[int, Reservation] = {}
        self._mapped: dict[int, MappedHandle] = {}

    def used(self, agent: Agent) -> int:
        """The bytes of an agent behind handles."""
        return sum(known.physical.size for known in self._handles.values() if known.pool.agent is agent)

    # -- addresses -------------------------------------------------------------------------------------------------

    def reserve(self, size: int, alignment: int, wanted: int) -> int:
        reservation = self._reservations.reserve(size, alignment, wanted)
        if reservation is None:
            raise CallError(Status.OUT_OF_RESOURCES, f"there is no room to reserve {size} bytes")
        self._reserved[reservation.address] = reservation
        return reservation.address

    def free(self, address: int, size: int) -> None:
        reservation = self._reserved.get(address)
        if reservation is None:
            raise CallError(Status.INVALID_ALLOCATION, f"no reserved range starts at {address:#x}")
        if size != reservation.size:
            raise CallError(Status.INVALID_ARGUMENT, f"the range has {reservation.size} bytes, not {size}")
        if reservation.mappings:
            raise CallError(Status.RESOURCE_FREE, "there is memory mapped in the range")
        del self._reserved[address]
        self._reservations.release(reservation)

    def reservation(self, address: int) -> Reservation | None:
        """The reserved range that holds the byte at `address`."""
        found = self._reservations.find(address)
        return None if found is None else self._reserved.get(found.address)

    # -- memory ----------------------------------------------------------------------------------------------------

    def create(self, pool: MemoryPool, size: int, kind: int) -> int:
        try:
            physical = PhysicalMemory.create(size, FRESH, FILL_LIMIT)
        except ResourceExhaustedError as error:
            raise CallError(Status.OUT_OF_RESOURCES, str(error)) from error
        return self._add(MemoryHandle(physical, pool, kind))

    def _add(self, memory: MemoryHandle) -> int:
        memory.handle = self._handles.add(memory)
        return memory.handle

    def memory(self, handle: int) -> MemoryHandle:
        return self._handles[handle]

    def release(self, handle: int) -> None:
        memory = self._handles[handle]
        if not memory.references:
            raise CallError(Status.INVALID_ALLOCATION, f"{handle:#x} was released, and is only mapped still")
        memory.references -= 1
        self._forget_unused(memory)

    def _forget_unused(self, memory: MemoryHandle) -> None:
        if not memory.references and not memory.mappings:
            self._handles.pop(memory.handle).physical.close()

    def import_file(self, descriptor: int, pool: MemoryPool) -> int:
        """The handle of exported memory: the one that it has in this process, or a new one of this pool."""
        identity = identity_of(descriptor)
        for known in self._handles.values():
            if known.physical.identity == identity:
                known.references += 1
                return known.handle
        try:
            physical = PhysicalMemory.imported(descriptor)
        except InvalidArgumentError as error:
            raise CallError(Status.INCOMPATIBLE_ARGUMENTS, str(error)) from error
        return self._add(MemoryHandle(physical, pool, 0))

    # -- mapping ---------------------------------------------------------------------------------------------------

    def map(self, address: int, size: int, offset: int, handle: int) -> None:
        reservation = self.reservation(address)
        if reservation is None or not reservation.holds(address, size):
            raise CallError(Status.INVALID_ARGUMENT, f"{size} bytes at {address:#x} are not in one reserved range")
        if not reservation.is_free(address, size):
            raise CallError(Status.INVALID_ARGUMENT, f"memory is mapped within {size} bytes at {address:#x}")
        if handle not in self._handles:
            raise CallError(Status.INVALID_ARGUMENT, f"{handle:#x} is not a handle of memory")
        memory = self._handles[handle]
        if offset + size > memory.physical.size:
            raise CallError(Status.INVALID_ARGUMENT, f"the memory has {memory.physical.size} bytes")
        try:
            mapping = self._reservations.map(reservation, address, size, memory.physical, offset)
        except ResourceExhaustedError as error:
            raise CallError(Status.OUT_OF_RESOURCES, str(error)) from error
        memory.mappings += 1
        self._mapped[address] = MappedHandle(mapping, reservation, memory)

    def chain(self, address: int, size: int) -> list[MappedHandle]:
        """What is mapped from `address` on: whole mappings that fill `size` bytes."""
        reservation = self.reservation(address)
        found = None if reservation is None else reservation.chain(address, size)
        if found is None:
            raise CallError(
                Status.INVALID_ALLOCATION, f"{size} bytes at {address:#x} are not a number of whole mappings"
            )
        return [self._mapped[mapping.address] for mapping in found]

    def unmap(self, address: int, size: int) -> None:
        mapped = self.chain(address, size)
        self._reservations.unmap(mapped[0].reservation, [each.mapping for each in mapped])
        for each in mapped:
            del self._mapped[each.mapping.address]
            each.memory.mappings -= 1
            self._forget_unused(each.memory)

    def set_access(self, mapped: Sequence[MappedHandle], permissions: Sequence[tuple[int, int]]) -> None:
        """Give agents, by their handles, permissions. What any agent may access, all may."""
        for each in mapped:
            each.permissions.update(permissions)
            each.mapping.is_accessible = any(given != AccessPermission.NONE for given in each.permissions.values())
        self._reservations.renew(mapped[0].reservation)

    def find(self, address: int) -> MappedHandle | None:
        """What is mapped at the byte at `address`."""
        reservation = self.reservation(address)
        mapping = None if reservation is None else reservation.find(address)
        return None if mapping is None else self._mapped[mapping.address]

    def following(self, first: MappedHandle) -> list[MappedHandle]:
        """A mapping and those that follow it without a gap."""
        found = [first]
        while (after := self._mapped.get(found[-1].mapping.end)) is not None:
            found.append(after)
        return found

    def release_all(self) -> None:
        for each in list(self._mapped.values()):
            self.unmap(each.mapping.address, each.mapping.size)
        for reservation in list(self._reserved.values()):
            self.free(reservation.address, reservation.size)
        for memory in self._handles.values():
            memory.references = 0
            self._forget_unused(memory)
