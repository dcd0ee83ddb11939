"""The tests of this folder cover every instruction that is in the corpus."""

from __future__ import annotations

import re
from pathlib import Path

from support.instructions import FIXTURES, disassembled

from hipgraph_cb.virtual.isa.matrix.matrix import MNEMONICS as MATRIX

HERE = Path(__file__).parent
UNION = FIXTURES / "isa" / "corpus_mnemonics.txt"
# tried with values of their own elsewhere: lane layouts, the three steps of a division, an exchange between lanes
ELSEWHERE = {
    "test_matrix.py": ("v_mfma_f32_16x16x16_f16", "v_mfma_f32_16x16x4_f32", "v_mfma_f32_32x32x8_f16"),
    "test_carry_and_division.py": tuple(
        f"v_div_{step}_{kind}" for step in ("scale", "fmas", "fixup") for kind in ("f32", "f64")
    ),
    "test_lane_exchange.py": ("ds_bpermute_b32",),
}


def listed() -> set[str]:
    return set(UNION.read_text().split())


def test_the_list_is_the_union_of_all_files_for_gfx942():
    found = set()
    for path in sorted((FIXTURES / "corpus").rglob("*.hsaco")):
        if "gfx942" in str(path):
            found |= {instruction.mnemonic for instruction in disassembled(path)}
    assert found == listed()


def test_every_instruction_of_the_list_is_tried():
    text = "\n".join(
        (HERE / f"test_corpus_{part}.py").read_text() for part in ("vector", "scalar", "memory", "control")
    )
    here = {mnemonic for mnemonic in listed() if re.search(rf"\b{mnemonic}\b", text)}
    elsewhere = {mnemonic for group in ELSEWHERE.values() for mnemonic in group}
    assert here | elsewhere == listed()


def test_what_is_tried_elsewhere_is_named_there():
    for name, mnemonics in ELSEWHERE.items():
        text = (HERE / name).read_text()
        for mnemonic in mnemonics:
            assert mnemonic in text or ("matrix.MNEMONICS" in text and mnemonic in MATRIX), mnemonic
