"""Source lines of addresses: those that llvm-symbolizer gives, for each version of DWARF that compilers write."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from support.tools import require_tool

from hipgraph_cb.code_object.debug_info.debug_info import Frame
from hipgraph_cb.code_object.verify import VerifiedExecutable, inspect

FOLDER = Path(__file__).parents[2] / "fixtures" / "debug_info"
FILES = sorted(FOLDER.glob("*.hsaco"))
SYMBOLIZER = "llvm-symbolizer-19"


def addresses(executable: VerifiedExecutable) -> list[int]:
    """Every instruction word of every function."""
    functions = [symbol for symbol in executable.code_object.symbols.values() if symbol.kind == 2]
    return [address for each in functions for address in range(each.value, each.value + each.size, 4)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_address_has_the_lines_that_llvm_symbolizer_gives(path: Path) -> None:
    require_tool(SYMBOLIZER)
    executable = inspect(path.read_bytes())
    asked = addresses(executable)
    answer = subprocess.run(
        [SYMBOLIZER, "-e", path, "--output-style=JSON", "--no-demangle"],
        input="".join(f"{address:#x}\n" for address in asked),
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    expected = [[(row["FileName"], row["Line"]) for row in json.loads(line)["Symbol"]] for line in answer.splitlines()]
    found = [[frame[:2] for frame in executable.code_object.debug_info.frames(address)] for address in asked]
    assert len(asked) > 15
    assert found == expected
    assert executable.code_object.debug_info.problem is None


def test_an_inlined_call_is_a_frame_with_the_function_that_it_was_inlined_into() -> None:
    code_object = inspect((FOLDER / "shapes.dwarf5.gfx942.hsaco").read_bytes()).code_object
    chains = {code_object.debug_info.frames(address) for address in addresses(inspect(code_object.data))}
    source = (FOLDER / "src" / "shapes.hip").read_text().splitlines()
    lines = [1 + source.index(line) for line in ("  return p[i];", "  return 2.0f * at(p, i);")]
    lines.append(1 + source.index("    y[i] = a * twice(x, i) + y[i];"))
    file = "/src/src/shapes.hip"
    assert tuple(map(Frame, [file] * 3, lines, ["at", "twice", "scale"])) in chains
    assert str(Frame(file, 3, "scale")) == "/src/src/shapes.hip:3 in scale"
    assert str(Frame(file, 0, None)) == "/src/src/shapes.hip"


@pytest.mark.parametrize("address", [0, 1, 0x1C00, 1 << 63, (1 << 64) - 1])
def test_an_address_outside_of_the_code_has_no_lines(address: int) -> None:
    debug_info = inspect(FILES[0].read_bytes()).code_object.debug_info
    assert debug_info.frames(address) == ()
    assert debug_info.problem is None


def test_a_file_without_debug_information_has_no_lines_and_no_problem() -> None:
    data = (FOLDER.parent / "corpus" / "clang" / "h_hip.gfx942.hsaco").read_bytes()
    executable = inspect(data)
    debug_info = executable.code_object.debug_info
    assert {debug_info.frames(address) for address in addresses(executable)} == {()}
    assert not debug_info.is_there
    assert debug_info.problem is None
