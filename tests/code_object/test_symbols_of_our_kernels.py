"""Every kernel of ours can be found by name: AMD's runtimes look at the dynamic symbol table only."""

from __future__ import annotations

from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from hipgraph_cb.code_object.verify import inspect

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "hipgraph_cb").rglob("*.hsaco"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_dynamic_symbol_table_names_every_kernel(path):
    with path.open("rb") as file:
        symbols = ELFFile(file).get_section_by_name(".dynsym").iter_symbols()
        named = {symbol.name for symbol in symbols if symbol["st_info"]["bind"] == "STB_GLOBAL"}
    exports = inspect(path.read_bytes()).exports.values()
    assert exports
    assert {export.symbol for export in exports} <= named
