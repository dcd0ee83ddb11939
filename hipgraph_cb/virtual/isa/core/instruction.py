"""One decoded machine instruction: numbers only, no meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hipgraph_cb.errors import HipGraphError

VGPR_BASE = 256  # a 9-bit source code of VGPR_BASE + n is vector register n
LITERAL = 255  # the source code of the literal behind the instruction
DPP = 250
SDWA = 249
NOWHERE = 128  # as a scalar destination: what is written is lost; as a source the same code is the constant 0


@dataclass(frozen=True, slots=True)
class Operand:
    """What an instruction reads or writes.

    Attributes:
        field: the field that says where it is; "vcc" and "literal" are not in a field.
        registers: how many 32-bit registers; 0 is a lane mask, one register for each 32 lanes of a wave.
        half: a 16-bit half of a vector register.
        kinds: what a source may be: "v" vector registers, "s" scalar ones, "c" an inline constant, "l" a literal.
    """

    field: str
    registers: int
    half: bool = False
    kinds: str = ""


@dataclass(frozen=True)
class Instruction:
    """A machine instruction as the decoder leaves it.

    Attributes:
        address: byte address as the caller of the decoder counts it.
        size: bytes, a literal or a DPP/SDWA word included.
        format: SOP1 SOP2 SOPC SOPK SOPP SMEM VOP1 VOP2 VOPC VOP3 VOP3SD VOP3P MFMA DS FLAT GLOBAL SCRATCH MUBUF MTBUF.
            A comparison in the long encoding has format VOP3.
        mnemonic: LLVM's name without encoding suffix, such as "v_add_f32".
        fields: raw bit fields by the ISA document's names in lower case. Source operands are codes (0-127 scalar
            registers and specials, 128-208 and 240-248 inline constants, 249 SDWA, 250 DPP, 255 literal, 256 + n vector
            register n); fields that can only name a vector register hold its number, sbase and srsrc that of the first
            scalar register; immediate offsets are sign-extended where the hardware does so.
        literal: the 32-bit literal constant as an unsigned number, if there is one.
        words: the 32-bit words of the instruction.
        dpp: the fields of the DPP word when `src0` is 250, its `src0` being a vector register number.
            DPP8 has `dpp8`, eight selectors of three bits.
        sdwa: the fields of the SDWA word when `src0` is 249.
        encoded: the instruction that the target encodes, where this is an operation that it translates to.
        operands: what it reads and writes, in the order of its text, where the target's tables know it.
        parts: the two operations of a VOPD instruction, as the short instructions that they are.
    """

    address: int
    size: int
    format: str
    mnemonic: str
    fields: Mapping[str, int] = field(default_factory=dict)
    literal: int | None = None
    words: tuple[int, ...] = ()
    dpp: Mapping[str, int] | None = None
    sdwa: Mapping[str, int] | None = None
    encoded: Instruction | None = None
    operands: tuple[Operand, ...] = ()
    parts: tuple[Instruction, ...] = ()

    @property
    def end(self) -> int:
        """Address of the instruction behind this one."""
        return self.address + self.size


class UnknownInstruction(HipGraphError):  # noqa: N818
    """Bytes that are not an instruction of the target.

    Attributes:
        word: the first word, or None where the code ends before it.
        address: as it was given to `decode`.
        format: the format the word belongs to, or None if it belongs to none.
    """

    status = "INVALID_ARGUMENT"

    def __init__(self, what: str, *, word: int | None, address: int, format: str | None) -> None:
        super().__init__(what)
        self.word = word
        self.address = address
        self.format = format
