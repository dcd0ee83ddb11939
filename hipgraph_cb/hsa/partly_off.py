"""Packets of which some do nothing this time: a barrier packet is in the place of each, so that the order stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hipgraph_cb.abi.hsa.aql import AGENT_SCOPE, BARRIER_AND, INVALID, TYPE_MASK
from hipgraph_cb.hsa.packets import BODY, THREE_DIMENSIONS, header_word

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hipgraph_cb.hsa.instances import Packets
    from hipgraph_cb.hsa.ring import Ring

_KIND = TYPE_MASK | THREE_DIMENSIONS
_IN_ORDER = header_word(BARRIER_AND, barrier=True, acquire=AGENT_SCOPE, release=AGENT_SCOPE)


class PartlyOff:
    """The packets of an instance without some.

    Args:
        off: the positions of those that do nothing.
    """

    def __init__(self, packets: Packets, off: NDArray[np.intp]) -> None:
        self.template = packets.template
        self.bodies = packets.bodies.copy()
        self.bodies[off] = 0
        self.bodies[off, 0] = INVALID
        self._packets = packets

    def place_in_ring(self, ring: Ring, start: int, end: int, index: int) -> None:
        """As the instance does it."""
        self._packets.place_in_ring(ring, start, end, index)


def words_without(words: NDArray[np.uint32], off: NDArray[np.intp]) -> NDArray[np.uint32]:
    """Header words with barrier packets at some positions. A packet that another one would publish gets one that waits
    for everything before."""
    changed: NDArray[np.uint32] = words.copy()
    kept = (words[off] & np.uint32(~_KIND & 0xFFFFFFFF)) | np.uint32(BARRIER_AND)
    changed[off] = np.where(words[off] == BODY, np.uint32(_IN_ORDER), kept)
    return changed
