"""gfx11's instructions as operations: under their common names, with the common codes of operands.

Other than there, NULL is 124 and M0 125, and DPP has two forms of eight lanes. A source that is NULL is the constant 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hipgraph_cb.virtual.isa.core.dpp import EIGHT_LANES, XOR_MASK
from hipgraph_cb.virtual.isa.core.instruction import DPP, NOWHERE, Instruction
from hipgraph_cb.virtual.isa.core.registry import UnsupportedInstruction
from hipgraph_cb.virtual.isa.core.state import M0
from hipgraph_cb.virtual.isa.memory.linear_access import NO_SADDR
from hipgraph_cb.virtual.isa.targets.gfx11.buffer_formats import BUFFER_FORMATS
from hipgraph_cb.virtual.isa.targets.gfx11.operation_names import operation_name

_NULL, _OWN_M0 = 124, 125
_CODES = {_NULL: NOWHERE, _OWN_M0: M0, 233: DPP, 234: DPP}
_SOURCES = frozenset({"src0", "src1", "src2", "ssrc0", "ssrc1", "soffset"})
_SCALARS = frozenset({"sdst", "sdata"})
_TO_SCALARS = ("v_cmp", "v_readlane", "v_readfirstlane")
_SEGMENTS = frozenset({"FLAT", "GLOBAL", "SCRATCH"})
_BUFFERS = frozenset({"MUBUF", "MTBUF"})
_ROW_XMASK = 0x160
_DEALLOCATE_REGISTERS = 3  # a message: the wave has no more use for its vector registers


def operations(instruction: Instruction) -> tuple[Instruction, ...]:
    """What an instruction does, in order."""
    if instruction.parts:
        return tuple(_operation(part, instruction) for part in instruction.parts)
    return (_operation(instruction, instruction),)


def _operation(part: Instruction, instruction: Instruction) -> Instruction:
    """The operation of an instruction, or of its part."""
    fields = {name: _code(part, name, value) for name, value in part.fields.items()}
    mnemonic = operation_name(part.mnemonic)
    if part.format == "SMEM":
        fields |= {"imm": 1, "soffset_en": int(part.fields["soffset"] != _NULL)}
    elif part.format in _SEGMENTS:
        fields |= {"sc0": fields["glc"], "saddr": NO_SADDR if fields["saddr"] == _NULL else fields["saddr"]}
    elif part.format in _BUFFERS:
        fields |= {"sc0": fields["glc"], "lds": 0}
        if fields["tfe"]:
            raise UnsupportedInstruction("tfe")
        if part.format == "MTBUF":
            fields["dfmt"], fields["nfmt"] = BUFFER_FORMATS.get(fields["format"], (0, 0))
    elif part.format == "DS":
        if fields["gds"]:
            raise UnsupportedInstruction("gds")
        if mnemonic.startswith("ds_cmpst_"):
            fields["data0"], fields["data1"] = fields["data1"], fields["data0"]
    elif part.format == "SOPP" and mnemonic == "s_sendmsg" and fields["simm16"] == _DEALLOCATE_REGISTERS:
        mnemonic = "s_nop"
    dpp = None if part.dpp is None else _lanes(part, part.dpp)
    return replace(
        part,
        address=instruction.address,
        size=instruction.size,
        mnemonic=mnemonic,
        fields=fields,
        dpp=dpp,
        encoded=instruction,
    )


def _code(instruction: Instruction, name: str, value: int) -> int:
    is_scalar = name in _SCALARS or (
        name == "vdst" and instruction.format == "VOP3" and instruction.mnemonic.startswith(_TO_SCALARS)
    )
    if name in _SOURCES or is_scalar or (name == "vdst" and instruction.mnemonic == "v_readfirstlane_b32"):
        return _CODES.get(value, value)
    return value


def _lanes(instruction: Instruction, dpp: Mapping[str, int]) -> dict[str, int]:
    """The DPP word; a long encoding has its modifiers outside of it."""
    lanes = dict(dpp)
    if "dpp8" in lanes:
        lanes |= {"dpp_ctrl": EIGHT_LANES | lanes.pop("dpp8"), "row_mask": 15, "bank_mask": 15, "bound_ctrl": 1}
    elif lanes["dpp_ctrl"] >= _ROW_XMASK:
        lanes["dpp_ctrl"] = XOR_MASK | lanes["dpp_ctrl"] & 15
    for index in range(3):
        for modifier in ("neg", "abs"):
            if modifier in instruction.fields:
                lanes[f"src{index}_{modifier}"] = instruction.fields[modifier] >> index & 1
    return lanes
