"""The ring of a queue: where packets are written, and in which order (HSA: bodies, then headers, then the doorbell)."""

from __future__ import annotations

import time
from collections.abc import Callable, Set
from typing import TYPE_CHECKING, Any, Protocol

from hipgraph_cb.abi.hsa.aql import BARRIER_BIT, PACKET_SIZE, TYPE_MASK
from hipgraph_cb.errors import DeadlineExceededError
from hipgraph_cb.hsa.memory import memory_at
from hipgraph_cb.hsa.packets import COMPLETION

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FIRST_PAUSE = 20e-6
LONGEST_PAUSE = 1e-3
_WORDS = PACKET_SIZE // 4
_LONGS = PACKET_SIZE // 8


class Ring:
    """Slots for packets, used over and over.

    Args:
        memory: the bytes of all slots.

    Attributes:
        address: of the first slot.
        size: slots; a power of two.
        bodies: one row of eight 64-bit words for each slot.
        words: the header word of each slot.
    """

    def __init__(self, memory: NDArray[np.uint8]) -> None:
        self.address = int(memory.ctypes.data)
        self.size = len(memory) // PACKET_SIZE
        self.bodies: Any = memory.view("<u8").reshape(-1, _LONGS)
        self.words: Any = memory.view("<u4").reshape(-1, _WORDS)[:, 0]

    @classmethod
    def at(cls, address: int, size: int) -> Ring:
        """The ring of `size` slots at an address, which must stay mapped."""
        return cls(memory_at(address, size * PACKET_SIZE))

    def type_of(self, index: int) -> int:
        """The type of the packet that stands where this index belongs."""
        return int(self.words[index % self.size]) & TYPE_MASK

    def write(
        self, index: int, bodies: NDArray[np.uint64], words: NDArray[np.uint32], extra: int = 0, completion: int = 0
    ) -> None:
        """Write packets to the slots from `index` on, and give them to the GPU.

        The header words come last, and that of the first packet last of all: the GPU takes packets in order, so until
        then it sees none of them. On x86-64 stores are seen in the order in which they are made.

        Args:
            index: the packet index, which only grows.
            bodies: eight 64-bit words for each packet, whose type is INVALID; as many as the ring has slots, at most.
            words: their header words.
            extra: bits to add to the first header word.
            completion: the signal of the last packet, 0 for none.
        """
        count, start = len(words), index % self.size
        before_end = min(count, self.size - start)
        self.bodies[start : start + before_end] = bodies[:before_end]
        self.bodies[: count - before_end] = bodies[before_end:]
        if completion:
            self.bodies[(start + count - 1) % self.size, COMPLETION] = completion
        self.words[start + 1 : start + before_end] = words[1:before_end]
        self.words[: count - before_end] = words[before_end:]
        self.words[start] = int(words[0]) | extra


class Port(Protocol):
    """What a ring needs of the queue that it belongs to."""

    def read_index(self) -> int:
        """The first packet that the GPU has not taken yet."""

    def reserve(self, count: int) -> int:
        """Move the write index on; returns where it was."""

    def ring_doorbell(self, index: int) -> None:
        """Say that all packets up to this index are written."""

    def check(self) -> None:
        """Raise what makes waiting for this queue pointless."""


class Feeder:
    """Writes launches to a ring, in batches that fit.

    Args:
        timeout: seconds to wait for room; asked for at each wait.
        name: of the queue, for messages.
    """

    def __init__(self, ring: Ring, port: Port, timeout: Callable[[], float | None], name: str) -> None:
        self.ring = ring
        self.written = 0
        self._port = port
        self._timeout = timeout
        self._name = name
        self._read = 0

    def feed(
        self,
        bodies: NDArray[np.uint64],
        words: NDArray[np.uint32],
        *,
        waits: bool,
        completion: int,
        uncuttable: Set[int] = frozenset(),
        place: Callable[[Ring, int, int, int], None] | None = None,
    ) -> int:
        """Write the packets of one launch; returns the index of the first.

        A launch that fits into the ring is written as a whole or not at all.

        Args:
            bodies, words: as `Ring.write` takes them, of any number.
            waits: whether the first packet waits for everything that was written before.
            completion: the signal that the last packet decrements.
            uncuttable: positions that must be in one batch with the packet before.
            place: called before each batch is written: with its first position and the one behind it, and its index.

        Raises:
            DeadlineExceededError: no room within the timeout.
        """
        count, done, first = len(words), 0, self.written
        batch = count if count <= self.ring.size else self.ring.size // 2  # half, so that the GPU never runs dry
        while done < count:
            room = self._room(min(count - done, batch))
            end = min(done + room, count)
            while end < count and end in uncuttable:
                end -= 1
            index = self._port.reserve(end - done)
            if place is not None:
                place(self.ring, done, end, index)
            self.ring.write(
                index,
                bodies[done:end],
                words[done:end],
                BARRIER_BIT if waits and done == 0 else 0,
                completion if end == count else 0,
            )
            self.written = index + end - done
            self._port.ring_doorbell(self.written - 1)
            done = end
        return first

    def _room(self, wanted: int) -> int:
        """Free slots, `wanted` at least."""
        room = self.ring.size - (self.written - self._read)
        if room >= wanted:
            return room
        timeout, started, pause = self._timeout(), time.monotonic(), FIRST_PAUSE
        while True:
            self._port.check()
            self._read = self._port.read_index()
            room = self.ring.size - (self.written - self._read)
            if room >= wanted:
                return room
            if timeout is not None and time.monotonic() - started >= timeout:
                raise self._full(timeout, wanted)
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _full(self, timeout: float, wanted: int) -> DeadlineExceededError:
        return DeadlineExceededError(
            f"replay: the queue had no room for {wanted} packets within {timeout:g} s",
            where=self._name,
            found=f"read index {self._read}, write index {self.written}, {self.ring.size} slots",
            next_step="set device.timeout, or look for a kernel that does not end",
        )

    def standing(self) -> str:
        """Where the queue is, for messages."""
        return f"read index {self._port.read_index()}, write index {self.written}"
