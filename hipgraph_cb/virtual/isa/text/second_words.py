"""The words behind a short vector instruction as LLVM spells them: sources from other lanes, and parts of registers."""

from __future__ import annotations

from collections.abc import Iterator

from hipgraph_cb.virtual.isa.core.instruction import Instruction
from hipgraph_cb.virtual.isa.text.names import Names

_WHOLE_WAVE = {
    0x130: "wave_shl:1",
    0x134: "wave_rol:1",
    0x138: "wave_shr:1",
    0x13C: "wave_ror:1",
    0x140: "row_mirror",
    0x141: "row_half_mirror",
    0x142: "row_bcast:15",
    0x143: "row_bcast:31",
}
_ROWS = {0x10: "row_shl", 0x11: "row_shr", 0x12: "row_ror", 0x16: "row_xmask"}
_PARTS = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")
_REST = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE")


def lanes(instruction: Instruction, names: Names) -> Iterator[str]:
    """The controls of a DPP word."""
    fields = instruction.dpp
    if fields is None:
        return
    if "dpp8" in fields:
        yield f"dpp8:[{','.join(str(fields['dpp8'] >> 3 * index & 7) for index in range(8))}]"
    else:
        yield _control(fields["dpp_ctrl"], names)
        yield f"row_mask:{fields['row_mask']:#x} bank_mask:{fields['bank_mask']:#x}"
        if fields["bound_ctrl"]:
            yield "bound_ctrl:1"
    if fields["fi"] and names.fetches_inactive:
        yield "fi:1"


def _control(control: int, names: Names) -> str:
    if control < 0x100:
        return f"quad_perm:[{','.join(str(control >> 2 * index & 3) for index in range(4))}]"
    if control in _WHOLE_WAVE:
        return _WHOLE_WAVE[control]
    row = _ROWS.get(control >> 4, names.row_shared)
    return f"{row}:{control & 15}"


def parts(instruction: Instruction) -> Iterator[str]:
    """The controls of an SDWA word."""
    fields = instruction.sdwa
    if fields is None:
        return
    if "dst_sel" in fields and instruction.operands:
        yield f"dst_sel:{_PARTS[fields['dst_sel']]}"
        yield f"dst_unused:{_REST[fields['dst_unused']]}"
    for source in ("src0", "src1"):
        if any(operand.field in (source, f"v{source}") for operand in instruction.operands):
            yield f"{source}_sel:{_PARTS[fields[f'{source}_sel']]}"
