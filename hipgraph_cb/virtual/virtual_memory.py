"""Virtual memory of one library: handles of memory without an address, reserved ranges, access to what is mapped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from hipgraph_cb.errors import InvalidArgumentError, ResourceExhaustedError
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.handles import HandleTable
from hipgraph_cb.virtual.memory import FILL_LIMIT, FRESH, Memory
from hipgraph_cb.virtual.physical_memory import PhysicalMemory, identity_of
from hipgraph_cb.virtual.reservations import Mapping, Reservation

Owner = TypeVar("Owner")


class Refusals(NamedTuple):
    """The codes of a library: for what is not there, arguments that don't fit, a range of another size, a range in use,
    no room, and a file that is not such memory."""

    unknown: int
    invalid: int
    other_size: int
    in_use: int
    no_room: int
    foreign: int


@dataclass(eq=False)
class MemoryHandle(Generic[Owner]):
    """Memory without an address.

    Attributes:
        owner: where it was created, as the library has it.
        references: how often it has to be released.
        mappings: how often it is mapped.
    """

    physical: PhysicalMemory
    owner: Owner
    handle: int = 0
    references: int = 1
    mappings: int = 0


@dataclass(eq=False)
class MappedHandle(Generic[Owner]):
    """A handle that is mapped. `permissions`: of each agent or device that was given one; 0 is none."""

    mapping: Mapping
    reservation: Reservation
    memory: MemoryHandle[Owner]
    permissions: dict[int, int] = field(default_factory=dict)


class VirtualMemory(Generic[Owner]):
    """What was reserved, created and mapped by the functions of one library."""

    def __init__(self, memory: Memory, refusals: Refusals) -> None:
        self._reservations = memory.reservations
        self._refusals = refusals
        self._handles: HandleTable[MemoryHandle[Owner]] = HandleTable(refusals.unknown, "handle of memory")
        self._reserved: dict[int, Reservation] = {}
        self._mapped: dict[int, MappedHandle[Owner]] = {}

    def handles(self) -> Iterable[MemoryHandle[Owner]]:
        """All memory that was not given back."""
        return self._handles.values()

    # -- addresses -------------------------------------------------------------------------------------------------

    def reserve(self, size: int, alignment: int, wanted: int) -> int:
        reservation = self._reservations.reserve(size, alignment, wanted)
        if reservation is None:
            raise CallError(self._refusals.no_room, f"there is no room to reserve {size} bytes")
        self._reserved[reservation.address] = reservation
        return reservation.address

    def free(self, address: int, size: int) -> None:
        reservation = self._reserved.get(address)
        if reservation is None:
            raise CallError(self._refusals.unknown, f"no reserved range starts at {address:#x}")
        if size != reservation.size:
            raise CallError(self._refusals.other_size, f"the range has {reservation.size} bytes, not {size}")
        if reservation.mappings:
            raise CallError(self._refusals.in_use, "there is memory mapped in the range")
        del self._reserved[address]
        self._reservations.release(reservation)

    def reservation(self, address: int) -> Reservation | None:
        """The reserved range that holds the byte at `address`."""
        found = self._reservations.find(address)
        return None if found is None else self._reserved.get(found.address)

    # -- memory ----------------------------------------------------------------------------------------------------

    def create(self, owner: Owner, size: int) -> int:
        try:
            physical = PhysicalMemory.create(size, FRESH, FILL_LIMIT)
        except ResourceExhaustedError as error:
            raise CallError(self._refusals.no_room, str(error)) from error
        return self._add(MemoryHandle(physical, owner))

    def _add(self, memory: MemoryHandle[Owner]) -> int:
        memory.handle = self._handles.add(memory)
        return memory.handle

    def memory(self, handle: int) -> MemoryHandle[Owner]:
        return self._handles[handle]

    def release(self, handle: int) -> None:
        memory = self._handles[handle]
        if not memory.references:
            raise CallError(self._refusals.unknown, f"{handle:#x} was released, and is only mapped still")
        memory.references -= 1
        self._forget_unused(memory)

    def _forget_unused(self, memory: MemoryHandle[Owner]) -> None:
        if not memory.references and not memory.mappings:
            self._handles.pop(memory.handle).physical.close()

    def import_file(self, descriptor: int, owner: Owner) -> int:
        """The handle of exported memory: the one that it has in this process, or a new one of this owner."""
        identity = identity_of(descriptor)
        for known in self._handles.values():
            if known.physical.identity == identity:
                known.references += 1
                return known.handle
        try:
            physical = PhysicalMemory.imported(descriptor)
        except InvalidArgumentError as error:
            raise CallError(self._refusals.foreign, str(error)) from error
        return self._add(MemoryHandle(physical, owner))

    # -- mapping ---------------------------------------------------------------------------------------------------

    def map(self, address: int, size: int, offset: int, handle: int) -> None:
        reservation = self.reservation(address)
        if reservation is None or not reservation.holds(address, size):
            raise CallError(self._refusals.invalid, f"{size} bytes at {address:#x} are not in one reserved range")
        if not reservation.is_free(address, size):
            raise CallError(self._refusals.invalid, f"memory is mapped within {size} bytes at {address:#x}")
        if handle not in self._handles:
            raise CallError(self._refusals.invalid, f"{handle:#x} is not a handle of memory")
        memory = self._handles[handle]
        if offset + size > memory.physical.size:
            raise CallError(self._refusals.invalid, f"the memory has {memory.physical.size} bytes")
        try:
            mapping = self._reservations.map(reservation, address, size, memory.physical, offset)
        except ResourceExhaustedError as error:
            raise CallError(self._refusals.no_room, str(error)) from error
        memory.mappings += 1
        self._mapped[address] = MappedHandle(mapping, reservation, memory)

    def chain(self, address: int, size: int) -> list[MappedHandle[Owner]]:
        """What is mapped from `address` on: whole mappings that fill `size` bytes."""
        reservation = self.reservation(address)
        found = None if reservation is None else reservation.chain(address, size)
        if found is None:
            raise CallError(self._refusals.unknown, f"{size} bytes at {address:#x} are not a number of whole mappings")
        return [self._mapped[mapping.address] for mapping in found]

    def unmap(self, address: int, size: int) -> None:
        mapped = self.chain(address, size)
        self._reservations.unmap(mapped[0].reservation, [each.mapping for each in mapped])
        for each in mapped:
            del self._mapped[each.mapping.address]
            each.memory.mappings -= 1
            self._forget_unused(each.memory)

    def set_access(self, mapped: Sequence[MappedHandle[Owner]], permissions: Sequence[tuple[int, int]]) -> None:
        """Give permissions to agents or devices. What any of them may access, all may."""
        for each in mapped:
            each.permissions.update(permissions)
            each.mapping.is_accessible = any(each.permissions.values())
        self._reservations.renew(mapped[0].reservation)

    def find(self, address: int) -> MappedHandle[Owner] | None:
        """What is mapped at the byte at `address`."""
        reservation = self.reservation(address)
        mapping = None if reservation is None else reservation.find(address)
        return None if mapping is None else self._mapped[mapping.address]

    def following(self, first: MappedHandle[Owner]) -> list[MappedHandle[Owner]]:
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
