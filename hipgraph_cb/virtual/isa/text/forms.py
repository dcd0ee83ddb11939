"""Instruction -> text as LLVM spells it, for targets whose tables hold the operands of every operation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from hipgraph_cb.virtual.isa.core.instruction import Instruction
from hipgraph_cb.virtual.isa.text.memory_forms import buffer_memory, local_memory, scalar_memory, segment_memory
from hipgraph_cb.virtual.isa.text.names import Names
from hipgraph_cb.virtual.isa.text.operand_text import SOURCE_BIT, operand_text

_WITHOUT_HALVES = re.compile(r"v_wmma_(f32|i32)_")


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
    return operands, _modifiers(instruction)


def _modifiers(instruction: Instruction) -> list[str]:
    fields = instruction.fields
    flags: list[str] = []
    if instruction.format == "VOP3P":
        flags += _packed(instruction)
    elif fields.get("op_sel"):
        flags += _chosen_halves(instruction)
    if fields.get("clamp"):
        flags.append("clamp")
    flags.append(("", "mul:2", "mul:4", "div:2")[fields.get("omod", 0)])
    if "wait_exp" in fields:
        flags.append(f"wait_exp:{fields['wait_exp']}")
    return flags + list(_dpp(instruction))


def _chosen_halves(instruction: Instruction) -> list[str]:
    """The halves that the long encoding chooses: a bit for each source, then one for the result."""
    value, operands = instruction.fields["op_sel"], instruction.operands
    if instruction.mnemonic.startswith("v_permlane"):
        return [_bits("op_sel", [value & 1, value >> 1 & 1])]
    if not any(operand.half for operand in operands) or instruction.mnemonic == "v_cndmask_b16":
        return []
    sources = sum(operand.field in SOURCE_BIT for operand in operands)
    if instruction.mnemonic.startswith("v_dot2_"):
        value &= ~3  # packed sources have no half to choose
    places = [*range(3 if instruction.mnemonic.startswith("v_fmac_") else sources)]
    if operands[0].field == "vdst" and not (operands[0].registers == 0 and instruction.dpp is not None):
        places.append(3)
    return [_bits("op_sel", [value >> place & 1 for place in places])]


def _bits(name: str, bits: list[int]) -> str:
    return f"{name}:[{','.join(map(str, bits))}]"


def _packed(instruction: Instruction) -> Iterator[str]:
    number = sum(operand.field in SOURCE_BIT for operand in instruction.operands)
    fields, every = instruction.fields, (1 << number) - 1
    mixes = instruction.mnemonic.startswith("v_fma_mix")
    rows = [("op_sel", "op_sel", 0), ("op_sel_hi", "op_sel_hi", 0 if mixes else every)]
    if not mixes:
        rows += [("neg_lo", "neg", 0), ("neg_hi", "neg_hi", 0)]
    for name, field, usual in rows:
        value = fields[field] & every
        if name == "op_sel_hi" and _WITHOUT_HALVES.match(instruction.mnemonic):
            continue
        if value != usual:
            yield _bits(name, [value >> index & 1 for index in range(number)])


def _dpp(instruction: Instruction) -> Iterator[str]:
    fields = instruction.dpp
    if fields is None:
        return
    if "dpp8" in fields:
        yield f"dpp8:[{','.join(str(fields['dpp8'] >> 3 * index & 7) for index in range(8))}]"
    else:
        yield dpp_control(fields["dpp_ctrl"])
        yield f"row_mask:{fields['row_mask']:#x} bank_mask:{fields['bank_mask']:#x}"
        if fields["bound_ctrl"]:
            yield "bound_ctrl:1"
    if fields["fi"]:
        yield "fi:1"


def dpp_control(control: int) -> str:
    if control < 0x100:
        return f"quad_perm:[{','.join(str(control >> 2 * index & 3) for index in range(4))}]"
    if control in (0x140, 0x141):
        return ("row_mirror", "row_half_mirror")[control - 0x140]
    name = {0x10: "row_shl", 0x11: "row_shr", 0x12: "row_ror", 0x15: "row_share", 0x16: "row_xmask"}[control >> 4]
    return f"{name}:{control & 15}"


_PRINTERS: dict[str, Callable[[Instruction, Names, int], _Printed]] = {
    "SMEM": scalar_memory,
    "DS": local_memory,
    "FLAT": segment_memory,
    "GLOBAL": segment_memory,
    "SCRATCH": segment_memory,
    "MUBUF": buffer_memory,
    "MTBUF": buffer_memory,
}
