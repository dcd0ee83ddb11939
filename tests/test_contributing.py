"""ARCHITECTURE.md and CONTRIBUTING.md are true: each package, each rule that is cited, and the recipes, followed."""

import os
import pkgutil
import re
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

import pytest
from support.child import HANGING

import hipgraph_cb

ROOT = Path(__file__).parents[1]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()
# In brackets, or at the head of a module: "(R1)", "R2: a barrier is lazy"
CITED = re.compile(r"(?<=\s)\(([A-Z][1-9](?:, [A-Z][1-9])*)\)|^\"\"\"(?:.*; )?([A-Z][1-9])\b(?=:| for )", re.M)
STATED = re.compile(r"^\* \*\*([A-Z]\d+)\*\* ", re.M)
ELSEWHERE = re.compile(r"\b(?:section \d|sections \d|DESIGN\b|issue #?\d|specs?/)")


def sources() -> list[Path]:
    folders = (ROOT / "hipgraph_cb", ROOT / "tests", ROOT / "tools", ROOT / "samples")
    found = [path for folder in folders for suffix in ("py", "c", "cl", "js") for path in folder.rglob(f"*.{suffix}")]
    return [path for path in found if path != Path(__file__)]


def packages() -> list[str]:
    walked = pkgutil.walk_packages(hipgraph_cb.__path__, "hipgraph_cb.")
    return ["hipgraph_cb", *(found.name for found in walked if found.ispkg)]


def test_every_package_has_a_row_in_the_architecture_and_no_other_has() -> None:
    rows = re.findall(r"^\| `(hipgraph_cb[\w.]*)` \|", ARCHITECTURE, re.M)
    assert sorted(rows) == sorted(packages())


def test_every_rule_that_code_cites_by_number_is_stated() -> None:
    stated = STATED.findall(CONTRIBUTING)
    assert len(stated) == len(set(stated))
    for path in sources():
        for several, one in CITED.findall(path.read_text()):
            assert set((several or one).split(", ")) <= set(stated), f"{path.relative_to(ROOT)} cites {several or one}"


def test_the_rules_are_cited() -> None:
    """The pattern finds citations: most rules have one."""
    cited = {name for path in sources() for pair in CITED.findall(path.read_text()) for name in pair if name}
    assert len({name for names in cited for name in names.split(", ")}) >= 12


def test_nothing_refers_to_what_a_reader_cannot_find() -> None:
    assert [str(path.relative_to(ROOT)) for path in sources() if ELSEWHERE.search(path.read_text())] == []


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "ARCHITECTURE.md"])
def test_every_path_that_the_pages_name_exists_or_is_made_by_the_recipe(page: str) -> None:
    text = (ROOT / page).read_text()
    made = {
        "hipgraph_cb/export/labels.py",
        "hipgraph_cb/recording/commands/erase.py",
        "hipgraph_cb/virtual/hip/api/granularity.py",
    }
    named = set(re.findall(r"`((?:hipgraph_cb|tests|tools|docs)/[\w./]*)`", text)) - made
    assert len(named) > (20 if page == "CONTRIBUTING.md" else 1)
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_target_of_make_that_the_page_names_exists() -> None:
    targets = Counter(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    assert set(re.findall(r"`make ([a-z-]+)`", CONTRIBUTING)) <= set(targets)


def recipe(title: str) -> str:
    """The file that a recipe shows."""
    return pieces(title)[0]


def pieces(title: str) -> list[str]:
    """The file that a recipe shows, and then the code that goes into other files."""
    section = CONTRIBUTING.partition(f"### {title}\n")[2].partition("\n### ")[0]
    found = re.findall(r"^( *)```python\n(.*?)^ *```$", section, re.M | re.S)
    return [textwrap.dedent(code) for _, code in found]


def run(folder: Path, program: str) -> str:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(folder)))}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=HANGING, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_recipe_for_an_export_format_makes_one(tmp_path: Path) -> None:
    package = tmp_path / "formats_of_mine"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "labels.py").write_text(recipe("An export format"))
    program = """
from hipgraph_cb import CommandBuffer, Slot
from hipgraph_cb.recording import formats

formats.add_package("formats_of_mine")
with CommandBuffer(binding_capacity=1) as cb:
    cb.fill_buffer(Slot(0, 0, 16), 0, label="clear")
    cb.fill_buffer(Slot(0, 0, 16), 1)
print(cb.recording.export("labels"), end="")
print([each.summary for each in formats.text_formats() if each.name == "labels"])
"""
    assert run(tmp_path, program) == "clear\ncommand 1\n['the labels of the commands']\n"


def test_the_recipe_for_a_function_of_hip_adds_one_that_c_programs_find(tmp_path: Path) -> None:
    (tmp_path / "granularity.py").write_text(recipe("A function of HIP"))
    program = f"""
import ctypes
from hipgraph_cb.virtual.hip import api

api.__path__.append({str(tmp_path)!r})
from hipgraph_cb.virtual.install import install

install(["gfx942"])
granularity = ctypes.CDLL("libamdhip64.so").hipMemGetAllocationGranularity
size, properties = ctypes.c_size_t(), ctypes.create_string_buffer(64)
print(granularity(ctypes.byref(size), properties, 0), size.value)
print(granularity(ctypes.byref(size), properties, 7), granularity(None, properties, 0), granularity(None, None, 0))
"""
    # 1 is hipErrorInvalidValue
    assert run(tmp_path, program) == "0 4096\n1 1 1\n"


def test_the_recipe_for_a_command_type_makes_one(tmp_path: Path) -> None:
    file, method, entries = pieces("A command type")
    (tmp_path / "erase.py").write_text(file)
    program = f"""
from __future__ import annotations
import numpy as np
from erase import Erase, make_erase
from hipgraph_cb import CommandBuffer, Recording, Slot, open_device
from hipgraph_cb.errors import HipGraphError
from hipgraph_cb.hip.node_kinds import NODE_KINDS, NodeKind
from hipgraph_cb.hip.node_parameters import memset_block, memset_images
from hipgraph_cb.hip.stream_replay import STREAM_CALLS
from hipgraph_cb.hsa.lowering import PACKET_STEPS
from hipgraph_cb.recording.commands import Fill

{method}
CommandBuffer.erase_buffer = erase_buffer


def recorded(x):
    with CommandBuffer(binding_capacity=1) as cb:
        cb.erase_buffer(x.view(0, 0), 1)
        cb.erase_buffer(x.view(2, 3), 7, label="wipe")
        cb.erase_buffer(Slot(0, 6, 2), 9)
        try:
            cb.erase_buffer(x, 256)
        except HipGraphError as error:
            print(type(error).__name__, error.what)
    return cb.recording


def replayed(device, **options):
    x = device.from_host(np.zeros(8, np.uint8), "x")
    with device.program(recorded(x)) as program:
        program.replay(bindings=[x], **options)
        device.synchronize()
    return x.to_host().tolist()


with open_device("hip") as hip, open_device("hsa") as hsa:
    for device in (hip, hsa):
        try:
            replayed(device)
        except HipGraphError as error:
            print(error.what)
{textwrap.indent(entries, "    ")}
    print(replayed(hip), replayed(hip, mode="stream"), replayed(hsa))
    recording = recorded(hsa.allocate(8))
    recording.save("{tmp_path}/a.hgcb")
    print(Recording.load("{tmp_path}/a.hgcb") == recording)
    print('"byte": 7' in recording.to_json(), "0 erase" in recording.to_dot())
    print(len(recording.hazards()), [command.byte for command in recording])
"""
    lines = run(tmp_path, program).splitlines()
    refused = ["OutOfRangeError byte is out of range"]
    assert lines == [
        *refused,
        "program: the hip backend cannot run erase_buffer",
        *refused,
        "program: the hsa backend cannot run erase_buffer",
        *refused * 3,
        " ".join(["[0, 0, 7, 7, 7, 0, 9, 9]"] * 3),
        *refused,
        "True",
        "True True",
        "0 [7, 9]",
    ]
