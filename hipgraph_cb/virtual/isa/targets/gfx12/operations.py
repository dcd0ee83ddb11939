"""gfx12's instructions as operations: those of gfx11, under names of its own and with another cache policy."""

from __future__ import annotations

from dataclasses import replace

from hipgraph_cb.virtual.isa.core.instruction import Instruction
from hipgraph_cb.virtual.isa.core.registry import UnsupportedInstruction
from hipgraph_cb.virtual.isa.targets.gfx11 import operations as gfx11
from hipgraph_cb.virtual.isa.targets.gfx12.operation_names import operation_name

_RETURNS = 1  # of the temporal hint of an atomic: what was there is given back


def operations(instruction: Instruction) -> tuple[Instruction, ...]:
    """What an instruction does, in order."""
    fields = dict(instruction.fields)
    if fields.get("scale_offset"):
        raise UnsupportedInstruction("scale_offset")
    if instruction.format == "DS":
        fields["gds"] = 0
    fields["glc"] = fields.get("th", 0) & _RETURNS
    found = gfx11.operations(replace(instruction, fields=fields))
    names = [part.mnemonic for part in instruction.parts or (instruction,)]
    return tuple(
        replace(one, mnemonic=one.mnemonic if one.mnemonic == "s_nop" else operation_name(name), encoded=instruction)
        for one, name in zip(found, names, strict=True)
    )
