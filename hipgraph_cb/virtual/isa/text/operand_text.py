"""One operand of an instruction as LLVM spells it."""

from __future__ import annotations

import re

from hipgraph_cb.virtual.isa.core.instruction import LITERAL, VGPR_BASE, Instruction, Operand
from hipgraph_cb.virtual.isa.text.immediates import immediate
from hipgraph_cb.virtual.isa.text.names import Names
from hipgraph_cb.virtual.isa.text.register_names import vector

_CONSTANTS = ("0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0")
_HALF_CONSTANTS = (0x3800, 0xB800, 0x3C00, 0xBC00, 0x4000, 0xC000, 0x4400, 0xC400, 0x3118)
_TYPE = re.compile(r"_((?:bf|[fiub])\d+)(?=_|$)")
_INTEGER_LATER = re.compile(r"v_(cmpx?_class_f(32|64)|ldexp_f\d+|trig_preop_|cvt_pk_u8_|cvt_pkaccum_)")
_NEVER = re.compile(r"(?!)")
# packed small floats have no sign to change, nor have random bits
_INTEGER_PLACES = {
    "src0": re.compile(r"v_cvt_(scalef32_\w*|pk_f32)_(fp|bf)[468]$"),
    "src1": re.compile(r"v_cvt_(scalef32_)?sr_"),
}
_SHORT = re.compile(
    r"v_fma_mix|v_(wmma|swmmac)_b?f16_|v_(?!pk|dot|sat|wmma|swmmac|mad_[iu]32|sad)\w*([iub]|(?<!b)f)16$"
)
_NUMBERS = frozenset({"i16", "u16", "b16", "i8", "u8", "i32", "u32", "b32", "i64", "u64", "b64", "i4", "u4"})
HALF_BIT = {"src0": 0, "src1": 1, "src2": 2, "vdst": 3}
SOURCE_BIT = {"src0": 0, "src1": 1, "vsrc1": 1, "src2": 2}
_VCC = 106
_LONG = ("VOP3", "VOP3SD", "VOP3P", "VINTERP")


def operand_text(instruction: Instruction, operand: Operand, names: Names, wave_size: int) -> str:
    """One operand; lane masks have a register for each 32 lanes of `wave_size`."""
    count = operand.registers or wave_size // 32
    if operand.field == "vcc":
        given = instruction.sdwa is not None and instruction.sdwa.get("sd") and operand is instruction.operands[0]
        return names.scalar((instruction.sdwa or {})["sdst"] if given else _VCC, count)
    if operand.field == "literal":
        return f"{instruction.literal or 0:#x}"
    value = instruction.fields[operand.field]
    if operand.kinds == "o" and not value:
        return ""
    if operand.field == "simm16" or operand.kinds[:1] in ("i", "m"):
        return immediate(instruction, operand, value, names)
    if operand.field in SOURCE_BIT or operand.field in _OTHER_SOURCES:
        return _signed(instruction, operand, _source(instruction, operand, value, count, names))
    if operand.field in _SCALAR_FIELDS or "s" in operand.kinds:
        return names.scalar(value, count)
    if operand.half:
        return _half(instruction, operand, value)
    return vector(value, count, _accumulates(instruction, operand))


def _accumulates(instruction: Instruction, operand: Operand) -> bool:
    """Whether the operand is in the accumulation registers."""
    fields = instruction.fields
    if operand.kinds[:1] == "a":
        return True
    if instruction.format == "MFMA":
        if operand.field in ("src0", "src1"):
            return bool(fields["acc"] >> SOURCE_BIT[operand.field] & 1)
        is_result = operand.field == "vdst" or (operand.field == "src2" and "smfmac" not in instruction.mnemonic)
        return bool(fields["acc_cd"]) and is_result
    is_data = operand.field in _DATA or instruction.mnemonic.startswith("ds_gws_")
    return bool(fields.get("acc")) and is_data


_DATA = frozenset({"vdst", "data", "data0", "data1", "vdata"})
_OTHER_SOURCES = frozenset({"ssrc0", "ssrc1", "soffset", "scale_src0", "scale_src1"})
_SCALAR_FIELDS = frozenset({"sdst", "sdata", "sbase", "srsrc", "saddr", "ssamp"})


def _half(instruction: Instruction, operand: Operand, register: int) -> str:
    if instruction.format in _LONG:
        high = instruction.fields["op_sel"] >> HALF_BIT[operand.field] & 1
    else:
        register, high = register & 0x7F, register >> 7
    return f"v{register}.{'lh'[high]}"


def _source(instruction: Instruction, operand: Operand, code: int, count: int, names: Names) -> str:
    second = instruction.sdwa or {}
    if operand.field == "src0" and (instruction.dpp is not None or instruction.sdwa is not None):
        register = (instruction.dpp or second)["src0"]
        code = register if second.get("s0") else VGPR_BASE + register
    elif operand.field == "vsrc1" and not second.get("s1"):
        code = VGPR_BASE + code
    if code >= VGPR_BASE:
        if operand.half:
            return _half(instruction, operand, code - VGPR_BASE)
        return vector(code - VGPR_BASE, count, _accumulates(instruction, operand))
    if code == LITERAL:
        return _literal(instruction, operand)
    if 240 <= code <= 248 and _shows_bits(instruction, operand):
        return f"{_HALF_CONSTANTS[code - 240]:#x}"
    if 128 <= code <= 192:
        return str(code - 128)
    if 193 <= code <= 208:
        return str(192 - code)
    if 240 <= code <= 247:
        return _CONSTANTS[code - 240]
    if code == 248 and count == 2 and not instruction.mnemonic.startswith("v_pk_"):
        return "0.15915494309189532"
    return names.scalar(code, count)


def _shows_bits(instruction: Instruction, operand: Operand) -> bool:
    """Whether the text of a float constant is its bits: where it is read as a short integer, and in scalar compares."""
    if _compares_halves(instruction):
        return True
    is_short = operand.half or _SHORT.match(instruction.mnemonic) is not None
    return is_short and (_is_integer(instruction, operand) or instruction.mnemonic == "v_cndmask_b16")


def _is_scalar_half(instruction: Instruction) -> bool:
    return instruction.mnemonic.startswith("s_") and instruction.mnemonic.endswith("_f16")


def _compares_halves(instruction: Instruction) -> bool:
    return instruction.format == "SOPC" and instruction.mnemonic.endswith("_f16")


def _literal(instruction: Instruction, operand: Operand) -> str:
    """Hexadecimal, unless the number would have fitted an inline constant."""
    bits = 16 if operand.half or _SHORT.match(instruction.mnemonic) or _is_scalar_half(instruction) else 32
    value = (instruction.literal or 0) & (1 << bits) - 1
    signed = (value ^ 1 << bits - 1) - (1 << bits - 1)
    return str(signed) if -16 <= signed <= 64 else f"{value:#x}"


def _is_integer(instruction: Instruction, operand: Operand) -> bool:
    """Whether a source is a number without a sign bit to change."""
    if instruction.mnemonic.startswith("v_bitop3_"):
        return True
    if operand.field != "src0" and _INTEGER_LATER.match(instruction.mnemonic):
        return True
    if _INTEGER_PLACES.get(operand.field, _NEVER).match(instruction.mnemonic):
        return True
    types = _TYPE.findall(instruction.mnemonic)
    return bool(types) and types[-1] in _NUMBERS and "cndmask" not in instruction.mnemonic


def _signed(instruction: Instruction, operand: Operand, text: str) -> str:
    """With the sign modifiers of the long encoding, or of a DPP word behind a short one."""
    bit = SOURCE_BIT.get(operand.field)
    fields = instruction.fields
    if bit is None or (instruction.sdwa is None and _is_integer(instruction, operand)):
        return text
    if "neg_hi" in fields and not instruction.mnemonic.startswith("v_fma_mix"):
        return text
    if "neg" in fields:
        absolute = fields.get("abs", fields.get("neg_hi", 0)) >> bit & 1
        negative = fields["neg"] >> bit & 1
    elif instruction.dpp is not None or instruction.sdwa is not None:
        second = instruction.dpp or instruction.sdwa or {}
        if second.get(f"src{bit}_sext"):
            return f"sext({text})"
        absolute = second.get(f"src{bit}_abs", 0)
        negative = second.get(f"src{bit}_neg", 0)
    else:
        return text
    if absolute:
        return f"-|{text}|" if negative else f"|{text}|"
    if not negative:
        return text
    return f"-{text}" if text[0] in "abcdefghijklmnopqrstuvwxyz" else f"neg({text})"
