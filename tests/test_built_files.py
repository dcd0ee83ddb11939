"""What a compiler made comes from a source that is here, or says where it comes from (`tools/built_files.py`)."""

import importlib.util
import json
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
from support.tools import require_tool

ROOT = Path(__file__).parents[1]
MACHINE_CODE = (b"\x7fELF", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB", b"AMD1", b"HIP1")


def load_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("built_files", ROOT / "tools" / "built_files.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


built_files = load_tool()


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def entries() -> dict[Path, dict[str, str]]:
    return {
        manifest.parent / name: entry
        for manifest in built_files.manifests()
        for name, entry in built_files.read(manifest).items()
    }


def test_every_file_of_machine_code_stands_in_the_manifest_beside_it() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("only a checkout can say which files are the project's own")
    code = {file for file in tracked_files() if file.read_bytes()[:24].startswith(MACHINE_CODE)}
    assert len(code) >= 60
    assert code - set(entries()) == set()


def test_every_entry_of_a_manifest_is_the_file_that_it_names() -> None:
    assert [str(file) for file, entry in entries().items() if built_files.sha256(file) != entry["sha256"]] == []


def test_every_entry_says_how_the_file_was_made_or_where_it_comes_from() -> None:
    for file, entry in entries().items():
        assert set(entry) in ({"command", "compiler", "sha256"}, {"origin", "sha256"}), file
        if "command" in entry:
            assert entry["command"].endswith(f" -o {file.name}"), file
            assert "/tmp" not in entry["command"] and str(ROOT) not in entry["command"], file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one kernel of the package and its manifest."""
    require_tool("clang-19")
    home = ROOT / "hipgraph_cb" / "hip" / "kernels"
    entry = built_files.read(home / built_files.MANIFEST)["join.gfx942.hsaco"]
    for name in ("join.c", "join.gfx942.hsaco"):
        shutil.copy(home / name, tmp_path / name)
    (tmp_path / built_files.MANIFEST).write_text(json.dumps({"join.gfx942.hsaco": entry}))
    return tmp_path


def test_a_kernel_made_again_has_the_same_bytes(folder: Path) -> None:
    assert list(built_files.differences(folder / built_files.MANIFEST)) == []


def test_a_source_that_changed_is_reported_until_the_file_is_made_again(folder: Path) -> None:
    manifest = folder / built_files.MANIFEST
    source = folder / "join.c"
    source.write_text(source.read_text().replace("{}", "{ __builtin_trap(); }"))
    (line,) = built_files.differences(manifest)
    assert line == (
        f"{folder}/join.gfx942.hsaco: the command line in provenance.json makes other bytes; run `make fixtures`"
    )
    built_files.rebuild(manifest)
    assert list(built_files.differences(manifest)) == []
    assert built_files.read(manifest)["join.gfx942.hsaco"]["sha256"] == built_files.sha256(folder / "join.gfx942.hsaco")


def test_a_file_of_another_compiler_is_not_compared_and_says_so(folder: Path) -> None:
    manifest = folder / built_files.MANIFEST
    listed = built_files.read(manifest)
    listed["join.gfx942.hsaco"]["compiler"] = "clang version 1"
    built_files.write(manifest, listed)
    (line,) = built_files.differences(manifest)
    here = built_files.compiler_version("clang-19")
    assert line == f"{folder}/join.gfx942.hsaco: made by clang version 1, and here is {here}: bytes cannot be compared"
