"""Machine code of gfx950 -> Instruction."""

from __future__ import annotations

from dataclasses import replace

from hipgraph_cb.virtual.isa.core.instruction import VGPR_BASE, Instruction, Operand, UnknownInstruction
from hipgraph_cb.virtual.isa.targets.decoder import Decoder
from hipgraph_cb.virtual.isa.targets.gfx9.formats import CONTROLS, REGISTERS
from hipgraph_cb.virtual.isa.targets.gfx950.formats import FORMATS
from hipgraph_cb.virtual.isa.targets.gfx950.tables_generated import FORMS

TARGETS = frozenset({"gfx950"})
_LOADS_SCALES, _SMALL_FLOATS = "v_mfma_ld_scale_b32", "_f8f6f4"
_SCALED = 1 << 11  # the bit of a matrix instruction that says that scales are before it
_SCALES = (Operand("scale_src0", 1, kinds="v"), Operand("scale_src1", 1, kinds="v"))
# registers of a matrix of small floats, by the number of their type: fp8, bf8, fp6, bf6, fp4
_REGISTERS = {2: 6, 3: 6, 4: 4}


class _ScalingDecoder(Decoder):
    """Reads a matrix instruction and the two words of its scales as one."""

    def decode(self, code: bytes, offset: int, target: str, *, address: int | None = None) -> Instruction:
        """As `Decoder.decode`."""
        first = super().decode(code, offset, target, address=address)
        if first.mnemonic != _LOADS_SCALES:
            return _in_its_width(first)
        try:
            scaled = int.from_bytes(code[offset + 8 : offset + 12], "little")
            rest = (scaled & ~_SCALED).to_bytes(4, "little") + code[offset + 12 : offset + 16]
            second = super().decode(rest, 0, target, address=address)
        except UnknownInstruction:
            return first
        if not scaled & _SCALED or not second.mnemonic.endswith(_SMALL_FLOATS):
            return first
        if min(first.fields["src0"], first.fields["src1"]) < VGPR_BASE:
            what = f"{target}'s scales of a matrix instruction {first.words[0]:#010x} are not in vector registers"
            raise UnknownInstruction(what, word=first.words[0], address=first.address, format="MFMA")
        return _scaled(first, _in_its_width(second), scaled)


def _in_its_width(instruction: Instruction) -> Instruction:
    """With as many registers for each matrix as the type of its numbers takes."""
    if not instruction.mnemonic.endswith(_SMALL_FLOATS):
        return instruction
    types = {"src0": instruction.fields["cbsz"], "src1": instruction.fields["blgp"]}
    operands = [
        replace(part, registers=_REGISTERS.get(types[part.field], part.registers)) if part.field in types else part
        for part in instruction.operands
    ]
    return replace(instruction, operands=tuple(operands))


def _scaled(scales: Instruction, matrix: Instruction, word: int) -> Instruction:
    fields = dict(matrix.fields) | {f"scale_{name}": scales.fields[name] for name in ("src0", "src1", "op_sel")}
    return replace(
        matrix,
        address=scales.address,
        size=scales.size + matrix.size,
        mnemonic=matrix.mnemonic.replace("v_mfma_", "v_mfma_scale_"),
        fields=fields | {"scale_op_sel_hi": scales.fields["op_sel_hi"]},
        words=(*scales.words, word, *matrix.words[1:]),
        operands=(*matrix.operands, *_SCALES),
    )


DECODER = _ScalingDecoder(TARGETS, FORMATS, FORMS, registers=REGISTERS, controls=CONTROLS, eights=False)
decode = DECODER.decode
