"""The decoder agrees with LLVM 19, and refuses bytes that are not an instruction."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.instructions import FIXTURES, disassembled, opcode_list

from hipgraph_cb.virtual.isa.targets.gfx9.decode import UnknownInstruction, decode

CODE_OBJECTS = sorted((FIXTURES / "corpus").rglob("*.hsaco"))
GFX942 = [path for path in CODE_OBJECTS if "gfx942" in str(path)]
MATRIX = ("v_mfma", "v_smfmac")


def encode(*words: int) -> bytes:
    return struct.pack(f"<{len(words)}I", *words)


@pytest.mark.parametrize("path", GFX942, ids=lambda path: path.name)
def test_every_instruction_of_the_corpus_has_llvms_size_and_mnemonic(path):
    found = 0
    for listed in disassembled(path):
        instruction = decode(listed.code + bytes(16), 0, address=listed.address)
        assert (instruction.size, instruction.mnemonic) == (len(listed.code), listed.mnemonic), listed.text
        assert instruction.address == listed.address
        found += 1
    assert found > 0


def test_every_opcode_that_llvm_knows_has_its_mnemonic_size_and_format():
    seen = set()
    for form, number, code, text in opcode_list():
        instruction = decode(code + bytes(8), 0)
        mnemonic = text.split()[0]
        assert (instruction.mnemonic, instruction.size) == (mnemonic, len(code)), (form, number)
        expected = "MFMA" if mnemonic.startswith(MATRIX) else form
        assert instruction.format == expected or (expected, instruction.format) == ("VOP3", "VOP3SD")
        seen.add(form)
    assert seen == {
        *("SOP1", "SOP2", "SOPC", "SOPK", "SOPP", "SMEM", "VOP1", "VOP2", "VOPC", "VOP3", "VOP3P"),
        *("DS", "FLAT", "GLOBAL", "SCRATCH", "MUBUF", "MTBUF"),
    }


@given(st.binary(min_size=16, max_size=16))
def test_any_bytes_decode_or_raise_the_decode_error(code):
    try:
        instruction = decode(code, 0)
    except UnknownInstruction as error:
        assert error.word == int.from_bytes(code[:4], "little")
        assert error.address == 0
    else:
        assert instruction.size in (4, 8)
        assert encode(*instruction.words) == code[: instruction.size]


@given(st.binary(max_size=7))
def test_code_that_ends_early_decodes_or_raises_the_decode_error(code):
    try:
        instruction = decode(code, 0)
    except UnknownInstruction:
        return
    assert instruction.size <= len(code)


@pytest.mark.parametrize(
    ("words", "format_name", "message"),
    [
        ((0xBE80FF00,), "SOP1", "gfx942 has no SOP1 opcode 255 (in 0xbe80ff00)"),
        ((0xD3AD0000, 0), "VOP3P", "gfx942 has no VOP3P opcode 45 (in 0xd3ad0000)"),  # gfx950's f8f6f4 matrix multiply
        ((0xDC00C000, 0), "FLAT", "0xdc00c000 is a FLAT instruction of an unknown segment"),
        ((0xC4000000, 0), None, "0xc4000000 belongs to no instruction format of gfx942"),  # EXP: there are no exports
        ((0xD1FD0000,), "VOP3", "the code ends within the VOP3 instruction 0xd1fd0000"),
        ((0x800000FF,), "SOP2", "the code ends within the SOP2 instruction 0x800000ff"),
    ],
)
def test_bytes_that_are_not_an_instruction_are_refused_with_word_address_and_format(words, format_name, message):
    with pytest.raises(UnknownInstruction) as raised:
        decode(bytes(8) + encode(*words), 8, address=0x1108)
    assert str(raised.value) == message
    assert (raised.value.word, raised.value.address, raised.value.format) == (words[0], 0x1108, format_name)


def test_a_target_without_tables_is_refused():
    with pytest.raises(UnknownInstruction) as raised:
        decode(bytes(16), 0, "gfx1100")
    assert str(raised.value) == "there is no decoder for gfx1100"


def test_an_offset_outside_the_code_is_refused():
    for offset in (-4, 16, 400):
        with pytest.raises(UnknownInstruction, match="the code ends here"):
            decode(bytes(16), offset)


def test_an_unused_third_source_may_hold_anything():
    # v_lshlrev_b64 v[2:3], 3, v[0:1]; newer compilers put 0x80 where older ones put 0
    old = decode(encode(0xD28F0002, 0x00020083), 0)
    new = decode(encode(0xD28F0002, 0x00020083 | 0x80 << 18), 0)
    assert (old.mnemonic, old.size) == (new.mnemonic, new.size) == ("v_lshlrev_b64", 8)


@pytest.mark.parametrize(
    ("code", "fields"),
    [
        # global_load_dword v1, v2, s[4:5] offset:-16
        ("f09f50dc02000401", {"vdst": 1, "addr": 2, "saddr": 4, "offset": -16, "sc0": 0}),
        # scratch_store_dword off, v3, s32 offset:4
        ("044070dc00032000", {"data": 3, "saddr": 32, "offset": 4, "sve": 0}),
        # s_load_dwordx2 s[0:1], s[4:5], 0x10
        ("020006c010000000", {"sdata": 0, "sbase": 4, "offset": 0x10, "imm": 1, "soffset_en": 0}),
        # buffer_load_dword v0, v1, s[4:7], s3 offen offset:4095
        ("ff1f50e001000103", {"vdata": 0, "vaddr": 1, "srsrc": 4, "soffset": 3, "offen": 1, "offset": 4095}),
        # v_pk_fma_f16 v0, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[0,1,1]
        ("00488ed301050e14", {"op_sel": 1, "op_sel_hi": 6, "src0": 257, "src2": 259}),
        # v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], a[2:3], a[0:3]
        ("0080cdd300050214", {"acc_cd": 1, "acc": 2, "vdst": 0, "src1": 258, "cbsz": 0}),
    ],
)
def test_fields_hold_the_numbers_of_the_encoding(code, fields):
    instruction = decode(bytes.fromhex(code), 0)
    assert {name: instruction.fields[name] for name in fields} == fields


def test_a_dpp_word_is_read_apart():
    # v_add_f32_dpp v0, v1, v2 row_shr:1 row_mask:0xa bank_mask:0xf bound_ctrl:1
    instruction = decode(bytes.fromhex("fa040002011109af"), 0)
    assert instruction.mnemonic == "v_add_f32"
    assert instruction.dpp["src0"] == 1
    assert (instruction.dpp["dpp_ctrl"], instruction.dpp["row_mask"], instruction.dpp["bank_mask"]) == (0x111, 0xA, 0xF)
    assert instruction.dpp["bound_ctrl"] == 1


def test_an_sdwa_word_is_read_apart():
    # v_add_u32_sdwa v0, v1, v2 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:BYTE_3
    instruction = decode(bytes.fromhex("f904006801110503"), 0)
    assert instruction.mnemonic == "v_add_u32"
    expected = {"src0": 1, "dst_sel": 1, "dst_unused": 2, "src0_sel": 5, "src1_sel": 3, "s0": 0, "s1": 0}
    assert {name: instruction.sdwa[name] for name in expected} == expected


def test_a_literal_is_an_unsigned_number_behind_the_instruction():
    instruction = decode(encode(0x8000FF01, 0xFFFFFFFE), 0)
    assert (instruction.mnemonic, instruction.size, instruction.literal) == ("s_add_u32", 8, 0xFFFFFFFE)
