"""The text of an instruction is LLVM's, apart from a short list of rare forms."""

from __future__ import annotations

import re

import pytest
from support.instructions import FIXTURES, disassembled, opcode_list

from hipgraph_cb.virtual.isa.targets.gfx9.decode import decode
from hipgraph_cb.virtual.isa.text.disassemble import disassemble

GFX942 = sorted(path for path in (FIXTURES / "corpus").rglob("*.hsaco") if "gfx942" in str(path))
# written otherwise than LLVM does: named buffer formats, messages, scalar atomics, global wave sync
SPELLED_OTHERWISE = re.compile(
    r"tbuffer_.*|s_(buffer_)?atomic_.*|s_atc_probe.*|s_dcache_discard.*|s_sendmsg.*|ds_gws_.*"
    r"|s_cbranch_[gi]_fork|s_rfe_.*|s_call_b64|s_ttracedata|s_endpgm_.*|ds_(read|write)_addtid_b32"
    r"|ds_(consume|append)|ds_wrap_rtn_b32|v_writelane_b32"
)


@pytest.mark.parametrize("path", GFX942, ids=lambda path: path.name)
def test_every_instruction_of_the_corpus_is_spelled_as_llvm_does(path):
    lines = [(disassemble(decode(listed.code, 0)), listed.text) for listed in disassembled(path)]
    assert lines
    assert [ours for ours, _ in lines] == [llvms for _, llvms in lines]


def test_one_form_of_every_opcode_is_spelled_as_llvm_does():
    compared = 0
    for _, _, code, text in opcode_list():
        if SPELLED_OTHERWISE.fullmatch(text.split()[0]):
            continue
        assert disassemble(decode(code, 0)) == text
        compared += 1
    assert compared > 1350


def test_rare_forms_have_a_text_that_starts_with_the_mnemonic():
    for _, _, code, text in opcode_list():
        assert disassemble(decode(code, 0)).split()[0] == text.split()[0]


def test_operands_flags_and_offsets_are_written_out():
    load = decode(bytes.fromhex("f09f50dc02000401"), 0)
    matrix = decode(bytes.fromhex("0080cdd300050214"), 0)
    assert disassemble(load) == "global_load_dword v1, v2, s[4:5] offset:-16"
    assert disassemble(matrix) == "v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], a[2:3], a[0:3]"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("140111bf", "s_set_gpr_idx_on s20, gpr_idx(SRC0)"),
        ("140911bf", "s_set_gpr_idx_on s20, gpr_idx(SRC0,DST)"),
        ("140011bf", "s_set_gpr_idx_on s20, gpr_idx()"),
        ("850f11bf", "s_set_gpr_idx_on 5, gpr_idx(SRC0,SRC1,SRC2,DST)"),
        ("7c0f11bf", "s_set_gpr_idx_on m0, gpr_idx(SRC0,SRC1,SRC2,DST)"),
        ("033280be", "s_set_gpr_idx_idx s3"),
        ("06009dbf", "s_set_gpr_idx_mode gpr_idx(SRC1,SRC2)"),
        ("00009dbf", "s_set_gpr_idx_mode gpr_idx()"),
        ("028310bf", "s_setvskip s2, 3"),
        ("c18010bf", "s_setvskip -1, 0"),
        ("00009cbf", "s_set_gpr_idx_off"),
        ("0100a2d202070200", "v_cvt_pk_fp8_f32 v1, v2, v3"),
        ("0140a2d202070200", "v_cvt_pk_fp8_f32 v1, v2, v3 op_sel:[0,0,1]"),
        ("0142a3d202070220", "v_cvt_pk_bf8_f32 v1, -v2, |v3| op_sel:[0,0,1]"),
        ("0100a4d202070200", "v_cvt_sr_fp8_f32 v1, v2, v3"),
        ("0120a4d202070200", "v_cvt_sr_fp8_f32 v1, v2, v3 op_sel:[0,0,1,0]"),
        ("0140a5d202070200", "v_cvt_sr_bf8_f32 v1, v2, v3 op_sel:[0,0,0,1]"),
        ("0160a5d202070200", "v_cvt_sr_bf8_f32 v1, v2, v3 op_sel:[0,0,1,1]"),
        ("014803d202071204", "v_mad_f16 v1, v2, v3, v4 op_sel:[1,0,0,1]"),
        ("01489ed202070200", "v_add_i16 v1, v2, v3 op_sel:[1,0,1]"),
        ("015007d202071204", "v_div_fixup_f16 v1, v2, v3, v4 op_sel:[0,1,0,1]"),
    ],
)
def test_choices_of_halves_and_of_indexed_operands_are_spelled_as_llvm_does(code, text):
    assert disassemble(decode(bytes.fromhex(code), 0)) == text
