"""A recording as packets and kernel arguments, before any of it has an address of its own."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hipgraph_cb.abi.hsa.aql import AGENT_SCOPE, BARRIER_AND, INVALID, KERNEL_DISPATCH
from hipgraph_cb.hsa.packets import (
    BODY,
    COMPLETION,
    DEPENDENCIES,
    DISPATCH_PACKET,
    FIRST_DEPENDENCY,
    header_word,
    header_words,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hipgraph_cb.recording.commands import Copy, Fill, Update
    from hipgraph_cb.recording.recording import Recording

UNIT = 64
"""Kernarg blocks start at multiples of a cache line, which is the largest alignment that a kernel may ask for."""


class Row(NamedTuple):
    """What a dispatch packet says, in the order of `packets.DISPATCH_PACKET`; `kernarg` is an offset in the image."""

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


class SlotPointer(NamedTuple):
    """A pointer in the kernel arguments that a binding decides: the address of `slot` plus `offset`, at `position`."""

    position: int
    slot: int
    offset: int


class SlotTransfer(NamedTuple):
    """A fill, update or copy whose memory a binding decides.

    Attributes:
        packet: the position of its packet.
        kernarg: where its arguments lie in the image.
        payload: the address of the bytes of an update.
    """

    packet: int
    kernarg: int
    command: Fill | Update | Copy
    payload: int


class IndirectPacket(NamedTuple):
    """A dispatch whose packet is published by the patch kernel in front of it.

    Attributes:
        packet: the position of the dispatch; the patch stands before it.
        address: where in the kernel arguments the patch is told where the packet is.
    """

    packet: int
    address: int


class EventPacket(NamedTuple):
    """A place in a barrier packet for the signal of an event: the 64-bit word number `word` of a packet."""

    packet: int
    word: int
    event: int


class Origin(NamedTuple):
    """The command that a packet comes from; `outer` is the command that runs its recording, if it is nested."""

    recording: Recording
    command: int
    outer: Origin | None = None

    def where(self) -> str:
        """How messages call the command, from the outside in."""
        own = self.recording.where(self.command)
        return own if self.outer is None else f"{self.outer.where()}, {own}"


@dataclass(frozen=True)
class Image:
    """Packets of a whole recording.

    Attributes:
        packets: bodies of type INVALID, whose kernarg addresses are offsets in `kernargs`.
        words: their header words.
        words_in_order: the same with every packet waiting for the one before.
        origins: the command behind each packet.
        kernargs: kernel arguments of all packets; zero where a slot's address belongs.
        pointers, transfers: what bindings decide.
        relative: where the kernel arguments hold an offset in themselves in place of an address.
        indirect: dispatches whose packets other packets publish.
        signals, waits: which words of which packets name the signals of events, by position.
    """

    packets: NDArray[Any]
    words: NDArray[np.uint32]
    words_in_order: NDArray[np.uint32]
    origins: tuple[Origin, ...]
    kernargs: bytes
    pointers: tuple[SlotPointer, ...] = ()
    transfers: tuple[SlotTransfer, ...] = ()
    relative: tuple[int, ...] = ()
    indirect: tuple[IndirectPacket, ...] = ()
    signals: tuple[EventPacket, ...] = ()
    waits: tuple[EventPacket, ...] = ()

    def where(self, packet: int) -> str:
        """How messages call the command behind a packet."""
        return self.origins[packet].where()

    @property
    def changes(self) -> bool:
        """Whether a launch has to write something of its own, so that two in flight cannot share the arguments."""
        return bool(self.pointers or self.transfers or self.indirect or self.signals or self.waits)

    @cached_property
    def uncuttable(self) -> frozenset[int]:
        """Packets that must be written together with the one before."""
        return frozenset(each.packet for each in self.indirect)


class ImageWriter:
    """Collects the packets of a recording, in the order of a queue."""

    def __init__(self) -> None:
        self.kernargs = bytearray()
        self.pointers: list[SlotPointer] = []
        self.transfers: list[SlotTransfer] = []
        self.relative: list[int] = []
        self._rows: list[Row] = []
        self._kinds: list[int] = []
        self._origins: list[Origin] = []
        self._layer_starts: list[int] = []
        self._indirect: list[tuple[IndirectPacket, int]] = []
        self._signals: list[EventPacket] = []
        self._waits: list[EventPacket] = []

    @property
    def packet_count(self) -> int:
        return len(self._rows)

    def barrier(self) -> None:
        """Whatever comes next waits for all that is there. It costs nothing where nothing comes next."""
        if self._rows and self._layer_starts[-1:] != [len(self._rows)]:
            self._layer_starts.append(len(self._rows))

    def kernarg_block(self, content: bytes, size: int = 0) -> int:
        """Add one launch's kernel arguments, `size` bytes or more with zeros at the end; returns where they lie."""
        offset = len(self.kernargs)
        units = -(-max(len(content), size) // UNIT) or 1
        self.kernargs += content.ljust(units * UNIT, b"\0")
        return offset

    def dispatch(self, row: Row, origin: Origin) -> None:
        """Add a dispatch packet."""
        self._add(KERNEL_DISPATCH, row, origin)

    def indirect_dispatch(self, row: Row, origin: Origin, address: int, header: int) -> None:
        """Add a dispatch that the packet before publishes.

        Args:
            address: where the kernel arguments of the packet before say where this packet is.
            header: where they say which header word it gets.
        """
        self._indirect.append((IndirectPacket(len(self._rows), address), header))
        self._add(KERNEL_DISPATCH, row, origin)

    def signal(self, event: int, origin: Origin) -> None:
        """Add a packet that signals an event."""
        self._signals.append(EventPacket(len(self._rows), COMPLETION, event))
        self._add(BARRIER_AND, NOTHING, origin)

    def wait(self, events: Sequence[int], origin: Origin) -> None:
        """Add packets that wait for events."""
        for start in range(0, len(events), DEPENDENCIES):
            for word, event in enumerate(events[start : start + DEPENDENCIES], FIRST_DEPENDENCY):
                self._waits.append(EventPacket(len(self._rows), word, event))
            self._add(BARRIER_AND, NOTHING, origin)

    def image(self) -> Image:
        """All of it. A recording without packets has no header words either."""
        if self._signals and self._signals[-1].packet == len(self._rows) - 1:
            self._add(BARRIER_AND, NOTHING, self._origins[-1])  # the last packet has the signal of the queue
        starts = [0, *(start for start in self._layer_starts if 0 < start < len(self._rows))]
        words, words_in_order = self._words(starts), self._words(range(len(self._rows)))
        for indirect, header in self._indirect:
            HEADER.pack_into(self.kernargs, header, int(words[indirect.packet]) | ACQUIRE_AGENT)
            words[indirect.packet] = words_in_order[indirect.packet] = BODY
        return Image(
            packets=np.array(self._rows, DISPATCH_PACKET),
            words=words,
            words_in_order=words_in_order,
            origins=tuple(self._origins),
            kernargs=bytes(self.kernargs),
            pointers=tuple(self.pointers),
            transfers=tuple(self.transfers),
            relative=tuple(self.relative),
            indirect=tuple(indirect for indirect, _ in self._indirect),
            signals=tuple(self._signals),
            waits=tuple(self._waits),
        )

    def _words(self, starts: Sequence[int]) -> NDArray[np.uint32]:
        return header_words(self._kinds, starts) if self._kinds else np.zeros(0, np.uint32)

    def _add(self, kind: int, row: Row, origin: Origin) -> None:
        self._rows.append(row)
        self._kinds.append(kind)
        self._origins.append(origin)
