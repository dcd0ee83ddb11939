"""Memory instructions as LLVM spells them: addresses, offsets and cache flags."""

from __future__ import annotations

import re

from hipgraph_cb.virtual.isa.core.instruction import Instruction
from hipgraph_cb.virtual.isa.text.cache_policy import cache_policy, returns
from hipgraph_cb.virtual.isa.text.names import Names
from hipgraph_cb.virtual.isa.text.operand_text import operand_text
from hipgraph_cb.virtual.isa.text.register_names import vector

_NO_BASE = 0x7F
_CACHED_SCALAR = ("s_load", "s_store", "s_buffer", "s_scratch", "s_atomic")
_PAIRED = re.compile(r"ds_(\w+_2addr_|(read|write|wrxchg)2)")
Printed = tuple[list[str], list[str]]


def scalar_memory(instruction: Instruction, names: Names, wave_size: int) -> Printed:
    fields = instruction.fields
    apart = {"offset", "soffset"} <= {part.field for part in instruction.operands}
    operands = []
    for part in instruction.operands:
        if part.field == "offset" and apart:
            operands.append(f"{fields['offset']:#x}")
        elif part.field in ("soffset", "offset") and not apart:
            operands.append(_distance(instruction, names))
        else:
            operands.append(operand_text(instruction, part, names, wave_size))
    if "scope" in fields:
        return operands, cache_policy(instruction, names) if "_load" in instruction.mnemonic else []
    cached = instruction.mnemonic.startswith(_CACHED_SCALAR)
    return operands, [name for name in dict.fromkeys(("glc", *names.cache)) if fields.get(name) and cached]


def _distance(instruction: Instruction, names: Names) -> str:
    """The scalar offset, the immediate one, or both."""
    fields = instruction.fields
    offset = fields["offset"]
    if "imm" not in fields:
        scalar, shown = fields["soffset"], "scope" in fields or offset
        if scalar == names.null:
            return f"{offset:#x}" if shown else names.scalar(scalar, 1)
        return _both(names.scalar(scalar, 1), offset if shown else None)
    if not fields["soffset_en"]:
        return f"{offset:#x}" if fields["imm"] else names.scalar(offset & 0x7F, 1)
    return _both(names.scalar(fields["soffset"], 1), offset if fields["imm"] else None)


def _both(scalar: str, offset: int | None) -> str:
    return scalar if offset is None else f"{scalar} offset:{offset:#x}"


def local_memory(instruction: Instruction, names: Names, wave_size: int) -> Printed:
    fields, mnemonic = instruction.fields, instruction.mnemonic
    operands = [operand_text(instruction, operand, names, wave_size) for operand in instruction.operands]
    first, second = fields["offset0"], fields["offset1"]
    offset = first | second << 8
    if _PAIRED.match(mnemonic):
        flags = [f"offset{index}:{value}" for index, value in enumerate((first, second)) if value]
    elif mnemonic == "ds_swizzle_b32":
        flags = [f"offset:{_swizzle(offset)}"] if offset else []
    else:
        flags = [f"offset:{offset}"] if offset else []
    shown = fields.get("gds") and (names.null is not None or mnemonic.startswith("ds_gws"))
    return operands, flags + (["gds"] if shown else [])


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
    no_base = _NO_BASE if names.null is None else names.null
    scalar_base = instruction.format != "FLAT" and fields["saddr"] != no_base
    to_lds = fields.get("lds", 0)
    operands = []
    for operand in instruction.operands:
        if operand.field == "vdst" and (to_lds or (operand.kinds == "g" and not returns(instruction, names))):
            continue
        if operand.field == "addr" and _has_no_vector(instruction, scalar_base):
            operands.append("off")
        elif operand.field == "addr" and instruction.format == "GLOBAL" and scalar_base:
            operands.append(vector(fields["addr"], 1))
        elif operand.field == "saddr" and not scalar_base:
            operands.append("off")
        else:
            operands.append(operand_text(instruction, operand, names, wave_size))
    flags = [f"offset:{fields['offset']}"] if fields["offset"] and operands else []
    return operands, flags + cache_policy(instruction, names) + ["lds"] * to_lds


def _has_no_vector(instruction: Instruction, scalar_base: bool) -> bool:
    """Whether an address in private memory has no vector part; older targets have one part or the other."""
    if instruction.format != "SCRATCH":
        return False
    return not instruction.fields["sve"] if "sve" in instruction.fields else scalar_base


def buffer_memory(instruction: Instruction, names: Names, wave_size: int) -> Printed:
    fields = instruction.fields
    if not instruction.operands:
        return [], [name for name in names.cache if name.startswith("sc") and fields[name] and names.cache[0] == "sc0"]
    addressed = fields["offen"] + fields["idxen"]
    to_lds = fields.get("lds", 0)
    operands = []
    for operand in instruction.operands:
        if operand.field == "vaddr":
            operands.append(vector(fields["vaddr"], addressed) if addressed else "off")
        elif operand.field == "vdata" and to_lds:
            continue
        elif operand.field == "vdata" and fields.get("tfe"):
            operands.append(vector(fields["vdata"], operand.registers + 1))
        else:
            operands.append(operand_text(instruction, operand, names, wave_size))
    flags = _format(fields["format"], names) if instruction.format == "MTBUF" and "format" in fields else []
    flags += _data_format(fields["dfmt"], fields["nfmt"], names) if "dfmt" in fields else []
    flags += [name for name in ("idxen", "offen") if fields[name]]
    flags += [f"offset:{fields['offset']}"] if fields["offset"] else []
    flags += cache_policy(instruction, names) + ["tfe"] * fields.get("tfe", 0)
    return operands, flags + ["lds"] * to_lds


def _data_format(data: int, number: int, names: Names) -> list[str]:
    parts = [f"BUF_DATA_FORMAT_{names.tables['dfmt'].get(data, '8')}"] if data != 1 else []
    parts += [f"BUF_NUM_FORMAT_{names.tables['nfmt'].get(number, 'UNORM')}"] if number else []
    return [f"format:[{','.join(parts)}]"] if parts else []


def _format(value: int, names: Names) -> list[str]:
    if value == 1:
        return []
    name = names.tables["format"].get(value)
    return [f"format:[{name}]" if name else f"format:{value}"]
