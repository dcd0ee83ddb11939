"""How a target's machine code is laid out: formats, their bit fields, and the form of each operation in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hipgraph_cb.virtual.isa.core.instruction import Operand

# compact rows of the generated tables: operands, fixed bits and their values, flags, opcode -> mnemonic
Rows = tuple[tuple[str, int, int, str, Mapping[int, str]], ...]


@dataclass(frozen=True, slots=True)
class Format:
    """An instruction format of the ISA document.

    Attributes:
        name: as the document calls it.
        prefix: the upper bits of the first word, as text of 0 and 1.
        opcode: lowest bit and width of the opcode in the first word.
        words: without what follows: a literal, a DPP word.
        fields: name, lowest bit, width; a width below zero means a signed field of that many bits.
        fixed: further bits that tell formats with the same prefix apart: lowest bit, width, value.
    """

    name: str
    prefix: str
    opcode: tuple[int, int]
    words: int
    fields: tuple[tuple[str, int, int], ...]
    fixed: tuple[int, int, int] = (0, 0, 0)

    def opcode_of(self, word: int) -> int:
        low, width = self.opcode
        return word >> low & (1 << width) - 1

    def belongs(self, word: int) -> bool:
        low, width, value = self.fixed
        return word >> low & (1 << width) - 1 == value

    def values(self, bits: int) -> dict[str, int]:
        """The fields of an instruction whose words are `bits`, the first word lowest."""
        found = {}
        for name, low, width in self.fields:
            value = bits >> low & (1 << abs(width)) - 1
            found[name] = value - (1 << -width) if width < 0 and value >> (-width - 1) else value
        return found


@dataclass(frozen=True, slots=True)
class Form:
    """One operation in one format.

    Attributes:
        mnemonic: LLVM's name without encoding suffix.
        operands: what it reads and writes, in the order of the text.
        fixed: bits that belong to no field of it, and `value`, what they are.
        flags: which words may follow: "l" a literal, "L" always a literal, "d" a DPP word, "s" an SDWA word; there "n"
            and "m" let sources 0 and 1 be negated, "c" lets the result be clamped and "o" be multiplied. "2": its two
            offsets count apart.
    """

    mnemonic: str
    operands: tuple[Operand, ...]
    fixed: int
    value: int
    flags: str


def forms(rows: Rows) -> dict[int, Form]:
    """Opcode -> form."""
    return {
        opcode: Form(mnemonic, tuple(_operands(text)), fixed, value, flags)
        for text, fixed, value, flags, mnemonics in rows
        for opcode, mnemonic in mnemonics.items()
    }


def _operands(text: str) -> Iterator[Operand]:
    for part in text.split():
        name, _, rest = part.partition(":")
        registers, _, kinds = rest.partition(":")
        half = registers == "h"
        yield Operand(name, 1 if half else int(registers), half, kinds)


@dataclass(frozen=True)
class Registers:
    """Which scalar registers a family has.

    Attributes:
        general: how many general ones there are, from 0 on; `in_fours` for operands of four and more.
        pairs: other registers that may be taken for two.
        no_base: as a scalar address this code means that there is none; `m0` is the register of this name.
        constants: source codes above 127 that read as scalar registers; `no_pairs` are not for 64 bits.
    """

    general: int
    in_fours: int
    pairs: frozenset[int]
    no_base: int
    m0: int
    constants: frozenset[int]
    no_pairs: frozenset[int]
