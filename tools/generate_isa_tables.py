"""Write `targets/gfx9/tables_generated.py` of the virtual ISA: opcode numbers, mnemonics and bit positions of gfx942.

Run by hand with the development package tinygrad==0.14.0 installed:  python tools/generate_isa_tables.py

Only facts are taken: which number is which mnemonic, and where a field is. The enumerations cover gfx942 and gfx950
together; what gfx942 lacks, what they lack and what LLVM spells otherwise stands in the tables below, each entry found
by giving every opcode of every format to LLVM 19's disassembler for gfx942.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from tinygrad.runtime.autogen.amd.cdna import enum, ins

OUTPUT = Path(__file__).parents[1] / "hipgraph_cb" / "virtual" / "isa" / "targets" / "gfx9" / "tables_generated.py"
SOURCE_VERSION = "0.14.0"
WIDTH = 116

# format -> (enumeration, instruction class whose bit positions count)
FORMATS = {
    "SOP1": ("SOP1Op", "SOP1"),
    "SOP2": ("SOP2Op", "SOP2"),
    "SOPC": ("SOPCOp", "SOPC"),
    "SOPK": ("SOPKOp", "SOPK"),
    "SOPP": ("SOPPOp", "SOPP"),
    "SMEM": ("SMEMOp", "SMEM"),
    "VOP1": ("VOP1Op", "VOP1"),
    "VOP2": ("VOP2Op", "VOP2"),
    "VOPC": ("VOPCOp", "VOPC"),
    "VOP3": ("VOP3Op", "VOP3"),
    "VOP3SD": ("VOP3SDOp", "VOP3SD"),
    "VOP3P": ("VOP3POp", "VOP3P"),
    "DS": ("DSOp", "DS"),
    "FLAT": ("FLATOp", "FLAT"),
    "GLOBAL": ("GLOBALOp", "GLOBAL"),
    "SCRATCH": ("SCRATCHOp", "SCRATCH"),
    "MUBUF": ("MUBUFOp", "MUBUF"),
    "MTBUF": ("MTBUFOp", "MTBUF"),
}
# words behind a short vector instruction; a comparison has its own form of SDWA
SECOND_WORDS = {"DPP": "VOP2_DPP16", "SDWA": "VOP2_SDWA", "SDWAC": "VOPC_SDWA_SDST"}
# fields of VOP3P whose bits mean something else in a matrix instruction
MODIFIERS = {"neg", "neg_hi", "clamp", "op_sel", "op_sel_hi", "op_sel_hi2"}

# gfx950 only
ABSENT = {
    "DS": r"ds_read_b(64|96)_tr_.*",
    "GLOBAL": r"global_load_lds_dwordx[34]",
    "MUBUF": r"buffer_atomic_pk_add_bf16",
    "SOPP": r"s_set_valu_coexec_mode",
    "VOP1": r"v_prng_b32|v_permlane(16|32)_swap_b32|v_cvt_f32_bf16",
    "VOP2": r"v_dot2c_f32_bf16",
    "VOP3": r"v_prng_b32|v_permlane(16|32)_swap_b32|v_cvt_f32_bf16|v_dot2c_f32_bf16|v_bitop3_.*|v_cvt_scalef32_.*"
    r"|v_ashr_pk_.*|v_cvt_pk_b?f16_f32|v_cvt_sr_b?f16_f32|v_(min|max)imum3_f32",
    "VOP3P": r"v_dot2_f32_bf16|v_pk_(min|max)imum3_f16|v_mfma_ld_scale_b32|v_mfma_.*_f8f6f4"
    r"|v_mfma_f32_16x16x32_b?f16|v_mfma_f32_32x32x16_b?f16|v_mfma_i32_16x16x64_i8|v_mfma_i32_32x32x32_i8"
    r"|v_smfmac_f32_16x16x64_b?f16|v_smfmac_f32_32x32x32_b?f16|v_smfmac_i32_16x16x128_i8|v_smfmac_i32_32x32x64_i8"
    r"|v_smfmac_f32_16x16x128_.*|v_smfmac_f32_32x32x64_.*",
}
MISSING = {"DS": {153: "ds_gws_init", 155: "ds_gws_sema_br", 157: "ds_gws_barrier"}}
RENAMED = {
    "v_mad_mix_f32": "v_fma_mix_f32",
    "v_mad_mixlo_f16": "v_fma_mixlo_f16",
    "v_mad_mixhi_f16": "v_fma_mixhi_f16",
    "v_accvgpr_read": "v_accvgpr_read_b32",
    "v_accvgpr_write": "v_accvgpr_write_b32",
}
FIELD_NAMES = {
    "clmp": "clamp",
    "opsel": "op_sel",
    "opsel_hi": "op_sel_hi",
    "opsel_hi2": "op_sel_hi2",
    "bc": "bound_ctrl",
}
FIELD_NAMES |= {"dpp": "dpp_ctrl", "vsrc0": "src0"}
# The source gives GLOBAL twelve bits; LLVM assembles a signed 13-bit offset.
LAYOUT_FIXES = {"GLOBAL": {"offset": (0, 13)}}
OPCODE_FIELDS = {"encoding", "op", "seg"}


def mnemonics(format_name: str) -> dict[int, str]:
    absent = re.compile(ABSENT.get(format_name, r"(?!)"))
    table = dict(MISSING.get(format_name, {}))
    for member in getattr(enum, FORMATS[format_name][0]):
        name = re.sub(r"_e(32|64)$", "", member.name.lower())
        if not absent.fullmatch(name):
            table[member.value] = RENAMED.get(name, name)
    return dict(sorted(table.items()))


def layout(class_name: str, fixes: dict[str, tuple[int, int]], first_bit: int = 0) -> list[tuple[str, int, int]]:
    rows = []
    for name, field in getattr(ins, class_name)._fields:
        if name in OPCODE_FIELDS or field.lo < first_bit:
            continue
        name = FIELD_NAMES.get(name, name)
        low, width = fixes.get(name, (field.lo - first_bit, field.hi - field.lo + 1))
        rows.append((name, low, width))
    return sorted(rows, key=lambda row: row[1])


def long_form_of_short(tables: dict[str, dict[int, str]]) -> dict[int, str]:
    """Opcodes of the long vector encoding that repeat a short one (CDNA3 ISA document, VOP3A)."""
    bases = {"VOPC": 0, "VOP2": 256, "VOP1": 320}
    return {base + op: name for form, base in bases.items() for op, name in tables[form].items()}


def wrapped(items: Iterator[str]) -> Iterator[str]:
    line = "   "
    for item in items:
        if len(line) + len(item) + 2 > WIDTH:
            yield line
            line = "   "
        line += f" {item},"
    yield line


def render() -> str:
    tables = {name: mnemonics(name) for name in FORMATS}
    repeated = long_form_of_short(tables)
    listed = tables["VOP3"] | tables["VOP3SD"]
    tables["VOP3"] = {op: name for op, name in tables["VOP3"].items() if repeated.get(op) != name}
    short_only = sorted(name for op, name in repeated.items() if op not in listed)
    lines = [
        '"""Opcode numbers, mnemonics and bit positions of gfx942. Generated by tools/generate_isa_tables.py."""',
        "",
        "# long forms of VOPC, VOP2 and VOP1 opcodes are at 0, 256 and 320 plus the short opcode; these have none",
        "SHORT_ONLY = frozenset((",
        *wrapped(f'"{name}"' for name in short_only),
        "))",
        "",
        "MNEMONICS = {",
    ]
    for name, table in tables.items():
        lines += [f'  "{name}": {{', *wrapped(f'{op}: "{text}"' for op, text in table.items()), "  },"]
    lines += [
        "}",
        "",
        "# format: (field, lowest bit, width); DPP and SDWA: of their own word",
    ]
    lines += ["LAYOUTS = {"]
    layouts = {name: layout(FORMATS[name][1], LAYOUT_FIXES.get(name, {})) for name in FORMATS}
    layouts["MFMA"] = [row for row in layout("VOP3P_MFMA", {}) if row[0] not in MODIFIERS]
    for name, class_name in SECOND_WORDS.items():
        layouts[name] = layout(class_name, {}, first_bit=32)
    for name, rows in layouts.items():
        lines += [f'  "{name}": (', *wrapped(f'("{field}", {low}, {width})' for field, low, width in rows), "  ),"]
    return "\n".join([*lines, "}", ""])


if __name__ == "__main__":
    if version("tinygrad") != SOURCE_VERSION:
        raise SystemExit(f"needs tinygrad=={SOURCE_VERSION}, found {version('tinygrad')}")
    OUTPUT.write_text(render())
    print(f"wrote {OUTPUT}")
