"""Machine code of gfx942 -> Instruction.

The upper nine bits of the first word give the format, which gives the opcode's place (CDNA3 ISA document, chapter
"Microcode Formats"). Fields that an operation does not use are not looked at: compilers fill them differently.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hipgraph_cb.virtual.isa.core.instruction import DPP, LITERAL, SDWA, Instruction, UnknownInstruction
from hipgraph_cb.virtual.isa.targets.gfx9.tables_generated import LAYOUTS, MNEMONICS, SHORT_ONLY

TARGETS = frozenset({"gfx940", "gfx941", "gfx942", "gfx9-4-generic"})


@dataclass(frozen=True)
class _Kind:
    """What the upper nine bits of a word say."""

    format: str
    opcode_shift: int
    opcode_mask: int
    words: int


_SEGMENTS = ("FLAT", "SCRATCH", "GLOBAL")
# prefix (bits from 31 down), the kind; a longer prefix wins
_PREFIXES = (
    ("0", _Kind("VOP2", 25, 0x3F, 1)),
    ("0111110", _Kind("VOPC", 17, 0xFF, 1)),
    ("0111111", _Kind("VOP1", 9, 0xFF, 1)),
    ("10", _Kind("SOP2", 23, 0x7F, 1)),
    ("1011", _Kind("SOPK", 23, 0x1F, 1)),
    ("101111101", _Kind("SOP1", 8, 0xFF, 1)),
    ("101111110", _Kind("SOPC", 16, 0x7F, 1)),
    ("101111111", _Kind("SOPP", 16, 0x7F, 1)),
    ("110000", _Kind("SMEM", 18, 0xFF, 2)),
    ("110100", _Kind("VOP3", 16, 0x3FF, 2)),
    ("110100111", _Kind("VOP3P", 16, 0x7F, 2)),
    ("110110", _Kind("DS", 17, 0xFF, 2)),
    ("110111", _Kind("FLAT", 18, 0x7F, 2)),
    ("111000", _Kind("MUBUF", 18, 0x7F, 2)),
    ("111010", _Kind("MTBUF", 15, 0xF, 2)),
)


def _kinds() -> tuple[_Kind | None, ...]:
    table: list[_Kind | None] = [None] * 512
    for prefix, kind in sorted(_PREFIXES, key=lambda row: len(row[0])):
        free = 9 - len(prefix)
        first = int(prefix, 2) << free
        table[first : first + (1 << free)] = [kind] * (1 << free)
    return tuple(table)


def _with_long_forms() -> dict[str, dict[int, str]]:
    """The tables, VOP3 holding the long forms of short opcodes too and VOP3SD's marking which of them it is."""
    tables = {name: dict(table) for name, table in MNEMONICS.items()}
    for short, base in (("VOPC", 0), ("VOP2", 256), ("VOP1", 320)):
        for opcode, mnemonic in MNEMONICS[short].items():
            if mnemonic not in SHORT_ONLY:
                tables["VOP3"][base + opcode] = mnemonic
    tables["VOP3"].update(MNEMONICS["VOP3SD"])
    return tables


_KINDS = _kinds()
_MNEMONICS = _with_long_forms()
_MASKED = {name: tuple((field, low, (1 << width) - 1) for field, low, width in rows) for name, rows in LAYOUTS.items()}
_SIGNED_OFFSETS = {"SMEM": 21, "GLOBAL": 13, "SCRATCH": 13}
# fields that count aligned groups of scalar registers
_REGISTER_UNITS = {"SMEM": (("sbase", 2),), "MUBUF": (("srsrc", 4),), "MTBUF": (("srsrc", 4),)}
_MAY_HAVE_LITERAL = frozenset({"SOP1", "SOP2", "SOPC", "VOP1", "VOP2", "VOPC"})
_SHORT_VECTOR = frozenset({"VOP1", "VOP2", "VOPC"})
# a constant follows these for any operands
_ALWAYS_LITERAL = frozenset({"s_setreg_imm32_b32", "v_fmamk_f32", "v_fmaak_f32", "v_madmk_f16", "v_madak_f16"})


def decode(code: bytes, offset: int, target: str = "gfx942", *, address: int | None = None) -> Instruction:
    """Decode the instruction at byte `offset` of `code`; its address is `address`, or `offset` when that is omitted.

    Raises:
        UnknownInstruction: the bytes are not an instruction, `code` ends within it, or the target has no tables here.
    """
    where = offset if address is None else address
    if target not in TARGETS:
        raise UnknownInstruction(f"there is no decoder for {target}", word=None, address=where, format=None)
    word = _word(code, offset, where, None, None)
    kind = _KINDS[word >> 23]
    if kind is None:
        what = f"{word:#010x} belongs to no instruction format of {target}"
        raise UnknownInstruction(what, word=word, address=where, format=None)
    name = kind.format if kind.format != "FLAT" else _segment(word, where)
    opcode = word >> kind.opcode_shift & kind.opcode_mask
    mnemonic = _MNEMONICS[name].get(opcode)
    if mnemonic is None:
        what = f"{target} has no {name} opcode {opcode} (in {word:#010x})"
        raise UnknownInstruction(what, word=word, address=where, format=name)
    if name == "VOP3" and opcode in MNEMONICS["VOP3SD"]:
        name = "VOP3SD"
    elif name == "VOP3P" and mnemonic.startswith(("v_mfma", "v_smfmac")):
        name = "MFMA"
    if kind.words == 2:
        high = _word(code, offset + 4, where, word, name)
        fields = _fields(name, word | high << 32)
        return Instruction(where, 8, name, mnemonic, fields, None, (word, high))
    return _short(code, offset, where, word, name, mnemonic)


def _short(code: bytes, offset: int, address: int, word: int, name: str, mnemonic: str) -> Instruction:
    """An instruction of one word, and what may follow it: a literal, a DPP or an SDWA word."""
    fields = {field: word >> low & mask for field, low, mask in _MASKED[name]}
    extra = fields.get("src0") if name in _SHORT_VECTOR else None
    if extra == DPP:
        second = _word(code, offset + 4, address, word, name)
        return Instruction(address, 8, name, mnemonic, fields, None, (word, second), dpp=_extract("DPP", second))
    if extra == SDWA:
        second = _word(code, offset + 4, address, word, name)
        sdwa = _extract("SDWAC" if name == "VOPC" else "SDWA", second)
        return Instruction(address, 8, name, mnemonic, fields, None, (word, second), sdwa=sdwa)
    if mnemonic in _ALWAYS_LITERAL or (name in _MAY_HAVE_LITERAL and _names_literal(fields)):
        literal = _word(code, offset + 4, address, word, name)
        return Instruction(address, 8, name, mnemonic, fields, literal, (word, literal))
    return Instruction(address, 4, name, mnemonic, fields, None, (word,))


def _names_literal(fields: Mapping[str, int]) -> bool:
    return any(fields.get(source) == LITERAL for source in ("src0", "ssrc0", "ssrc1"))


def _segment(word: int, address: int) -> str:
    segment = word >> 14 & 3
    if segment == 3:
        what = f"{word:#010x} is a FLAT instruction of an unknown segment"
        raise UnknownInstruction(what, word=word, address=address, format="FLAT")
    return _SEGMENTS[segment]


def _fields(name: str, bits: int) -> dict[str, int]:
    fields = {field: bits >> low & mask for field, low, mask in _MASKED[name]}
    width = _SIGNED_OFFSETS.get(name)
    if width is not None and fields["offset"] >> (width - 1):
        fields["offset"] -= 1 << width
    for field, registers in _REGISTER_UNITS.get(name, ()):
        fields[field] *= registers
    if name == "VOP3P":
        fields["op_sel_hi"] |= fields.pop("op_sel_hi2") << 2
    return fields


def _extract(name: str, word: int) -> dict[str, int]:
    return {field: word >> low & mask for field, low, mask in _MASKED[name]}


def _word(code: bytes, offset: int, address: int, first: int | None, name: str | None) -> int:
    if offset < 0 or offset + 4 > len(code):
        what = "the code ends here" if first is None else f"the code ends within the {name} instruction {first:#010x}"
        raise UnknownInstruction(what, word=first, address=address, format=name)
    return int.from_bytes(code[offset : offset + 4], "little")
