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
    """

    special: Mapping[int, str]
    pairs: Mapping[int, str]
    first_trap: int
    null: int | None = None
    tables: Mapping[str, Mapping[int, str]] = field(default_factory=dict)

    def scalar(self, code: int, count: int) -> str:
        """`count` registers from `code` on; as LLVM does, those that start between two aligned ones as the lower."""
        if count == 2 and code in self.pairs:
            return self.pairs[code]
        if code in self.special:
            return self.special[code]
        letter, first = ("ttmp", code - self.first_trap) if self.first_trap <= code <= _LAST_TRAP else ("s", code)
        if count == 1:
            return f"{letter}{first}"
        first -= first % min(count, 4)
        return f"{letter}[{first}:{first + count - 1}]"
