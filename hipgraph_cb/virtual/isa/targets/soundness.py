"""Encodings that are not an instruction although their opcode is one: bits and operands that it does not have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from hipgraph_cb.virtual.isa.core.instruction import DPP, LITERAL, VGPR_BASE, Operand, UnknownInstruction
from hipgraph_cb.virtual.isa.targets.form import Form, Format

SOURCES = frozenset({"src0", "src1", "src2", "ssrc0", "ssrc1", "srcx0", "srcy0", "soffset"})
# newer compilers put the constant 0 into a source that an operation does not have, older ones zero bits
UNUSED_SOURCE = 0x80
DPP8 = (233, 234)
_UNUSED_SOURCES = {"src1": 41, "src2": 50}
# operands that are a number in a field: an immediate or a message
_CONSTANTS = ("i", "m")
_SCALARS = frozenset({"sdst", "sdata", "sbase", "srsrc", "saddr", "ssamp"})
_VCC, _FIRST_TRAP, _NULL, _M0, _EXEC, _EXEC_HI = 106, 108, 124, 125, 126, 127
_TRAPS = 16
_LDS_DIRECT = 254
# what is no pair of registers
_NO_PAIRS = (231, _LDS_DIRECT)


@dataclass(frozen=True)
class FirstWord:
    """Where the decoder is: what its errors name."""

    value: int
    address: int
    format: str
    target: str

    def refuse(self, what: str) -> NoReturn:
        message = f"{self.target}'s {self.format} instruction {self.value:#010x} {what}"
        raise UnknownInstruction(message, word=self.value, address=self.address, format=self.format)


def refuse_other_bits(form: Form, bits: int, fields: Mapping[str, int], word: FirstWord) -> None:
    """Refuse an instruction with bits set that belong to none of its fields."""
    for name, low in _UNUSED_SOURCES.items():
        mask = 0x1FF << low
        if fields.get(name) == UNUSED_SOURCE and form.fixed & mask == mask:
            bits &= ~mask
    wrong = (bits ^ form.value) & form.fixed
    if wrong:
        word.refuse(f"({form.mnemonic}) has bit {(wrong & -wrong).bit_length() - 1} wrong")


def refuse_missing_operands(
    operands: tuple[Operand, ...], fields: Mapping[str, int], specials: frozenset[int], word: FirstWord
) -> None:
    """Refuse an instruction that names a scalar register that there is not, or a source that it can't read."""
    for operand in operands:
        value = fields.get(operand.field)
        if value is None or operand.kinds[:1] in _CONSTANTS:
            continue
        is_source = operand.field in SOURCES
        if is_source and _kind(operand.field, value, specials) not in operand.kinds:
            word.refuse(f"can't have {value} as {operand.field}")
        scalar = value < 128 if is_source else operand.field in _SCALARS or "s" in operand.kinds
        if (is_source and operand.registers != 1 and value in _NO_PAIRS) or (scalar and not _exists(operand, value)):
            word.refuse(f"can't have scalar register {value} as {operand.field}")


def _kind(field: str, code: int, specials: frozenset[int]) -> str:
    """The kind of a source, as `Operand.kinds` has it."""
    if code >= VGPR_BASE or code in (DPP, *DPP8):
        return "v"
    if code < 128 or code in specials or (code == _LDS_DIRECT and field.startswith("src")):
        return "s"
    if code <= 208 or 240 <= code <= 248:
        return "c"
    return "l" if code == LITERAL else "none"


def _exists(operand: Operand, code: int) -> bool:
    """Whether as many scalar registers as the operand has start at `code`."""
    count = operand.registers
    if code > _EXEC_HI:
        return False
    if operand.field == "sdata" or (operand.field == "src2" and count == 0):
        last = _M0 if operand.field == "sdata" and count == 1 else _EXEC
        if code >= last:
            return False
    if operand.field == "saddr":
        return code != _EXEC_HI if count == 1 else _fits(count, code) and code != _EXEC
    return count < 2 or _fits(count, code)


def _fits(count: int, code: int) -> bool:
    if code < _VCC:
        return code - code % min(count, 4) + count <= _VCC
    if _FIRST_TRAP <= code < _NULL:
        first = code - _FIRST_TRAP
        return first - first % min(count, 4) + count <= _TRAPS
    return code == _NULL or (count == 2 and code in (_VCC, _EXEC))


def refuse_dpp(
    kind: Format,
    form: Form,
    fields: Mapping[str, int],
    dpp: Mapping[str, int],
    controls: frozenset[int],
    word: FirstWord,
) -> None:
    """Refuse a DPP word with a control that the target lacks or a modifier that its instruction lacks."""
    if dpp.get("dpp_ctrl", 0) not in controls:
        word.refuse(f"({form.mnemonic}) has DPP control {dpp['dpp_ctrl']:#x}")
    if form.mnemonic.startswith("v_fma_mix") and fields["src1"] < VGPR_BASE:
        word.refuse(f"({form.mnemonic}) needs a vector register beside a source from another lane")
    for source, flag in (("src0", "n"), ("src1", "m")):
        if kind.words == 1 and flag not in form.flags and (dpp.get(f"{source}_neg") or dpp.get(f"{source}_abs")):
            word.refuse(f"({form.mnemonic}) has no sign of {source}")
