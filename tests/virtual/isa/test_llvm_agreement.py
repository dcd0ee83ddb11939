"""Decoding and text agree with LLVM 22 on encodings of every operation and on random ones."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.instructions import FIXTURES, disassembled, without_encoding

from hipgraph_cb.virtual.isa.core.instruction import Instruction, UnknownInstruction
from hipgraph_cb.virtual.isa.targets.families import target_of

ROOT = Path(__file__).parents[3]
PROCESSORS = ("gfx1100", "gfx1201", "gfx90a", "gfx950")
# the device refuses these by name: their operands are not looked at
OUTLINES = ("image_", "exp", "lds_", "ds_direct_", "ds_param_", "v_interp_")
# what LLVM reads although the hardware has no such instruction: a literal behind a DPP word; a scalar result or a
# vector source that is a constant of the hardware; vector registers beyond the last; EXEC as the base of a load to LDS;
# lanes of 64-bit operations; three scalar registers that start anywhere
_LITERAL_AND_LANES = re.compile(r"_dpp .*(?<!row_mask:)(?<!bank_mask:)0x[0-9a-f]+(?!.*instid)")
_ONLY_LLVM_READS = (
    re.compile(r"\S+ src_"),
    re.compile(r"v_(readfirstlane|permlane|swap|movrel|wmma|swmmac)\S* .*(null|src_|m0|exec|vcc)"),
    re.compile(r".*:(25[6-9]|2[6-9]\d)\]"),
    re.compile(r"global_load\S* .*exec.* lds|global_load_lds\S* .*exec"),
    re.compile(r"\S+_f64_dpp |v_fma_mix\S*_dpp .*src_|s_(buffer_)?load_b96 "),
)
# what LLVM 22 does not read although LLVM 19 and the hardware do: another result of v_cmpx than EXEC, and results of
# some atomics in accumulation registers; EXEC as the result of a scalar function; and a sparse matrix's index that
# only waves of 64 lanes have
_OTHERS_READ = re.compile(r"v_cmpx_|v_swmmac_|v_s_|(flat|global)_atomic_\w*f(16|32|64)$")
# LLVM takes some image instructions of gfx12 for mixed multiply-adds of older processors
_IMAGES_OF_GFX12 = 0xD3
_QUADS = re.compile(r"quad_perm:\S+")
_LOWER_HALF = re.compile(r"(?<=\d)\.l")


def decode(code: bytes, processor: str) -> Instruction:
    return target_of(processor).decode(code, 0, processor)


def spelled(instruction: Instruction, processor: str) -> str:
    return target_of(processor).text(instruction, 64 if processor.startswith("gfx9") else 32)


def samples(path: Path) -> Iterator[tuple[bytes, str | None]]:
    """Encodings, and LLVM's text of those that are an instruction."""
    for line in path.read_text().splitlines():
        code, text = line.split(" ", 1)
        yield bytes.fromhex(code), None if text == "-" else text.split(" ;")[0]


def only_llvm_reads(text: str) -> bool:
    return any(pattern.match(text) for pattern in _ONLY_LLVM_READS) or _LITERAL_AND_LANES.search(text) is not None


def compare(processor: str, path: Path) -> tuple[int, int]:
    """How many encodings have LLVM's size and text, and how many are no instruction."""
    compared, refused = 0, 0
    for code, expected in samples(path):
        try:
            instruction = decode(code, processor)
        except UnknownInstruction as error:
            accepted = expected is None or only_llvm_reads(expected) or code[3] == _IMAGES_OF_GFX12
            assert accepted, f"{code.hex()} {expected}: {error}"
            refused += 1
            continue
        if instruction.mnemonic.startswith(OUTLINES):
            assert expected is None or expected.split()[0] == instruction.mnemonic
            continue
        if expected is None:
            assert _OTHERS_READ.match(instruction.mnemonic), f"{code.hex()} {instruction}"
            continue
        assert instruction.size == len(code)
        texts = [spelled(instruction, processor), without_encoding(expected)]
        if instruction.mnemonic == "v_fma_mixhi_f16":  # LLVM loses a bit of the lanes here
            texts = [_QUADS.sub("", text) for text in texts]
        assert texts[0] == texts[1], code.hex()
        compared += 1
    return compared, refused


@pytest.mark.parametrize("processor", PROCESSORS)
def test_what_llvm_calls_invalid_is_invalid_and_the_rest_has_its_size_and_text(processor):
    compared, refused = compare(processor, FIXTURES / "isa" / f"{processor}_encodings.txt")
    assert compared > 1000
    assert refused > 100


@pytest.mark.encodings
@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize("processor", PROCESSORS)
def test_the_same_holds_for_ten_thousand_random_encodings(processor, seed, tmp_path):
    path = tmp_path / "encodings.txt"
    tool = ("tools/sample_encodings.py", processor, "10000", str(path), str(seed))
    subprocess.run((sys.executable, *tool), check=True, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)})
    compared, refused = compare(processor, path)
    assert compared > 4000
    assert refused > 1000


def corpus() -> list[tuple[str, Path]]:
    paths = sorted((FIXTURES / "corpus").rglob("*.hsaco"))
    return [(processor, path) for processor in PROCESSORS for path in paths if processor in path.name]


@pytest.mark.parametrize(("processor", "path"), corpus(), ids=lambda value: getattr(value, "name", value))
def test_every_instruction_of_the_corpus_has_the_size_and_text_of_llvm_19(processor, path):
    lines = list(disassembled(path, processor))
    assert lines
    for listed in lines:
        instruction = decode(listed.code, processor)
        assert instruction.size == len(listed.code)
        # LLVM 19 names the lower halves of registers in a few instructions only
        ours, llvms = (_LOWER_HALF.sub("", text) for text in (spelled(instruction, processor), listed.text))
        assert ours == llvms


@pytest.mark.parametrize("processor", PROCESSORS)
@given(code=st.binary(min_size=20, max_size=20))
def test_any_bytes_decode_or_raise_the_decode_error(processor, code):
    try:
        instruction = decode(code, processor)
    except UnknownInstruction as error:
        assert error.word == int.from_bytes(code[:4], "little")
        return
    assert b"".join(word.to_bytes(4, "little") for word in instruction.words) == code[: instruction.size]
    assert spelled(instruction, processor).startswith(instruction.mnemonic)


@pytest.mark.parametrize("processor", PROCESSORS)
@given(code=st.binary(max_size=11))
def test_code_that_ends_early_decodes_or_raises_the_decode_error(processor, code):
    try:
        instruction = decode(code, processor)
    except UnknownInstruction:
        return
    assert instruction.size <= len(code)


@pytest.mark.parametrize(
    ("code", "first", "second"),
    [
        (
            # v_dual_fmaak_f32 v12, 0x1234, v30, 0x1234 :: v_dual_fmac_f32 v15, 0x1234, v31
            "ff3c40c8ff3e0e0c34120000",
            ("v_fmaak_f32", {"vdst": 12, "src0": 255, "vsrc1": 30}),
            ("v_fmac_f32", {"vdst": 15, "src0": 255, "vsrc1": 31}),
        ),
        (
            # v_dual_mov_b32 v12, s5 :: v_dual_add_f32 v15, v6, v31
            "050008ca063f0e0c",
            ("v_mov_b32", {"vdst": 12, "src0": 5}),
            ("v_add_f32", {"vdst": 15, "src0": 262, "vsrc1": 31}),
        ),
    ],
)
def test_a_dual_instruction_has_its_two_operations_as_parts(code, first, second):
    instruction = decode(bytes.fromhex(code), "gfx1100")
    assert [(part.mnemonic, dict(part.fields)) for part in instruction.parts] == [first, second]
    assert {part.literal for part in instruction.parts} == {instruction.literal}


def test_an_unused_source_may_be_the_constant_0_that_newer_compilers_put_there():
    # v_lshlrev_b64 v[0:1], 2, v[2:3]
    old = decode(bytes.fromhex("00003cd782040200"), "gfx1100")
    new = decode(bytes.fromhex("00003cd782040202"), "gfx1100")
    assert spelled(old, "gfx1100") == spelled(new, "gfx1100") == "v_lshlrev_b64 v[0:1], 2, v[2:3]"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (
            "0018acd332670208 0c0cadd3143da244",
            "v_mfma_scale_f32_16x16x128_f8f6f4 v[12:15], v[20:23], v[30:35], v[40:43], v50, v51"
            " op_sel:[1,1,0] op_sel_hi:[1,0,0] cbsz:4 blgp:2",
        ),
        (
            "0000acd332670200 0c8caed3143da25c",
            "v_mfma_scale_f32_32x32x64_f8f6f4 a[12:27], a[20:23], a[30:35], a[40:55], v50, v51"
            " op_sel_hi:[0,0,0] cbsz:4 blgp:2",
        ),
        ("0000acd332670200 000080bf", "v_mfma_ld_scale_b32 v50, v51 op_sel_hi:[0,0]"),
        ("0c02add3143da204", "v_mfma_f32_16x16x128_f8f6f4 v[12:15], v[20:25], v[30:37], v[40:43] cbsz:2"),
    ],
)
def test_scales_and_types_of_small_floats_are_read_with_their_matrix_instruction(code, text):
    # what LLVM 22 prints
    instruction = decode(bytes.fromhex(code) + bytes(8), "gfx950")
    assert spelled(instruction, "gfx950") == text
