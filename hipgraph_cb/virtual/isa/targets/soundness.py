"""Encodings that are not an instruction although their opcode is one: bits and operands that it does not have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from hipgraph_cb.virtual.isa.core.instruction import DPP, LITERAL, SDWA, VGPR_BASE, Operand, UnknownInstruction
from hipgraph_cb.virtual.isa.targets.form import Form, Format, Registers

SOURCES = frozenset({"src0", "src1", "src2", "ssrc0", "ssrc1", "srcx0", "srcy0", "soffset"})
# newer compilers put the constant 0 into a source that an operation does not have, older ones zero bits
UNUSED_SOURCE = 0x80
DPP8 = (233, 234)
_UNUSED_SOURCES = {"src1": 41, "src2": 50}
# operands that are a number in a field: an immediate or a message
CONSTANTS = ("i", "m")
_SCALARS = frozenset({"sdst", "sdata", "sbase", "srsrc", "saddr", "ssamp"})
_FIRST_TRAP, _LAST_TRAP, _EXEC, _EXEC_HI = 108, 123, 126, 127
_LDS_DIRECT = 254
_THREE = 3
_VECTOR_COUNT = 256
_VECTORS = frozenset({"vdst", "vsrc1", "data", "data0", "data1", "vdata"})
# operations whose other sources are vector registers when one is from another lane
_ONLY_VECTORS_BESIDE = {"v_fma_mix": ("src1",), "v_dot4_f32": ("src1", "src2")}
# the last selector of a part of a register, and the last way to treat the rest of the result
_WHOLE, _PRESERVED = 6, 2


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
    operands: tuple[Operand, ...], fields: Mapping[str, int], registers: Registers, word: FirstWord
) -> None:
    """Refuse an instruction that names a scalar register that there is not, or a source that it can't read."""
    for operand in operands:
        value = fields.get(operand.field)
        if value is None or operand.kinds[:1] in CONSTANTS:
            continue
        is_source = operand.field in SOURCES
        if is_source and _kind(operand.field, value, registers) not in operand.kinds:
            word.refuse(f"can't have {value} as {operand.field}")
        _refuse_vectors_beyond_the_last(operand, value, is_source, word)
        scalar = value < 128 if is_source else operand.field in _SCALARS or "s" in operand.kinds
        no_pair = is_source and operand.registers != 1 and value in registers.no_pairs
        if no_pair or (scalar and not _exists(operand, value, registers)):
            word.refuse(f"can't have scalar register {value} as {operand.field}")


def _refuse_vectors_beyond_the_last(operand: Operand, value: int, is_source: bool, word: FirstWord) -> None:
    is_vector = value >= VGPR_BASE if is_source else operand.field in _VECTORS and operand.kinds[:1] not in ("s", "g")
    first = value & 0xFF
    if is_vector and first + operand.registers > _VECTOR_COUNT:
        word.refuse(f"names {operand.registers} vector registers from number {first} on")


def _kind(field: str, code: int, registers: Registers) -> str:
    """The kind of a source, as `Operand.kinds` has it."""
    if code >= VGPR_BASE or code in (DPP, SDWA, *DPP8):
        return "v"
    if code < 128 or (code in registers.constants and (code != _LDS_DIRECT or field.startswith("src"))):
        return "s"
    if code <= 208 or 240 <= code <= 248:
        return "c"
    return "l" if code == LITERAL else "none"


def _exists(operand: Operand, code: int, registers: Registers) -> bool:
    """Whether as many scalar registers as the operand has start at `code`."""
    count = operand.registers
    if operand.field == "saddr" and code == registers.no_base:
        return True
    if code > _EXEC_HI or (code >= _EXEC and (operand.field == "sdata" or _is_mask(operand))):
        return False
    if operand.field == "sdata" and count == 1 and code == registers.m0:
        return False
    if operand.field == "saddr":
        return code != _EXEC_HI if count == 1 else _fits(count, code, registers) and code != _EXEC
    return count < 2 or _fits(count, code, registers)


def _is_mask(operand: Operand) -> bool:
    """Whether a source is a mask of lanes, which EXEC can't be."""
    return operand.field == "src2" and operand.kinds == "s"


def _fits(count: int, code: int, registers: Registers) -> bool:
    """Whether the aligned registers in which LLVM finds an operand of several are all there."""
    aligned = 2 if count == 2 else 4
    if count == _THREE and (code % 4 or _FIRST_TRAP <= code <= _LAST_TRAP):
        return False
    if code < registers.general:
        return code - code % aligned + count <= (registers.general if count == 2 else registers.in_fours)
    if _FIRST_TRAP <= code <= _LAST_TRAP:
        first = code - _FIRST_TRAP
        return first - first % aligned + count <= _LAST_TRAP - _FIRST_TRAP + 1
    return code in registers.pairs and (count == 2 or code == registers.no_base)


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
    for stem, others in _ONLY_VECTORS_BESIDE.items():
        if form.mnemonic.startswith(stem) and any(fields[source] < VGPR_BASE for source in others):
            word.refuse(f"({form.mnemonic}) needs vector registers beside a source from another lane")
    if kind.words == 1:
        refuse_signs(form, dpp, word)


def refuse_signs(form: Form, second: Mapping[str, int], word: FirstWord) -> None:
    """Refuse a second word with a sign that its instruction lacks."""
    for source, flag in (("src0", "n"), ("src1", "m")):
        if flag not in form.flags and (second.get(f"{source}_neg") or second.get(f"{source}_abs")):
            word.refuse(f"({form.mnemonic}) has no sign of {source}")


def refuse_sdwa(form: Form, sdwa: Mapping[str, int], word: FirstWord) -> None:
    """Refuse an SDWA word with a selector or a scalar result that there is not."""
    used = {operand.field for operand in form.operands}
    selectors = ["src0_sel"] + ["src1_sel"] * ("vsrc1" in used) + ["dst_sel"] * ("dst_sel" in sdwa)
    if any(sdwa[selector] > _WHOLE for selector in selectors) or sdwa.get("dst_unused", 0) > _PRESERVED:
        word.refuse(f"({form.mnemonic}) selects a part of a register that there is not")
    for field, flag in (("clamp", "c"), ("omod", "o")):
        if sdwa.get(field) and flag not in form.flags:
            word.refuse(f"({form.mnemonic}) has no {field}")
    if any(flag in form.flags and sdwa[f"{source}_sext"] for source, flag in (("src0", "n"), ("src1", "m"))):
        word.refuse(f"({form.mnemonic}) extends no sign of a float")
    refuse_signs(form, sdwa, word)
