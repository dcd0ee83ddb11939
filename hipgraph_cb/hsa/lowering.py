"""A recording becomes packets: a dispatch is one, and so is a fill, an update or a copy, through kernels of our own."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from hipgraph_cb.abi.hsa.aql import PACKET_SIZE, DispatchPacket
from hipgraph_cb.backend.arena import Arena, PlaceExtents
from hipgraph_cb.backend.blits import WORKGROUP_SIZE, Blit, copy, quickest_fill
from hipgraph_cb.backend.nested_scope import NestedScope
from hipgraph_cb.backend.row_blits import copy_rows, fill_rows
from hipgraph_cb.code_object.kernel_args import POINTER_SIZE
from hipgraph_cb.collectives.launches import WORKGROUP_SIZE as COLLECTIVE_WORKGROUP
from hipgraph_cb.errors import InternalError
from hipgraph_cb.hsa.dispatch_packets import DispatchPackets, hidden_arguments
from hipgraph_cb.hsa.packet_template import CollectivePackets, PacketTemplate, SlotTransfer, SlotValues
from hipgraph_cb.hsa.packets import BODY
from hipgraph_cb.hsa.template_writer import Row, TemplateWriter
from hipgraph_cb.recording.commands import (
    Collectives,
    Command,
    Constant,
    Copy,
    Copy2D,
    DispatchIndirect,
    ExecuteCommands,
    Fill,
    Fill2D,
    HostCall,
    Location,
    Number,
    Range,
    ResetEvent,
    SignalEvent,
    SlotNumber,
    SlotRange,
    Update,
    WaitEvents,
)
from hipgraph_cb.recording.commands.fields import constant_bytes
from hipgraph_cb.recording.commands.types import numbers, used_places
from hipgraph_cb.recording.forms import check_form
from hipgraph_cb.recording.number_types import NUMBER_TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from hipgraph_cb.hsa.channel import HsaRank
    from hipgraph_cb.hsa.executable import KernelCode
    from hipgraph_cb.recording.recording import Recording

PATCH_ARGUMENTS = struct.Struct("<QQQI3H3H")
PATCH_COUNTS, PATCH_PACKET, PATCH_KERNARGS, PATCH_HEADER = 0, 8, 16, 24
"""Offsets of the patch kernel's arguments: three addresses, and the header that it writes."""
NO_HIDDEN = 0xFFFF
PAYLOAD_ALIGNMENT = 16
Place = Callable[[Location], tuple[int, int]]
"""Where a command's memory is: device address, and length in bytes."""


@dataclass(frozen=True)
class Surroundings:
    """What a recording needs to become packets.

    Attributes:
        addresses: of the buffers, by resource id.
        kernel: finds a kernel by executable id and name.
        blit_kernel: finds one of our own by name.
        rank: finds a rank of a channel by resource id.
        most_lanes: work-items that a fill or copy may have.
        payload: the address where the bytes of updates go, with room for `payload_room`.
        host_bytes: the memory there.
    """

    addresses: Mapping[int, int]
    kernel: Callable[[int, str], KernelCode]
    blit_kernel: Callable[[str], KernelCode]
    rank: Callable[[int], HsaRank]
    most_lanes: int
    payload: int
    host_bytes: NDArray[np.uint8]


def payload_room(recording: Recording) -> int:
    """Bytes that the data of all updates may need, wherever their targets are."""
    table, room = recording.table, 0
    if recording.kinds.isdisjoint({Update, ExecuteCommands}):
        return room
    for index, row in enumerate(table.rows):
        kind = table.forms[row].kind
        if kind is Update:
            room += len(table[index].data) + PAYLOAD_ALIGNMENT  # type: ignore[union-attr]
        elif kind is ExecuteCommands:
            command: Any = table[index]
            room += payload_room(recording.resources.recordings[command.recording].recording)
    return room


def lower(recording: Recording, surroundings: Surroundings) -> PacketTemplate:
    """The packets of a recording. The bytes of updates are written where kernels read them."""
    lowering = Lowering(surroundings)
    lowering.add_all(NestedScope(recording))
    return lowering.writer.template()


Transfer = Fill | Fill2D | Update | Copy | Copy2D


def blit_of(command: Transfer, place: Place, payload: int, most_lanes: int) -> Blit:
    """The launch that does what a fill, an update or a copy says; `payload` is the address of an update's bytes."""
    address, length = place(command.target)
    if isinstance(command, Fill):
        return quickest_fill(address, length, _known(command.pattern), most_lanes)
    if isinstance(command, Fill2D):
        return fill_rows(address, command, most_lanes)
    if isinstance(command, Copy2D):
        return copy_rows(address, place(command.source)[0], command, most_lanes)
    if isinstance(command, Copy):
        return copy(address, place(command.source)[0], length, most_lanes)
    return copy(address, payload, length, most_lanes)


def _known(pattern: bytes | SlotNumber) -> bytes:
    if isinstance(pattern, SlotNumber):
        raise InternalError("program: a pattern was asked for that is in a slot")
    return pattern


class Lowering:
    """Packets while they are made.

    Attributes:
        writer: collects them.
        stored: how many bytes of the payload are in use.
    """

    def __init__(self, surroundings: Surroundings) -> None:
        self.writer = TemplateWriter()
        self.stored = 0
        self._surroundings = surroundings
        self._addresses = surroundings.addresses

    def add_all(self, scope: NestedScope) -> None:
        """Add the packets of a recording, layer by layer: all dispatches in a row at once, others one by one."""
        order, starts = _order(scope.recording)
        table = scope.table
        arena = Arena(table)
        arena.apply(PlaceExtents(table.places, self._addresses).bound({}))
        dispatches = DispatchPackets(arena, self._surroundings.kernel, self.writer)
        is_dispatch = dispatches.is_dispatch[order]
        changes = np.flatnonzero(np.diff(is_dispatch)) + 1
        layers = np.zeros(len(order) + 1, bool)
        layers[list(starts)] = True
        bounds = [0, *changes.tolist(), len(order)] if len(order) else []
        positions = np.zeros(len(order), np.intp)
        for first, stop in pairwise(bounds):
            if is_dispatch[first]:
                if layers[first] and first:
                    self.writer.barrier()
                inside = np.flatnonzero(layers[first + 1 : stop]) + 1
                commands = order[first:stop]
                positions[commands] = self.writer.packet_count + np.arange(len(commands))
                self.writer.dispatches(dispatches.packets(commands), inside.tolist(), scope, commands)
                continue
            for position in range(first, stop):
                if layers[position] and position:
                    self.writer.barrier()
                index = int(order[position])
                check_form(table.forms[table.rows[index]])
                command = table[index]
                PACKET_STEPS[type(command)](self, scope, command, index)
        dispatches.patch_shapes(positions, self.writer)

    def _dispatch_indirect(self, scope: NestedScope, command: DispatchIndirect, index: int) -> None:
        """Two packets: a launch of the patch kernel, and the dispatch that it publishes."""
        writer = self.writer
        kernel = self._surroundings.kernel(command.executable, command.export)
        lds = command.dynamic_lds
        amount = 0 if isinstance(lds, SlotNumber) else lds
        block = bytearray(command.kernarg.ljust(kernel.layout.size, b"\0"))
        for position, content in hidden_arguments(kernel.layout, (1, 1, 1), command.workgroup_size, amount):
            block[position : position + len(content)] = content
        offset = writer.kernarg_block(bytes(block))
        for position, place in command.pointers:
            self._point(offset + position, place)
        for position, number in command.numbers:
            self._decide(offset + position, NUMBER_TYPES[number.type].size, number)
        patch = self._surroundings.blit_kernel("patch")
        hidden = {argument.kind: argument.offset for argument in kernel.layout.hidden}
        counts = [hidden.get(f"hidden_block_count_{axis}", NO_HIDDEN) for axis in "xyz"]
        patch_arguments = writer.kernarg_block(PATCH_ARGUMENTS.pack(0, 0, offset, 0, *command.workgroup_size, *counts))
        self._point(patch_arguments + PATCH_COUNTS, command.workgroup_count)
        writer.relative.append(patch_arguments + PATCH_KERNARGS)
        writer.dispatch(Row(BODY, (1, 1, 1), (1, 1, 1), *patch[:3], patch_arguments), scope, index)
        if isinstance(lds, SlotNumber):
            for argument in kernel.layout.hidden:
                if argument.kind == "hidden_dynamic_lds_size":
                    self._decide(offset + argument.offset, argument.size, lds)
            at = writer.packet_count * PACKET_SIZE + DispatchPacket.group_segment_size.offset
            writer.shape(SlotValues.of([at], 4, [lds.slot], 1, kernel.group_segment_size))
        segments = kernel.private_segment_size, kernel.group_segment_size + amount
        row = Row(BODY, command.workgroup_size, command.workgroup_size, *segments, kernel.object, offset)
        writer.indirect_dispatch(
            row, scope, index, address=patch_arguments + PATCH_PACKET, header=patch_arguments + PATCH_HEADER
        )

    def _execute(self, scope: NestedScope, _command: ExecuteCommands, index: int) -> None:
        self.add_all(scope.nested(index))

    def _host_call(self, scope: NestedScope, command: HostCall, index: int) -> None:
        self.writer.host_call(command.function, scope, index)

    def _collective(self, scope: NestedScope, command: Collectives, index: int) -> None:
        """All operations begin before any of them is waited for, and so they end: the ranks need no common order."""
        writer, operations = self.writer, command.operations
        rank = self._surroundings.rank(command.channel)
        arrivals = [writer.marker(scope, index) for _ in operations]
        waits = [writer.marker(scope, index) for _ in operations]
        writer.barrier()
        launches = [rank.launch(each.collective) for each in operations]
        blocks = []
        for launch in launches:
            block = 0 if launch is None else writer.kernarg_block(launch.arguments(0))
            blocks.append(block)
            if launch is not None:
                lanes = launch.workgroups * COLLECTIVE_WORKGROUP
                shape = (COLLECTIVE_WORKGROUP, 1, 1), (lanes, 1, 1)
                writer.dispatch(Row(BODY, *shape, *rank.kernel(launch.kernel)[:3], block), scope, index)
        writer.barrier()
        ends = [writer.marker(scope, index) for _ in operations]
        leaves = [writer.marker(scope, index) for _ in operations]
        rows = zip(operations, arrivals, waits, ends, leaves, launches, blocks, strict=True)
        for row in rows:
            writer.collective(CollectivePackets(command.channel, *row))

    def _signal(self, scope: NestedScope, command: SignalEvent, index: int) -> None:
        self.writer.signal(command.event, scope, index)

    def _reset(self, _scope: NestedScope, _command: ResetEvent, _index: int) -> None:
        """Nothing to do on the device: whoever waits for the event waits for the signal of a later replay."""

    def _wait(self, scope: NestedScope, command: WaitEvents, index: int) -> None:
        """What this program signals itself comes before in the queue; only signals of others are waited for."""
        before = scope.signalled_before(index)
        self.writer.wait([event for event in command.events if event not in before], scope, index)

    def _point(self, position: int, place: Location) -> None:
        """Let the kernel arguments hold an address, now or when the slots are bound."""
        if isinstance(place, Range):
            self.writer.write(
                position, (self._addresses[place.resource] + place.offset).to_bytes(POINTER_SIZE, "little")
            )
        else:
            self.writer.point(position, place.slot, place.offset)

    def _decide(self, position: int, width: int, number: Number) -> None:
        """Let the kernel arguments hold a number, now or when the slots are bound."""
        if isinstance(number, Constant):
            self.writer.write(position, constant_bytes(number))
        else:
            self.writer.decide(SlotValues.of([position], width, [number.slot]))

    def _transfer(self, scope: NestedScope, command: Transfer, index: int) -> None:
        payload = self._store(command) if isinstance(command, Update) else 0
        named = (*used_places(command), *numbers(command))
        if any(isinstance(each, (SlotRange, SlotNumber)) for each in named):
            offset = self.writer.kernarg_block(b"")
            self.writer.transfers.append(SlotTransfer(self.writer.packet_count, offset, command, payload))
            row = Row(BODY, (WORKGROUP_SIZE, 1, 1), (1, 1, 1), 0, 0, 0, offset)
            self.writer.dispatch(row, scope, index)
            return
        self.launch(blit_of(command, self.fixed, payload, self._surroundings.most_lanes), scope, index)

    def launch(self, blit: Blit, scope: NestedScope, index: int) -> None:
        """Add a launch of one of our own kernels for a command."""
        kernel = self._surroundings.blit_kernel(blit.kernel)
        offset = self.writer.kernarg_block(blit.arguments)
        row = Row(BODY, (WORKGROUP_SIZE, 1, 1), (blit.lanes, 1, 1), *kernel[:3], offset)
        self.writer.dispatch(row, scope, index)

    def fixed(self, place: Location) -> tuple[int, int]:
        """Of memory that no binding decides."""
        if isinstance(place, Range):
            return self._addresses[place.resource] + place.offset, place.length
        raise InternalError("program: a binding was asked for where there is none")

    def _store(self, command: Update) -> int:
        """Put the bytes of an update where the copy kernel can take the largest steps; returns their address."""
        base = self._surroundings.payload
        target = self.fixed(command.target)[0] if isinstance(command.target, Range) else 0
        start = self.stored + (target - base - self.stored) % PAYLOAD_ALIGNMENT
        self.stored = start + len(command.data)
        self._surroundings.host_bytes[start : self.stored] = np.frombuffer(command.data, np.uint8)
        return base + start


def _order(recording: Recording) -> tuple[NDArray[np.intp], list[int]]:
    """The commands layer by layer, and where each layer begins among them."""
    if recording.dependencies is None:
        return np.arange(len(recording)), list(recording.layer_starts)
    order: list[int] = []
    starts: list[int] = []
    for layer in recording.layers:
        starts.append(len(order))
        order.extend(layer)
    return np.array(order, np.intp), starts


PACKET_STEPS: dict[type[Command], Callable[[Lowering, NestedScope, Any, int], None]] = {
    Fill: Lowering._transfer,
    Fill2D: Lowering._transfer,
    Update: Lowering._transfer,
    Copy: Lowering._transfer,
    Copy2D: Lowering._transfer,
    DispatchIndirect: Lowering._dispatch_indirect,
    ExecuteCommands: Lowering._execute,
    HostCall: Lowering._host_call,
    Collectives: Lowering._collective,
    SignalEvent: Lowering._signal,
    ResetEvent: Lowering._reset,
    WaitEvents: Lowering._wait,
}
"""For all commands but dispatches; a type from outside adds itself. Not bound to an instance: that would be a cycle,
which keeps the program and its memory until it is collected."""
