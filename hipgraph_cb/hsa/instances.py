"""Templates in memory: what one launch reads, and how the bindings of that launch get into it.

A recording without slots has one instance, which any number of launches share. With slots each launch in flight has an
instance of its own; it is used again when its launch is done, and then only what other bindings change is written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from hipgraph_cb.abi.hsa.aql import PACKET_SIZE
from hipgraph_cb.backend.arena import Targets, base_of
from hipgraph_cb.backend.blits import Blit
from hipgraph_cb.hsa.lowering import blit_of
from hipgraph_cb.hsa.packet_template import EventPacket, PacketTemplate, SlotValues
from hipgraph_cb.hsa.packets import BODY
from hipgraph_cb.recording.binding_table import with_known_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hipgraph_cb.backend.queue import LaunchQueue
    from hipgraph_cb.hsa.executable import KernelCode
    from hipgraph_cb.hsa.memory import HostMemory
    from hipgraph_cb.hsa.ring import Ring
    from hipgraph_cb.recording.binding_table import Table
    from hipgraph_cb.recording.commands import Location

MOST_INSTANCES = 64
"""Launches of one program in flight, each with kernel arguments of its own; a further replay waits for the oldest."""


class Patch:
    """Puts what bindings decide into memory, all in one step."""

    def __init__(self, values: SlotValues) -> None:
        self._values = values
        self._targets = Targets(values.positions, values.widths)
        self._count = 1 + int(values.slots.max(initial=-1))

    def write(self, memory: NDArray[np.uint8], table: Table) -> None:
        bases = np.zeros(self._count, np.uint64)
        for slot, bound in table.items():
            if slot < self._count:
                bases[slot] = base_of(bound)
        values = self._values
        self._targets.write(memory, slice(None), bases[values.slots] * values.factors + values.offsets)


class Packets(Protocol):
    """What a queue writes into its ring."""

    template: PacketTemplate
    bodies: NDArray[np.uint64]

    def place_in_ring(self, ring: Ring, start: int, end: int, index: int) -> None: ...


class Instance:
    """A template in memory.

    Attributes:
        bodies: the packets, as eight 64-bit words each.
        in_use: the queue and the ticket of the launch that reads it.
        table: the number of the binding table that is written into it.
        idle: the packets that launch no workgroups with that table.
    """

    def __init__(self, template: PacketTemplate, memory: HostMemory) -> None:
        self.template = template
        self.memory = memory
        self.memory.bytes[: len(template.kernargs)] = np.frombuffer(template.kernargs, np.uint8)
        self.packets = template.packets.copy()
        dispatches = self.packets["header"] == BODY
        self.packets["kernarg_address"][dispatches] += np.uint64(memory.address)
        kernargs = memory.bytes.view(np.uint64)
        kernargs[[position // 8 for position in template.relative]] += np.uint64(memory.address)
        self.bodies: NDArray[np.uint64] = self.packets.view(np.uint64).reshape(-1, 8)
        self.in_use: tuple[LaunchQueue, int] | None = None
        self.table: int | None = None
        self.idle: NDArray[np.intp] = np.zeros(0, np.intp)

    @property
    def packet_bytes(self) -> NDArray[np.uint8]:
        """The packets as bytes."""
        whole: NDArray[np.uint8] = self.bodies.view(np.uint8).reshape(-1)
        return whole

    @property
    def is_free(self) -> bool:
        return self.in_use is None or self.in_use[0].is_done(self.in_use[1])

    def place_in_ring(self, ring: Ring, start: int, end: int, index: int) -> None:
        """Tell packets that change others where those are: `start` up to `end` get the indices from `index` on."""
        words = self.memory.bytes.view(np.uint64)
        for indirect in self.template.indirect:
            if start <= indirect.packet < end:
                slot = (index + indirect.packet - start) % ring.size
                words[indirect.address // 8] = ring.address + slot * PACKET_SIZE

    def set_signal(self, place: EventPacket, signal: int) -> None:
        """Let a barrier packet name the signal of an event; 0 is none."""
        self.bodies[place.packet, place.word] = signal

    def set_blit(self, packet: int, kernarg: int, blit: Blit, kernel: KernelCode) -> None:
        """Let a packet launch one of our own kernels."""
        row = self.packets[packet]
        row["grid_size"] = (blit.lanes, 1, 1)
        row["kernel_object"] = kernel.object
        row["private_segment_size"] = kernel.private_segment_size
        row["group_segment_size"] = kernel.group_segment_size
        self.memory.bytes[kernarg : kernarg + len(blit.arguments)] = np.frombuffer(blit.arguments, np.uint8)


class Instances:
    """The instances of one program.

    Args:
        allocate: gives host memory for one instance.
    """

    def __init__(
        self,
        template: PacketTemplate,
        allocate: Callable[[int], HostMemory],
        blit_kernel: Callable[[str], KernelCode],
        most_lanes: int,
    ) -> None:
        self.template = template
        self._allocate = allocate
        self._blit_kernel = blit_kernel
        self._most_lanes = most_lanes
        self._patches = Patch(template.pointers), Patch(template.shapes)
        self._all: list[Instance] = []
        if not template.changes:
            self._add()

    def shared(self) -> Instance:
        """The one instance of a template without slots."""
        return self._all[0]

    def take(self, timeout: float | None) -> Instance:
        """An instance that no launch reads.

        Raises:
            DeadlineExceededError: there are as many as may be, and none became free in time.
            HsaError: there is no memory for another one.
        """
        instance = self._free()
        if instance is None and len(self._all) < MOST_INSTANCES:
            return self._add()
        if instance is None:
            oldest = self._all[0]
            if oldest.in_use is not None:
                oldest.in_use[0].wait_for(oldest.in_use[1], timeout)
            instance = oldest
        self._all.remove(instance)
        self._all.append(instance)
        return instance

    def bind(
        self,
        instance: Instance,
        table: Table,
        number: int,
        place: Callable[[Location], tuple[int, int]],
    ) -> None:
        """Let an instance that no launch reads have the bindings of a table, which has this number.

        Args:
            place: where memory is with these bindings.
        """
        if instance.table == number:
            return
        instance.table = None
        for patch, memory in zip(self._patches, (instance.memory.bytes, instance.packet_bytes), strict=True):
            patch.write(memory, table)
        grids = self.template.open_grids
        instance.idle = grids[(instance.packets["grid_size"][grids] == 0).any(axis=1)]
        for transfer in self.template.transfers:
            command = with_known_numbers(transfer.command, table)
            blit = blit_of(command, place, transfer.payload, self._most_lanes)
            instance.set_blit(transfer.packet, transfer.kernarg, blit, self._blit_kernel(blit.kernel))
        instance.table = number

    def release(self) -> None:
        """Give the memory back; nothing may be in flight."""
        for instance in self._all:
            instance.memory.release()
        self._all.clear()

    def _free(self) -> Instance | None:
        for instance in self._all:
            if instance.is_free:
                return instance
        for queue in {instance.in_use[0] for instance in self._all if instance.in_use is not None}:
            queue.refresh()
        return next((instance for instance in self._all if instance.is_free), None)

    def _add(self) -> Instance:
        instance = Instance(self.template, self._allocate(max(len(self.template.kernargs), 64)))
        self._all.append(instance)
        return instance
