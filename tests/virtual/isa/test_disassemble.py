"""The text of an instruction is LLVM's, apart from a short list of rare forms."""

from __future__ import annotations

import re

import pytest
from support.instructions import FIXTURES, disassembled, opcode_list

from hipgraph_cb.virtual.isa.decode import decode
from hipgraph_cb.virtual.isa.disassemble import disassemble

GFX942 = sorted(path for path in (FIXTURES / "corpus").rglob("*.hsaco") if "gfx942" in str(path))
# written otherwise than LLVM does: named buffer formats, messages, GPR indexing, scalar atomics, global wave sync
SPELLED_OTHERWISE = re.compile(
    r"tbuffer_.*|s_(buffer_)?atomic_.*|s_atc_probe.*|s_dcache_discard.*|s_sendmsg.*|s_set_gpr_idx.*|ds_gws_.*"
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
