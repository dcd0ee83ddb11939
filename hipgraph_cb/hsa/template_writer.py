"""Collects the packets of a recording and their kernel arguments, in the order of a queue."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hipgraph_cb.abi.hsa.aql import AGENT_SCOPE, BARRIER_AND, INVALID, KERNEL_DISPATCH
from hipgraph_cb.hsa.packet_template import (
    CollectivePackets,
    EventPacket,
    HostCallPackets,
    IndirectPacket,
    Origins,
    PacketTemplate,
    SlotTransfer,
    SlotValues,
)
from hipgraph_cb.hsa.packets import (
    BODY,
    COMPLETION,
    DEPENDENCIES,
    DISPATCH_PACKET,
    FIRST_DEPENDENCY,
    header_word,
    header_words,
    show_others,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hipgraph_cb.backend.nested_scope import NestedScope

WORD = 8
"""Bytes of a pointer."""
UNIT = 64
"""Kernarg blocks start at multiples of a cache line, which is the largest alignment that a kernel may ask for."""


class Row(NamedTuple):
    """What a dispatch packet says, in the order of `packets.DISPATCH_PACKET`; `kernarg` counts from its start."""

    header: int
    workgroup_size: tuple[int, int, int]
    grid_size: tuple[int, int, int]
    private_segment_size: int
    group_segment_size: int
    kernel_object: int
    kernarg: int
    completion_signal: int = 0
    reserved0: int = 0
    reserved2: int = 0


NOTHING = Row(INVALID, (0, 0, 0), (0, 0, 0), 0, 0, 0, 0)
"""A barrier packet without signals. Its kernarg address stays 0."""
HEADER = struct.Struct("<I")
ACQUIRE_AGENT = header_word(0, acquire=AGENT_SCOPE)


class TemplateWriter:
    """Collects the packets of a recording.

    Attributes:
        kernargs: the kernel arguments of all packets so far.
        transfers, relative: as in `PacketTemplate`.
    """

    def __init__(self) -> None:
        self.kernargs = bytearray()
        self.transfers: list[SlotTransfer] = []
        self.relative: list[int] = []
        self.packet_count = 0
        self._packets: list[NDArray[Any]] = []
        self._kinds: list[NDArray[np.uint8]] = []
        self._scopes: dict[NestedScope, int] = {}
        self._which: list[NDArray[np.intp]] = []
        self._commands: list[NDArray[np.intp]] = []
        self._rows: list[tuple[Row, int, int, int]] = []  # single packets that are not in the arrays yet
        self._layer_starts: list[int] = []
        self._pointers: list[SlotValues] = []
        self._shapes: list[SlotValues] = []
        self._indirect: list[tuple[IndirectPacket, int]] = []
        self._signals: list[EventPacket] = []
        self._waits: list[EventPacket] = []
        self._host_calls: list[HostCallPackets] = []
        self._collectives: list[CollectivePackets] = []

    def barrier(self) -> None:
        """Whatever comes next waits for all that is there. It costs nothing where nothing comes next."""
        if self.packet_count and self._layer_starts[-1:] != [self.packet_count]:
            self._layer_starts.append(self.packet_count)

    def kernarg_block(self, content: bytes) -> int:
        """Add one launch's kernel arguments, with zeros at the end; returns where they lie."""
        offset = len(self.kernargs)
        self.kernargs += content.ljust(_whole_units(len(content)), b"\0")
        return offset

    def kernarg_blocks(self, count: int, size: int) -> tuple[NDArray[np.intp], NDArray[np.uint8]]:
        """Room for the kernel arguments of many launches: where they will lie, and rows of zeros for `place_blocks`."""
        whole, start = _whole_units(size), len(self.kernargs)
        return start + np.arange(count) * whole, np.zeros((count, whole), np.uint8)

    def place_blocks(self, offsets: NDArray[np.intp], blocks: NDArray[np.uint8]) -> None:
        """Add what `kernarg_blocks` gave room for, before anything else is added."""
        if len(offsets):
            self.kernargs += blocks.tobytes()

    def write(self, position: int, content: bytes) -> None:
        """Change bytes of the kernel arguments."""
        self.kernargs[position : position + len(content)] = content

    def point(self, position: int, slot: int, offset: int) -> None:
        """Let a binding decide a pointer in the kernel arguments."""
        self.decide(SlotValues.of([position], WORD, [slot], 1, [offset]))

    def decide(self, values: SlotValues) -> None:
        """Let bindings decide bytes of the kernel arguments."""
        self._pointers.append(values)

    def shape(self, values: SlotValues) -> None:
        """Let bindings decide bytes of the packets."""
        self._shapes.append(values)

    def dispatches(
        self, packets: NDArray[Any], starts: Sequence[int], scope: NestedScope, commands: NDArray[np.intp]
    ) -> None:
        """Add dispatch packets.

        Args:
            starts: the positions among them, but the first, before which a barrier stands.
            scope, commands: where they come from.
        """
        self._flush()
        self._layer_starts.extend(self.packet_count + start for start in starts)
        self._extend(packets, np.full(len(packets), KERNEL_DISPATCH, np.uint8), self._scope(scope), commands)
        self.packet_count += len(packets)

    def dispatch(self, row: Row, scope: NestedScope, command: int) -> None:
        """Add a dispatch packet."""
        self._add(KERNEL_DISPATCH, row, scope, command)

    def indirect_dispatch(self, row: Row, scope: NestedScope, command: int, address: int, header: int) -> None:
        """Add a dispatch that the packet before publishes.

        Args:
            address: where the kernel arguments of the packet before say where this packet is.
            header: where they say which header word it gets.
        """
        self._indirect.append((IndirectPacket(self.packet_count, address), header))
        self._add(KERNEL_DISPATCH, row, scope, command)

    def signal(self, event: int, scope: NestedScope, command: int) -> None:
        """Add a packet that signals an event."""
        self._signals.append(EventPacket(self.packet_count, COMPLETION, event))
        self._add(BARRIER_AND, NOTHING, scope, command)

    def wait(self, events: Sequence[int], scope: NestedScope, command: int) -> None:
        """Add packets that wait for events."""
        for start in range(0, len(events), DEPENDENCIES):
            for word, event in enumerate(events[start : start + DEPENDENCIES], FIRST_DEPENDENCY):
                self._waits.append(EventPacket(self.packet_count, word, event))
            self._add(BARRIER_AND, NOTHING, scope, command)

    def host_call(self, function: int, scope: NestedScope, command: int) -> None:
        """Add the packets round a call of a function of the host."""
        self._host_calls.append(HostCallPackets(self.packet_count, function))
        self._add(BARRIER_AND, NOTHING, scope, command)
        self._add(BARRIER_AND, NOTHING, scope, command)

    def marker(self, scope: NestedScope, command: int) -> int:
        """Add a barrier packet without signals; returns its position."""
        self._add(BARRIER_AND, NOTHING, scope, command)
        return self.packet_count - 1

    def collective(self, packets: CollectivePackets) -> None:
        """Note which packets an operation between ranks has."""
        self._collectives.append(packets)

    def template(self) -> PacketTemplate:
        """All of it. A recording without packets has no header words either."""
        starts = [0, *(start for start in self._layer_starts if 0 < start < self.packet_count)]
        has_end = self._needs_end(starts[-1])
        if has_end:
            starts.append(self.packet_count)
            self._rows.append((NOTHING, BARRIER_AND, *self._last_origin()))
            self.packet_count += 1
        self._flush()
        count = self.packet_count
        kinds = np.concatenate(self._kinds) if count else np.zeros(0, np.uint8)
        words, words_in_order = (header_words(kinds, each) for each in (starts, range(count)))
        shown = [(call.packet, call.packet + 1) for call in self._host_calls]
        for meeting in self._collectives:
            shown += [(meeting.arrive, meeting.wait), (meeting.finish, meeting.leave)]
        for packet, waiting in shown:
            for each in (words, words_in_order):
                show_others(each, packet, waiting)
        for indirect, header in self._indirect:
            HEADER.pack_into(self.kernargs, header, int(words[indirect.packet]) | ACQUIRE_AGENT)
            words[indirect.packet] = words_in_order[indirect.packet] = BODY
        return PacketTemplate(
            packets=_joined(self._packets),
            words=words,
            words_in_order=words_in_order,
            origins=Origins(
                tuple(self._scopes),
                np.concatenate(self._which) if count else np.zeros(0, np.intp),
                np.concatenate(self._commands) if count else np.zeros(0, np.intp),
            ),
            kernargs=bytes(self.kernargs),
            pointers=SlotValues.joined(self._pointers),
            shapes=SlotValues.joined(self._shapes),
            transfers=tuple(self.transfers),
            relative=tuple(self.relative),
            indirect=tuple(indirect for indirect, _ in self._indirect),
            signals=tuple(self._signals),
            waits=tuple(self._waits),
            has_end=has_end,
            host_calls=tuple(self._host_calls),
            collectives=tuple(self._collectives),
        )

    def _needs_end(self, last_layer: int) -> bool:
        """Whether a barrier packet has to carry the signal of the queue, which the last packet completes.

        A packet with that signal waits for all others, so one of a wider layer would not run beside the rest of it; and
        one that signals an event has no room for a second signal.
        """
        published = sum(each.packet > last_layer for each, _ in self._indirect)  # they follow the packet before
        is_wide = self.packet_count - last_layer - published > 1
        return is_wide or (bool(self._signals) and self._signals[-1].packet == self.packet_count - 1)

    def _scope(self, scope: NestedScope) -> int:
        return self._scopes.setdefault(scope, len(self._scopes))

    def _add(self, kind: int, row: Row, scope: NestedScope, command: int) -> None:
        self._rows.append((row, kind, self._scope(scope), command))
        self.packet_count += 1

    def _last_origin(self) -> tuple[int, int]:
        if self._rows:
            return self._rows[-1][2:]
        return int(self._which[-1][-1]), int(self._commands[-1][-1])

    def _flush(self) -> None:
        if self._rows:
            rows, kinds, which, commands = zip(*self._rows, strict=True)
            self._rows.clear()
            self._extend(
                np.array(list(rows), DISPATCH_PACKET), np.array(kinds, np.uint8), np.array(which), np.array(commands)
            )

    def _extend(
        self, packets: NDArray[Any], kinds: NDArray[np.uint8], which: NDArray[np.intp] | int, commands: NDArray[np.intp]
    ) -> None:
        self._packets.append(packets)
        self._kinds.append(kinds)
        self._which.append(np.broadcast_to(np.asarray(which), len(packets)))
        self._commands.append(commands)


def _whole_units(size: int) -> int:
    return max(-(-size // UNIT), 1) * UNIT


def _joined(packets: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Packets in one array, as plain bytes on the way: numpy would give the fields other offsets."""
    size = DISPATCH_PACKET.itemsize
    plain = [np.zeros(0, f"V{size}"), *(each.view(f"V{size}") for each in packets)]
    return np.concatenate(plain).view(DISPATCH_PACKET)
