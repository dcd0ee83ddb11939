"""A recording becomes packets: a dispatch is one, and so is a fill, an update or a copy, through kernels of our own."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from hipgraph_cb.backend.blits import WORKGROUP_SIZE, Blit, copy, fill
from hipgraph_cb.code_object.hidden_args import LaunchShape, write_hidden
from hipgraph_cb.errors import InternalError
from hipgraph_cb.hsa.packet_template import Image, ImageWriter, Origin, Row, SlotPointer, SlotTransfer
from hipgraph_cb.hsa.packets import BODY
from hipgraph_cb.hsa.scopes import Scope
from hipgraph_cb.recording.commands import (
    Command,
    Copy,
    Dispatch,
    DispatchIndirect,
    ExecuteCommands,
    Fill,
    Location,
    Range,
    ResetEvent,
    SignalEvent,
    SlotRange,
    Update,
    WaitEvents,
)
from hipgraph_cb.recording.events import nested_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hipgraph_cb.code_object.kernel_args import KernargLayout
    from hipgraph_cb.hsa.executable import KernelCode
    from hipgraph_cb.recording.commands import Dimensions, Pointers
    from hipgraph_cb.recording.recording import Recording

PATCH_ARGUMENTS = struct.Struct("<QQQI3H3H")
PATCH_COUNTS, PATCH_PACKET, PATCH_KERNARGS, PATCH_HEADER = 0, 8, 16, 24
"""Offsets of the patch kernel's arguments: three addresses, and the header that it writes."""
NO_HIDDEN = 0xFFFF
PAYLOAD_ALIGNMENT = 16
write_pointer = struct.Struct("<Q").pack_into
Place = Callable[[Location], tuple[int, int]]
"""Where a command's memory is: device address, and length in bytes."""


@dataclass(frozen=True)
class Surroundings:
    """What a recording needs to become packets.

    Attributes:
        addresses: of the buffers, by resource id.
        kernel: finds a kernel by executable id and name.
        blit_kernel: finds one of our own by name.
        most_lanes: work-items that a fill or copy may have.
        payload: the address where the bytes of updates will lie, with room for `payload_room`.
    """

    addresses: Mapping[int, int]
    kernel: Callable[[int, str], KernelCode]
    blit_kernel: Callable[[str], KernelCode]
    most_lanes: int
    payload: int


def payload_room(recording: Recording) -> int:
    """Bytes that the data of all updates may need, wherever their targets are."""
    room = 0
    for command in recording.stored.models:
        nested = nested_in(recording, command)
        if nested is not None:
            room += payload_room(nested)
        elif isinstance(command, Update):
            room += len(command.data) + PAYLOAD_ALIGNMENT
    return room


def lower(recording: Recording, surroundings: Surroundings) -> tuple[Image, bytes]:
    """The packets of a recording, and what belongs at the address of the payload."""
    lowering = _Lowering(surroundings)
    lowering.add_all(Scope(recording))
    return lowering.writer.image(), bytes(lowering.payload)


def blit_of(command: Fill | Update | Copy, place: Place, payload: int, most_lanes: int) -> Blit:
    """The launch that does what a fill, an update or a copy says; `payload` is the address of an update's bytes."""
    address, length = place(command.target)
    if isinstance(command, Fill):
        return fill(address, length, command.pattern, most_lanes)
    if isinstance(command, Copy):
        return copy(address, place(command.source)[0], length, most_lanes)
    return copy(address, payload, length, most_lanes)


class _Shape(NamedTuple):
    """What all dispatches of one kernel in one shape have in common.

    Attributes:
        hidden: the hidden arguments: where in the kernarg block, and which bytes.
    """

    workgroup_size: Dimensions
    grid_size: Dimensions
    private_segment_size: int
    group_segment_size: int
    kernel_object: int
    hidden: tuple[tuple[int, bytes], ...]
    layout: KernargLayout


class _Lowering:
    def __init__(self, surroundings: Surroundings) -> None:
        self.writer = ImageWriter()
        self.payload = bytearray()
        self._surroundings = surroundings
        self._addresses = surroundings.addresses
        self._shapes: dict[tuple[object, ...], _Shape] = {}

    def add_all(self, scope: Scope) -> None:
        """Add the packets of a recording, layer by layer."""
        recording = scope.recording
        models, kernargs = recording.stored.models, recording.stored.kernargs
        for number, layer in enumerate(recording.layers):
            if number:
                self.writer.barrier()
            for index in layer:
                model, origin = models[index], Origin(recording, index, scope.outer)
                if isinstance(model, Dispatch):
                    self._dispatch(scope, model, kernargs[index], origin)
                else:
                    _STEPS[type(model)](self, scope, model, origin)

    def _dispatch(self, scope: Scope, model: Dispatch, kernarg: bytes, origin: Origin) -> None:
        """Of a dispatch like `model` with this kernarg block."""
        shape = self._shape_of(model)
        offset = self._kernargs(scope, model.pointers, kernarg, shape)
        self.writer.dispatch(Row(BODY, *shape[:5], offset), origin)

    def _dispatch_indirect(self, scope: Scope, command: DispatchIndirect, origin: Origin) -> None:
        """Two packets: a launch of the patch kernel, and the dispatch that it publishes."""
        writer = self.writer
        shape = self._shape_of(command.with_count((1, 1, 1)))
        offset = self._kernargs(scope, command.pointers, command.kernarg, shape)
        patch = self._surroundings.blit_kernel("patch")
        hidden = {argument.kind: argument.offset for argument in shape.layout.hidden}
        counts = [hidden.get(f"hidden_block_count_{axis}", NO_HIDDEN) for axis in "xyz"]
        block = writer.kernarg_block(PATCH_ARGUMENTS.pack(0, 0, offset, 0, *command.workgroup_size, *counts))
        self._point(block + PATCH_COUNTS, scope.place(command.workgroup_count))
        writer.relative.append(block + PATCH_KERNARGS)
        writer.dispatch(Row(BODY, (1, 1, 1), (1, 1, 1), *patch[:3], block), origin)
        writer.indirect_dispatch(
            Row(BODY, *shape[:5], offset), origin, address=block + PATCH_PACKET, header=block + PATCH_HEADER
        )

    def _execute(self, scope: Scope, command: ExecuteCommands, origin: Origin) -> None:
        self.add_all(scope.nested(command, origin))

    def _signal(self, _scope: Scope, command: SignalEvent, origin: Origin) -> None:
        self.writer.signal(command.event, origin)

    def _reset(self, _scope: Scope, _command: ResetEvent, _origin: Origin) -> None:
        """Nothing to do on the device: whoever waits for the event waits for the signal of a later replay."""

    def _wait(self, scope: Scope, command: WaitEvents, origin: Origin) -> None:
        """What this program signals itself comes before in the queue; only signals of others are waited for."""
        self.writer.wait(
            [event for event in command.events if event not in scope.signalled_before(origin.command)], origin
        )

    def _shape_of(self, command: Dispatch) -> _Shape:
        key = command[:5]
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = self._shape(command)
        return shape

    def _shape(self, command: Dispatch) -> _Shape:
        kernel = self._surroundings.kernel(command.executable, command.export)
        x, y, z = (count * size for count, size in zip(command.workgroup_count, command.workgroup_size, strict=True))
        block = bytearray(len(command.kernarg))
        write_hidden(block, kernel.layout, LaunchShape((x, y, z), command.workgroup_size, command.dynamic_lds))
        hidden = [(argument.offset, argument.offset + argument.size) for argument in kernel.layout.hidden]
        return _Shape(
            command.workgroup_size,
            (x, y, z),
            kernel.private_segment_size,
            kernel.group_segment_size + command.dynamic_lds,
            kernel.object,
            tuple((start, bytes(block[start:end])) for start, end in _joined(hidden)),
            kernel.layout,
        )

    def _kernargs(self, scope: Scope, pointers: Pointers, kernarg: bytes, shape: _Shape) -> int:
        """Add the arguments of a dispatch; returns where they lie."""
        kernargs, addresses = self.writer.kernargs, self._addresses
        offset = self.writer.kernarg_block(kernarg, shape.layout.size)
        for position, content in shape.hidden:
            kernargs[offset + position : offset + position + len(content)] = content
        for position, place in pointers:
            if type(place) is Range:  # by index: the names of a named tuple cost more
                write_pointer(kernargs, offset + position, addresses[place[0]] + place[1])
            else:
                self._point(offset + position, scope.place(place))
        return offset

    def _point(self, position: int, place: Location) -> None:
        """Let the kernel arguments hold an address, now or when the slots are bound."""
        if isinstance(place, Range):
            write_pointer(self.writer.kernargs, position, self._addresses[place.resource] + place.offset)
        else:
            self.writer.pointers.append(SlotPointer(position, place.slot, place.offset))

    def _transfer(self, scope: Scope, command: Fill | Update | Copy, origin: Origin) -> None:
        writer = self.writer
        command = scope.placed(command)
        payload = self._store(command) if isinstance(command, Update) else 0
        is_bound_later = isinstance(command.target, SlotRange) or (
            isinstance(command, Copy) and isinstance(command.source, SlotRange)
        )
        if is_bound_later:
            offset = writer.kernarg_block(b"")
            writer.transfers.append(SlotTransfer(writer.packet_count, offset, command, payload))
            writer.dispatch(Row(BODY, (WORKGROUP_SIZE, 1, 1), (1, 1, 1), 0, 0, 0, offset), origin)
            return
        blit = blit_of(command, self._fixed, payload, self._surroundings.most_lanes)
        kernel = self._surroundings.blit_kernel(blit.kernel)
        offset = writer.kernarg_block(blit.arguments)
        writer.dispatch(Row(BODY, (WORKGROUP_SIZE, 1, 1), (blit.lanes, 1, 1), *kernel[:3], offset), origin)

    def _fixed(self, place: Location) -> tuple[int, int]:
        """Of memory that no binding decides."""
        if isinstance(place, Range):
            return self._addresses[place.resource] + place.offset, place.length
        raise InternalError("program: a binding was asked for where there is none")

    def _store(self, command: Update) -> int:
        """Put the bytes of an update where the copy kernel can take the largest steps; returns their address."""
        base = self._surroundings.payload
        target = self._fixed(command.target)[0] if isinstance(command.target, Range) else 0
        self.payload += bytes((target - base - len(self.payload)) % PAYLOAD_ALIGNMENT)
        address = base + len(self.payload)
        self.payload += command.data
        return address


_STEPS: dict[type[Command], Callable[[_Lowering, Scope, Any, Origin], None]] = {
    Fill: _Lowering._transfer,
    Update: _Lowering._transfer,
    Copy: _Lowering._transfer,
    DispatchIndirect: _Lowering._dispatch_indirect,
    ExecuteCommands: _Lowering._execute,
    SignalEvent: _Lowering._signal,
    ResetEvent: _Lowering._reset,
    WaitEvents: _Lowering._wait,
}
"""Not bound to an instance: that would be a cycle, which keeps the program and its memory until it is collected."""


def _joined(pieces: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges that touch, as one."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(pieces):
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined
