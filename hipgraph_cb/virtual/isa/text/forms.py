"""Instruction -> text as LLVM spells it, for targets whose tables hold the operands of every operation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from hipgraph_cb.virtual.isa.core.instruction import Instruction
from hipgraph_cb.virtual.isa.text.memory_forms import buffer_memory, local_memory, scalar_memory, segment_memory
from hipgraph_cb.virtual.isa.text.names import Names
from hipgraph_cb.virtual.isa.text.operand_text import SOURCE_BIT, operand_text
from hipgraph_cb.virtual.isa.text.second_words import lanes, parts

_FIRST_HEXADECIMAL = 10
# operations of gfx12 that choose a byte with two bits of op_sel, the lower one first
_BYTES = {
    "v_cvt_f32_fp8": (1, 0),
    "v_cvt_f32_bf8": (1, 0),
    "v_cvt_sr_fp8_f32": (2, 3),
    "v_cvt_sr_bf8_f32": (2, 3),
}
_SIGNED_MATRIX = re.compile(r"v_mfma_f64_\d+x\d+x\d+_")
_WITHOUT_HALVES = re.compile(r"v_(wmma|swmmac)_(f32|i32)_")


def text_of(instruction: Instruction, names: Names, wave_size: int) -> str:
    """The instruction as text, such as "v_add_f32 v0, s2, v1"."""
    if instruction.parts:
        return " :: ".join(_part(part, names, wave_size) for part in instruction.parts)
    printer = _PRINTERS.get(instruction.format, _plain)
    operands, flags = printer(instruction, names, wave_size)
    text = ", ".join(part for part in operands if part)
    return " ".join(part for part in (instruction.mnemonic, text, *flags) if part)


_Printed = tuple[list[str], list[str]]


def _part(part: Instruction, names: Names, wave_size: int) -> str:
    operands = [operand_text(part, operand, names, wave_size) for operand in part.operands]
    return f"{part.mnemonic.replace('v_', 'v_dual_', 1)} {', '.join(operands)}"


def _plain(instruction: Instruction, names: Names, wave_size: int) -> _Printed:
    operands = [operand_text(instruction, operand, names, wave_size) for operand in instruction.operands]
    return operands, _modifiers(instruction, names)


def _modifiers(instruction: Instruction, names: Names) -> list[str]:
    fields = instruction.fields
    flags: list[str] = []
    if instruction.mnemonic.startswith("v_accvgpr_"):
        return []
    if instruction.mnemonic in _BYTES and names.names_bytes and "op_sel" in fields:
        flags += _chosen_byte(fields["op_sel"], _BYTES[instruction.mnemonic])
    elif instruction.format == "VOP3P":
        flags += _packed(instruction)
    elif fields.get("op_sel"):
        flags += _chosen_halves(instruction, names)
    if instruction.mnemonic.startswith("v_bitop3_"):
        table = fields["omod"] << 6 | fields["abs"] << 3 | fields["neg"]
        return [f"bitop3:{table if table < _FIRST_HEXADECIMAL else hex(table)}"] * bool(table) + flags
    if instruction.mnemonic.startswith("v_permlane") and instruction.mnemonic.endswith("_swap_b32"):
        return ["bound_ctrl:1"] * (fields.get("op_sel", 0) >> 1 & 1) + ["fi:1"] * (fields.get("op_sel", 0) & 1)
    modified = fields if instruction.sdwa is None else instruction.sdwa
    if modified.get("clamp"):
        flags.append("clamp")
    if instruction.format == "MFMA":
        flags += _matrix_modifiers(instruction)
    flags.append(("", "mul:2", "mul:4", "div:2")[modified.get("omod", 0)])
    if "wait_exp" in fields:
        flags.append(f"wait_exp:{fields['wait_exp']}")
    return [*flags, *lanes(instruction, names), *parts(instruction)]


def _chosen_halves(instruction: Instruction, names: Names) -> list[str]:
    """The halves of registers that the long encoding chooses."""
    value, places = instruction.fields["op_sel"], names.halves.get(instruction.mnemonic, "")
    if instruction.dpp is not None and instruction.mnemonic.startswith("v_cmp"):
        places = places.rstrip("-")
    bits = [0 if place == "-" else value >> int(place) & 1 for place in places]
    return [_bits("op_sel", bits)] if any(bits) else []


def _chosen_byte(op_sel: int, bits: tuple[int, int]) -> list[str]:
    low, high = (op_sel >> bit & 1 for bit in bits)
    return [f"byte_sel:{low | high << 1}"] if low or high else []


def _bits(name: str, bits: list[int]) -> str:
    return f"{name}:[{','.join(map(str, bits))}]"


def _packed(instruction: Instruction) -> Iterator[str]:
    number = sum(operand.field in SOURCE_BIT for operand in instruction.operands)
    fields, every = instruction.fields, (1 << number) - 1
    mixes = instruction.mnemonic.startswith("v_fma_mix")
    signed = not mixes and instruction.mnemonic != "v_mfma_ld_scale_b32"
    rows = [("op_sel", "op_sel", 0), ("op_sel_hi", "op_sel_hi", 0 if mixes else every)]
    if signed:
        rows += [("neg_lo", "neg", 0), ("neg_hi", "neg_hi", 0)]
    if instruction.mnemonic.startswith("v_swmmac_"):
        if fields["op_sel"]:
            yield f"index_key:{fields['op_sel']}"
        rows = rows[2:]
    for name, field, usual in rows:
        value = fields[field] & every
        if name == "op_sel_hi" and _WITHOUT_HALVES.match(instruction.mnemonic):
            continue
        if value != usual:
            yield _bits(name, [value >> index & 1 for index in range(number)])


def _matrix_modifiers(instruction: Instruction) -> list[str]:
    fields = instruction.fields
    flags = []
    if "scale_op_sel" in fields:
        low, high = ([fields[f"scale_op_sel{end}"] >> index & 1 for index in (0, 1)] for end in ("", "_hi"))
        flags += [_bits("op_sel", [*low, 0])] if any(low) else []
        flags.append(_bits("op_sel_hi", [*high, 0]))
    flags += [f"{name}:{fields[name]}" for name in ("cbsz", "abid") if fields[name]]
    if not fields["blgp"]:
        return flags
    if _SIGNED_MATRIX.match(instruction.mnemonic):
        return [*flags, _bits("neg", [fields["blgp"] >> index & 1 for index in range(3)])]
    return [*flags, f"blgp:{fields['blgp']}"]


_PRINTERS: dict[str, Callable[[Instruction, Names, int], _Printed]] = {
    "SMEM": scalar_memory,
    "DS": local_memory,
    "FLAT": segment_memory,
    "GLOBAL": segment_memory,
    "SCRATCH": segment_memory,
    "MUBUF": buffer_memory,
    "MTBUF": buffer_memory,
}
