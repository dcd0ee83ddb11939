"""AQL packets as numpy arrays: the layout of a kernel dispatch, and the header words of a whole recording.

A header word is the first 32 bits of a packet: the 16-bit header and the 16-bit setup beside it. A packet belongs to
the GPU from the moment its header says a valid type, so bodies carry the type INVALID and header words are kept apart.
Layout and bits: HSA Platform System Architecture Specification 1.2, "Architected Queuing Language".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hipgraph_cb.abi.hsa.aql import (
    ACQUIRE_SHIFT,
    AGENT_SCOPE,
    BARRIER_AND,
    BARRIER_BIT,
    INVALID,
    KERNEL_DISPATCH,
    NO_SCOPE,
    PACKET_SIZE,
    RELEASE_SHIFT,
    SCOPE_MASK,
    SYSTEM_SCOPE,
    TYPE_MASK,
    BarrierPacket,
    DispatchPacket,
    packet_header,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_TYPE = 6
"""A type that does not exist: the patch kernel gives it to a packet whose grid cannot be launched."""
THREE_DIMENSIONS = 3 << 16
BODY = INVALID | THREE_DIMENSIONS
"""The header word of a dispatch that is not published yet."""
FIRST_DEPENDENCY = BarrierPacket.dep_signal.offset // 8
DEPENDENCIES = BarrierPacket.dep_signal.size // 8
COMPLETION = DispatchPacket.completion_signal.offset // 8
"""Where a packet names signals, in words of 64 bits: what a barrier packet waits for, and what any packet completes."""

_FIELDS = {
    "header": "<u4",
    "workgroup_size": ("<u2", 3),
    "grid_size": ("<u4", 3),
    "private_segment_size": "<u4",
    "group_segment_size": "<u4",
    "kernel_object": "<u8",
    "kernarg_address": "<u8",
    "completion_signal": "<u8",
    "reserved0": "<u2",
    "reserved2": "<u8",
}
DISPATCH_PACKET = np.dtype(
    {
        "names": list(_FIELDS),
        "formats": list(_FIELDS.values()),
        "offsets": [getattr(DispatchPacket, name).offset for name in _FIELDS],
        "itemsize": PACKET_SIZE,
    }
)
"""A kernel dispatch, with `header` as the whole header word. Grid sizes in work-items, segment sizes in bytes.

No byte is without a field: numpy does not copy what is between fields.
"""


def header_word(kind: int, *, barrier: bool = False, acquire: int = NO_SCOPE, release: int = NO_SCOPE) -> int:
    """A header word; `acquire` and `release` are scopes."""
    setup = THREE_DIMENSIONS if kind == KERNEL_DISPATCH else 0
    return packet_header(kind, barrier=barrier, acquire=acquire, release=release) | setup


def header_words(kinds: NDArray[np.uint8] | Sequence[int], layer_starts: Sequence[int]) -> NDArray[np.uint32]:
    """The header words of a recording that stands alone in a queue.

    A barrier has no packet of its own. The barrier bit stands on the first packet behind it, and on the last packet of
    all, whose completion says that everything is done; behind a layer of several that is a packet that does nothing
    else. Memory goes with it: each packet that has a barrier behind it releases to the agent, since any of them may be
    the last to finish; the first packet behind the barrier acquires. The first packet of all acquires what the host
    wrote, the last one releases to it.

    Args:
        kinds: the packet types.
        layer_starts: the positions of the first packets of the layers, 0 first.
    """
    if not len(kinds):
        return np.zeros(0, np.uint32)
    every = np.array([header_word(kind) for kind in range(max(KERNEL_DISPATCH, BARRIER_AND) + 1)], np.uint32)
    words: NDArray[np.uint32] = every[np.asarray(kinds)]
    words[: layer_starts[-1]] |= header_word(0, release=AGENT_SCOPE)
    words[list(layer_starts[1:])] |= header_word(0, barrier=True, acquire=AGENT_SCOPE)
    words[0] |= header_word(0, acquire=SYSTEM_SCOPE)
    words[-1] |= header_word(0, barrier=True, release=SYSTEM_SCOPE)
    return words


def show_others(words: NDArray[np.uint32], packet: int, waiting: int) -> None:
    """Let the host and other devices see what is done when a packet completes, and what is behind the packet `waiting`
    see what they do."""
    shown = int(words[packet]) & ~(SCOPE_MASK << RELEASE_SHIFT)
    words[packet] = shown | header_word(0, release=SYSTEM_SCOPE)
    taken = int(words[waiting]) & ~(SCOPE_MASK << ACQUIRE_SHIFT)
    words[waiting] = taken | header_word(0, acquire=SYSTEM_SCOPE)


def describe(words: NDArray[np.uint32]) -> list[str]:
    """Header words in words: `dispatch barrier acquire=agent release=system`."""
    return [_describe(int(word)) for word in words]


def _describe(word: int) -> str:
    kind = {INVALID: "invalid", KERNEL_DISPATCH: "dispatch", BARRIER_AND: "barrier-and"}.get(
        word & TYPE_MASK, "unknown"
    )
    scopes = ("", "agent", "system", "bad")
    acquire, release = scopes[word >> ACQUIRE_SHIFT & SCOPE_MASK], scopes[word >> RELEASE_SHIFT & SCOPE_MASK]
    parts = [
        kind,
        "barrier" if word & BARRIER_BIT else "",
        acquire and f"acquire={acquire}",
        release and f"release={release}",
    ]
    return " ".join(part for part in parts if part)
