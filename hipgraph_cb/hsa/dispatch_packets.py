"""All dispatches of a scope as packets and kernel arguments, from its arena in a few steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hipgraph_cb.abi.hsa.aql import PACKET_SIZE
from hipgraph_cb.backend.arena import WORD
from hipgraph_cb.code_object.hidden_args import LaunchShape, write_hidden
from hipgraph_cb.hsa.packet_template import SlotValues
from hipgraph_cb.hsa.packets import BODY, DISPATCH_PACKET
from hipgraph_cb.recording.launch_form import COUNT_WIDTH, LDS_AT, SHAPE, LaunchForm
from hipgraph_cb.recording.place_table import BUFFER, CONSTANT, KIND_BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hipgraph_cb.backend.arena import Arena
    from hipgraph_cb.code_object.kernel_args import KernargLayout
    from hipgraph_cb.hsa.executable import KernelCode
    from hipgraph_cb.hsa.template_writer import TemplateWriter
    from hipgraph_cb.recording.commands import Dimensions


class DispatchPackets:
    """The packets of all dispatches that an arena holds; their kernel arguments go to the writer.

    Attributes:
        is_dispatch: for each command of the arena.
    """

    def __init__(self, arena: Arena, kernel: Callable[[int, str], KernelCode], writer: TemplateWriter) -> None:
        forms = arena.table.forms
        launches = {number: form for number, form in enumerate(forms) if isinstance(form, LaunchForm)}
        self.is_dispatch: NDArray[np.bool_] = np.isin(arena.rows, list(launches))
        self._packets = np.zeros(len(arena.rows), DISPATCH_PACKET)
        self._packets["header"] = BODY
        self._shapes: list[OpenShape] = []
        for number, form in launches.items():
            commands = np.flatnonzero(arena.rows == number)
            if len(commands):
                self._add(arena, commands, form, kernel(form.executable, form.export), writer)

    def packets(self, commands: NDArray[np.intp]) -> NDArray[Any]:
        """Those of some commands, in their order."""
        return self._packets[commands]

    def patch_shapes(self, positions: NDArray[np.intp], writer: TemplateWriter) -> None:
        """Let bindings decide grids and LDS; `positions`: where the packet of each command is."""
        for shape in self._shapes:
            at = positions[shape.commands] * PACKET_SIZE + shape.offset
            writer.shape(SlotValues.of(at, 4, shape.slots, shape.factors, shape.base))

    def _add(
        self, arena: Arena, commands: NDArray[np.intp], form: LaunchForm, kernel: KernelCode, writer: TemplateWriter
    ) -> None:
        words, starts = arena.bytes.view(np.uint64), arena.starts[commands] // WORD
        shapes = words[starts[:, None] + (form.extent // WORD + np.arange(SHAPE.size // WORD))]
        sizes, lds = shapes.view(np.uint32), shapes[:, 3]
        offsets, kernargs = writer.kernarg_blocks(len(commands), max(form.extent, kernel.layout.size))
        kernargs.view(np.uint64)[:, : form.extent // WORD] = words[starts[:, None] + np.arange(form.extent // WORD)]
        _write_hidden(kernargs, kernel.layout, shapes)
        writer.place_blocks(offsets, kernargs)
        packets = self._packets
        packets["workgroup_size"][commands] = sizes[:, 3:6]
        packets["grid_size"][commands] = sizes[:, :3] * sizes[:, 3:6]
        packets["private_segment_size"][commands] = kernel.private_segment_size
        packets["group_segment_size"][commands] = kernel.group_segment_size + lds
        packets["kernel_object"][commands] = kernel.object
        packets["kernarg_address"][commands] = offsets
        _point(arena, commands, form, offsets, writer)
        for index, (at, width) in enumerate(form.numbers, len(form.relocations) - len(form.numbers)):
            which, slots = _in_slots(arena, commands, index)
            if not len(which):
                continue
            if at < form.extent:
                writer.decide(SlotValues.of(offsets[which] + at, width, slots))
                continue
            hidden, shape = _open_shape(at - form.extent, kernel, packets, commands[which], slots)
            self._shapes.append(shape)
            for argument in kernel.layout.hidden:
                if argument.kind == hidden:
                    writer.decide(SlotValues.of(offsets[which] + argument.offset, argument.size, slots))


class OpenShape(NamedTuple):
    """A number in the packets of commands that is a slot's times factors, and more.

    Attributes:
        offset: of the number in a packet.
    """

    commands: NDArray[np.intp]
    offset: int
    slots: NDArray[np.intp]
    factors: Any
    base: int


def _open_shape(
    at: int, kernel: KernelCode, packets: NDArray[Any], commands: NDArray[np.intp], slots: NDArray[np.intp]
) -> tuple[str, OpenShape]:
    """The hidden argument and the field of a packet that a number `at` a place of a launch shape decides."""
    fields: Any = DISPATCH_PACKET.fields
    if at == LDS_AT:
        shape = OpenShape(commands, fields["group_segment_size"][1], slots, 1, kernel.group_segment_size)
        return "hidden_dynamic_lds_size", shape
    axis = at // COUNT_WIDTH
    sizes = packets["workgroup_size"][commands, axis]
    return f"hidden_block_count_{'xyz'[axis]}", OpenShape(commands, fields["grid_size"][1] + 4 * axis, slots, sizes, 0)


def _in_slots(arena: Arena, commands: NDArray[np.intp], index: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Which of some commands have a slot at the relocation `index`, and the slots."""
    owners = np.frombuffer(arena.table.places.owners, np.uint64)[arena.places_of(commands, index)]
    kinds = owners & np.uint64((1 << KIND_BITS) - 1)
    which = np.flatnonzero((kinds != BUFFER) & (kinds != CONSTANT))
    return which, (owners[which] >> np.uint64(KIND_BITS)).astype(np.intp)


def _write_hidden(kernargs: NDArray[np.uint8], layout: KernargLayout, shapes: NDArray[np.uint64]) -> None:
    """Fill in the hidden arguments of every block: the same for launches of one shape."""
    if not layout.hidden:
        return
    kinds, which = np.unique(shapes, axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(which.ravel(), minlength=len(kinds)))
    for shape, commands in zip(kinds, np.split(order, ends[:-1]), strict=True):
        *sizes, lds = SHAPE.unpack(shape.tobytes())
        for position, content in hidden_arguments(layout, tuple(sizes[:3]), tuple(sizes[3:]), lds):
            kernargs[commands, position : position + len(content)] = np.frombuffer(content, np.uint8)


def _point(
    arena: Arena, commands: NDArray[np.intp], form: LaunchForm, offsets: NDArray[np.intp], writer: TemplateWriter
) -> None:
    """Note the pointers that slots decide."""
    within = np.frombuffer(arena.table.places.offsets, np.uint64)
    for index, position in enumerate(form.pointers):
        which, slots = _in_slots(arena, commands, index)
        if len(which):
            named = arena.places_of(commands[which], index)
            writer.decide(SlotValues.of(offsets[which] + position, WORD, slots, 1, within[named]))


def hidden_arguments(
    layout: KernargLayout, count: Dimensions, size: Dimensions, dynamic_lds: int
) -> list[tuple[int, bytes]]:
    """The hidden arguments of a launch: where in the kernarg block, and which bytes."""
    x, y, z = (workgroups * extent for workgroups, extent in zip(count, size, strict=True))
    block = bytearray(layout.size)
    write_hidden(block, layout, LaunchShape((x, y, z), size, dynamic_lds))
    pieces = _joined([(argument.offset, argument.offset + argument.size) for argument in layout.hidden])
    return [(start, bytes(block[start:end])) for start, end in pieces]


def _joined(pieces: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges that touch, as one."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(pieces):
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined
