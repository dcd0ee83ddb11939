"""Every opcode of gfx942 has its meaning or a reason why it has none."""

from __future__ import annotations

from support.instructions import opcode_list

from hipgraph_cb.virtual.isa.execution.coverage import coverage
from hipgraph_cb.virtual.isa.targets.gfx9.target import TARGET


def test_the_list_is_that_of_llvm():
    listed = {mnemonic for formats in coverage("gfx942").values() for mnemonic in formats}
    assert listed == {text.split()[0] for _, _, _, text in opcode_list()}


def test_nothing_is_both_left_out_and_done():
    states = {mnemonic: state for formats in coverage("gfx942").values() for mnemonic, state in formats.items()}
    left_out = {mnemonic for group in TARGET.exclusions.values() for mnemonic in group if mnemonic[0] in "svd"}
    assert {mnemonic for mnemonic, state in states.items() if state == "excluded"} == left_out
    assert [mnemonic for mnemonic, state in states.items() if state == "absent"] == []
