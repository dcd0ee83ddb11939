"""The operations, the reductions and the types of elements, and how many elements each end of an operation has."""

from __future__ import annotations

from typing import NamedTuple

ELEMENT_SIZES = {
    "i8": 1,
    "u8": 1,
    "i16": 2,
    "u16": 2,
    "i32": 4,
    "u32": 4,
    "i64": 8,
    "u64": 8,
    "f16": 2,
    "bf16": 2,
    "f32": 4,
    "f64": 8,
}
"""Bytes of an element, by the name of its type."""
REDUCTIONS = ("sum", "prod", "min", "max", "avg")
ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, REDUCE, ALL_TO_ALL, GATHER, SCATTER, SEND, RECEIVE = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "broadcast",
    "reduce",
    "all_to_all",
    "gather",
    "scatter",
    "send",
    "receive",
)
KINDS = (
    ALL_REDUCE,
    ALL_GATHER,
    REDUCE_SCATTER,
    BROADCAST,
    REDUCE,
    ALL_TO_ALL,
    GATHER,
    SCATTER,
    SEND,
    RECEIVE,
)
REDUCING = frozenset({ALL_REDUCE, REDUCE_SCATTER, REDUCE})
ROOTED = frozenset({BROADCAST, REDUCE, GATHER, SCATTER})
PAIRED = frozenset({SEND, RECEIVE})
"""Between two ranks; the others take no part."""


class Collective(NamedTuple):
    """One operation of several ranks.

    Attributes:
        kind: one of the names above.
        type: the type of an element.
        elements: in one block: all of them, or those that one rank gives to or gets from one other rank.
        reduction: one of `REDUCTIONS` where there is one, else "".
        root: the rank that a rooted operation is about; the other rank of a send or receive; else 0.
    """

    kind: str
    type: str
    elements: int
    reduction: str = ""
    root: int = 0

    @property
    def block(self) -> int:
        """Bytes of one block."""
        return self.elements * ELEMENT_SIZES[self.type]

    def sent(self, rank: int, ranks: int) -> int:
        """Bytes that a rank reads of its own memory; 0 where it sends nothing."""
        if self.kind in (BROADCAST, SCATTER) and rank != self.root:
            return 0
        if self.kind == RECEIVE:
            return 0
        return self.block * (ranks if self.kind in (REDUCE_SCATTER, ALL_TO_ALL, SCATTER) else 1)

    def received(self, rank: int, ranks: int) -> int:
        """Bytes that are written into a rank's memory; 0 where it receives nothing."""
        if self.kind in (REDUCE, GATHER) and rank != self.root:
            return 0
        if self.kind == SEND:
            return 0
        return self.block * (ranks if self.kind in (ALL_GATHER, ALL_TO_ALL, GATHER) else 1)

    def in_place_offset(self, rank: int) -> int | None:
        """How far behind the start of the larger end the smaller one is where an operation is in place; None where it
        cannot be."""
        if self.kind in (ALL_TO_ALL, *PAIRED):
            return None
        return rank * self.block if self.kind in (ALL_GATHER, REDUCE_SCATTER, GATHER, SCATTER) else 0

    def __str__(self) -> str:
        words = [self.kind, f"of {self.elements} {self.type}"]
        if self.kind in REDUCING:
            words.insert(1, self.reduction)
        if self.kind in ROOTED:
            words.append(f"with root {self.root}")
        if self.kind in PAIRED:
            words.append(f"{'to' if self.kind == SEND else 'from'} rank {self.root}")
        return " ".join(words)
