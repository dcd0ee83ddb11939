"""Memory instructions as LLVM spells them: addresses, offsets and cache flags."""

from __future__ import annotations

from hipgraph_cb.virtual.isa.core.instruction import Instruction, Operand
from hipgraph_cb.virtual.isa.text.names import Names
from hipgraph_cb.virtual.isa.text.operand_text import operand_text
from hipgraph_cb.virtual.isa.text.register_names import vector

Printed = tuple[list[str], list[str]]
_CACHE = ("glc", "slc", "dlc")


def scalar_memory(instruction: Instruction, names: Names, wave_size: int) -> Printed:
    fields = instruction.fields
    operands = [
        _distance(instruction, part, names) if part.field == "soffset" else operand_text(instruction, part, names, 32)
        for part in instruction.operands
    ]
    return operands, [name for name in ("glc", "dlc") if fields[name]]


def _distance(instruction: Instruction, operand: Operand, names: Names) -> str:
    """The scalar offset, the immediate one, or both."""
    register, offset = instruction.fields["soffset"], instruction.fields["offset"]
    scalar = operand_text(instruction, operand, names, 32)
    if not offset:
        return scalar
    return f"{offset:#x}" if register == names.null else f"{scalar} offset:{offset:#x}"


def local_memory(instruction: Instruction, names: Names, wave_size: int) -> Printed:
    fields, mnemonic = instruction.fields, instruction.mnemonic
    operands = [operand_text(instruction, operand, names, wave_size) for operand in instruction.operands]
    first, second = fields["offset0"], fields["offset1"]
    offset = first | second << 8
    if "2addr" in mnemonic:
        flags = [f"offset{index}:{value}" for index, value in enumerate((first, second)) if value]
    elif mnemonic == "ds_swizzle_b32":
        flags = [f"offset:{_swizzle(offset)}"] if offset else []
    else:
        flags = [f"offset:{offset}"] if offset else []
    return operands, flags + (["gds"] if fields.get("gds") else [])


def _swizzle(offset: int) -> str:
    if offset >> 8 == 0x80:
        return f"swizzle(QUAD_PERM,{','.join(str(offset >> 2 * index & 3) for index in range(4))})"
    if offset >> 13 == 7:
        return f"swizzle(FFT,{offset & 31})"
    if offset >> 13 == 6:
        return f"swizzle(ROTATE,{offset >> 10 & 1},{offset >> 5 & 31})"
    return str(offset) if offset >> 15 else _bit_masks(offset & 31, offset >> 5 & 31, offset >> 10 & 31)


def _bit_masks(keep: int, fill: int, flip: int) -> str:
    """Lane numbers kept by an AND, an OR and an XOR mask."""
    if keep == 31 and fill == 0 and flip:
        if flip & flip - 1 == 0:
            return f"swizzle(SWAP,{flip})"
        if flip & flip + 1 == 0:
            return f"swizzle(REVERSE,{flip + 1})"
    size = 32 - keep
    if keep and flip == 0 and size & size - 1 == 0 and size > 1 and fill < size:
        return f"swizzle(BROADCAST,{size},{fill})"
    letters = []
    for bit in (16, 8, 4, 2, 1):
        kept, filled, flipped = bool(keep & bit), bool(fill & bit), bool(flip & bit)
        letters.append(("1" if filled != flipped else "0") if filled or not kept else "i" if flipped else "p")
    return f'swizzle(BITMASK_PERM,"{"".join(letters)}")'


def segment_memory(instruction: Instruction, names: Names, wave_size: int) -> Printed:
    fields = instruction.fields
    scalar_base = instruction.format != "FLAT" and fields["saddr"] != names.null
    operands = []
    for operand in instruction.operands:
        if operand.kinds == "g" and not fields["glc"]:
            continue
        if operand.field == "addr" and instruction.format == "SCRATCH" and not fields["sve"]:
            operands.append("off")
        elif operand.field == "addr" and instruction.format == "GLOBAL" and scalar_base:
            operands.append(vector(fields["addr"], 1))
        elif operand.field == "saddr" and not scalar_base:
            operands.append("off")
        else:
            operands.append(operand_text(instruction, operand, names, wave_size))
    offset = [f"offset:{fields['offset']}"] if fields["offset"] else []
    return operands, offset + [name for name in _CACHE if fields[name]]


def buffer_memory(instruction: Instruction, names: Names, wave_size: int) -> Printed:
    fields = instruction.fields
    if not instruction.operands:
        return [], []
    addressed = fields["offen"] + fields["idxen"]
    operands = []
    for operand in instruction.operands:
        if operand.field == "vaddr":
            operands.append(vector(fields["vaddr"], addressed) if addressed else "off")
        elif operand.field == "vdata" and fields["tfe"]:
            operands.append(vector(fields["vdata"], operand.registers + 1))
        else:
            operands.append(operand_text(instruction, operand, names, wave_size))
    flags = _format(fields["format"], names) if "format" in fields else []
    flags += [name for name in ("idxen", "offen") if fields[name]]
    flags += [f"offset:{fields['offset']}"] if fields["offset"] else []
    return operands, flags + [name for name in (*_CACHE, "tfe") if fields[name]]


def _format(value: int, names: Names) -> list[str]:
    if value == 1:
        return []
    name = names.tables["format"].get(value)
    return [f"format:[{name}]" if name else f"format:{value}"]
