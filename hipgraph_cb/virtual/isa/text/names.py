"""How LLVM spells the registers, messages and formats of a family of targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_LAST_TRAP = 123


@dataclass(frozen=True)
class Names:
    """The spelling of numbers.

    Attributes:
        special: codes of scalar registers with a name of their own.
        pairs: the same for two registers.
        first_trap: the code of ttmp0.
        null: the code of the register that reads as nothing.
        tables: generated: "hwreg", "sendmsg" and "format", each by number.
        halves: operation of the long encoding -> the bits of op_sel in the order of its text, "-" where that is 0.
        cache: the bits of a memory instruction's cache policy, in the order of the text.
        returns: that of them with which an atomic returns what was there.
        counters: what s_waitcnt waits for -> lowest bit and width of each of its parts.
        messages_have_operations: whether s_sendmsg has an operation and a stream beside the message.
        names_bytes: whether the text of a conversion from or to a byte says which byte, and not which bits choose it.
        row_shared: the DPP control with which a row reads one of its lanes.
        fetches_inactive: whether a DPP word says if lanes that are not active are read.
    """

    special: Mapping[int, str]
    pairs: Mapping[int, str]
    first_trap: int
    null: int | None = None
    tables: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    halves: Mapping[str, str] = field(default_factory=dict)
    cache: tuple[str, ...] = ()
    returns: str = ""
    counters: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    messages_have_operations: bool = False
    names_bytes: bool = False
    row_shared: str = "row_share"
    fetches_inactive: bool = True

    def scalar(self, code: int, count: int) -> str:
        """`count` registers from `code` on; as LLVM does, those that start between two aligned ones as the lower."""
        if count == 2 and code in self.pairs:
            return self.pairs[code]
        if code in self.special:
            return self.special[code]
        letter, first = ("ttmp", code - self.first_trap) if self.first_trap <= code <= _LAST_TRAP else ("s", code)
        if count == 1:
            return f"{letter}{first}"
        first -= first % (2 if count == 2 else 4)
        return f"{letter}[{first}:{first + count - 1}]"


def by_mnemonic(halves: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """`Names.halves` from the generated table."""
    return {mnemonic: places for places, mnemonics in halves.items() for mnemonic in mnemonics}
