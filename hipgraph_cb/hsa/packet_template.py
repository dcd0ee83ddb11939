"""A recording as packets and kernel arguments, before any of it has an address of its own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hipgraph_cb.abi.hsa.aql import PACKET_SIZE
from hipgraph_cb.cached import cached_property

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hipgraph_cb.backend.nested_scope import NestedScope
    from hipgraph_cb.collectives.launches import RankLaunch
    from hipgraph_cb.hsa.lowering import Transfer
    from hipgraph_cb.recording.commands import Operation


class SlotValues(NamedTuple):
    """What bindings decide in memory: the address of each slot, or its number, times a factor plus an offset, of which
    the lowest bytes go to a position."""

    positions: NDArray[np.intp]
    widths: NDArray[np.intp]
    slots: NDArray[np.intp]
    factors: NDArray[np.uint64]
    offsets: NDArray[np.uint64]

    @staticmethod
    def of(positions: Any, widths: Any, slots: Any, factors: Any = 1, offsets: Any = 0) -> SlotValues:
        """Columns, of which some may be one number for all rows."""
        at, bytes_, of = (column.astype(np.intp) for column in np.broadcast_arrays(positions, widths, slots))
        by, plus = (np.broadcast_to(np.asarray(each, np.uint64), at.shape) for each in (factors, offsets))
        return SlotValues(at, bytes_, of, by, plus)

    @staticmethod
    def joined(parts: Sequence[SlotValues]) -> SlotValues:
        """All rows of some."""
        none = SlotValues.of(*(np.zeros(0, np.intp) for _ in range(3)))
        return SlotValues(*map(np.concatenate, zip(none, *parts, strict=True)))


class SlotTransfer(NamedTuple):
    """A fill, update or copy, of rows too, whose memory a binding decides.

    Attributes:
        packet: the position of its packet.
        kernarg: where its arguments lie in the template.
        payload: the address of the bytes of an update.
    """

    packet: int
    kernarg: int
    command: Transfer
    payload: int


class IndirectPacket(NamedTuple):
    """A dispatch whose packet is published by the patch kernel in front of it.

    Attributes:
        packet: the position of the dispatch; the patch stands before it.
        address: where in the kernel arguments the patch finds where the packet is.
    """

    packet: int
    address: int


class EventPacket(NamedTuple):
    """A place in a barrier packet for the signal of an event: the 64-bit word number `word` of a packet."""

    packet: int
    word: int
    event: int


class HostCallPackets(NamedTuple):
    """Two barrier packets: the one at `packet` completes the signal on which a function of the host starts, the next
    one waits for the signal that is completed when it has returned.

    Attributes:
        function: the resource id.
    """

    packet: int
    function: int


class CollectivePackets(NamedTuple):
    """The packets of one operation between ranks, by position: four barrier packets, and a dispatch in the middle.

    Attributes:
        channel: the resource id.
        arrive, wait: this rank has come; all have.
        finish, leave: this rank is done; all are.
        launch: what is dispatched between; None where nothing is.
        kernarg: where its arguments are in the template.
    """

    channel: int
    operation: Operation
    arrive: int
    wait: int
    finish: int
    leave: int
    launch: RankLaunch | None
    kernarg: int


class Origins(NamedTuple):
    """The commands that packets come from.

    Attributes:
        scopes: the recordings.
        which: for each packet the number of its scope.
        commands: for each packet the index of its command there.
    """

    scopes: tuple[NestedScope, ...]
    which: NDArray[np.intp]
    commands: NDArray[np.intp]

    def where(self, packet: int) -> str:
        """How messages call the command, from the outside in."""
        return self.scopes[int(self.which[packet])].where(int(self.commands[packet]))

    def outermost(self, packet: int) -> int:
        """The command of the outermost recording."""
        return int(self.outermost_commands[packet])

    @property
    def outermost_commands(self) -> NDArray[np.intp]:
        """The same for all packets."""
        outer = [scope.outermost_command for scope in self.scopes]
        known = np.array([-1 if command is None else command for command in outer], np.intp)[self.which]
        return np.where(known < 0, self.commands, known)


@dataclass(frozen=True)
class PacketTemplate:
    """Packets of a whole recording.

    Attributes:
        packets: bodies of type INVALID, whose kernarg addresses are offsets in `kernargs`.
        words: their header words.
        words_in_order: the same with every packet waiting for the one before.
        origins: the commands behind the packets.
        kernargs: kernel arguments of all packets; zero where a slot's address belongs.
        pointers, transfers: what bindings decide in the kernel arguments.
        shapes: what they decide in the packets, as bytes one behind the other.
        relative: where the kernel arguments hold an offset in themselves in place of an address.
        indirect: dispatches whose packets other packets publish.
        signals, waits: which words of which packets name the signals of events, by position.
        has_end: whether the last packet is a barrier that belongs to no command.
        host_calls: the packets round functions of the host.
        collectives: those of operations between ranks.
    """

    packets: NDArray[Any]
    words: NDArray[np.uint32]
    words_in_order: NDArray[np.uint32]
    origins: Origins
    kernargs: bytes
    pointers: SlotValues
    shapes: SlotValues
    transfers: tuple[SlotTransfer, ...] = ()
    relative: tuple[int, ...] = ()
    indirect: tuple[IndirectPacket, ...] = ()
    signals: tuple[EventPacket, ...] = ()
    waits: tuple[EventPacket, ...] = ()
    has_end: bool = False
    host_calls: tuple[HostCallPackets, ...] = ()
    collectives: tuple[CollectivePackets, ...] = ()

    def where(self, packet: int) -> str:
        """How messages call the command behind a packet."""
        return self.origins.where(packet)

    @property
    def changes(self) -> bool:
        """Whether a launch has to write something of its own, so that two in flight cannot share the arguments."""
        is_bound = len(self.pointers.slots) or len(self.shapes.slots)
        has_signals = self.signals or self.waits or self.host_calls or self.collectives
        return bool(is_bound or self.transfers or self.indirect or has_signals)

    def packets_of(self, commands: Collection[int]) -> NDArray[np.intp]:
        """The packets of some commands of the outermost recording."""
        return np.flatnonzero(np.isin(self.origins.outermost_commands, list(commands)))

    @cached_property
    def open_grids(self) -> NDArray[np.intp]:
        """Packets whose grids bindings decide."""
        return np.unique(self.shapes.positions // PACKET_SIZE)

    @cached_property
    def uncuttable(self) -> frozenset[int]:
        """Packets that must be written together with the one before."""
        return frozenset(each.packet for each in self.indirect)
