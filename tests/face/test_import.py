"""`import hipgraph_cb` costs next to nothing."""

import subprocess
import sys
from pathlib import Path

from hipgraph_cb import abi

HEAVY = ("numpy", "hip", "rocm", "elftools", "flatbuffers", "msgpack", "ctypes")


def modules_after(statement: str) -> set[str]:
    script = f"{statement}\nimport sys\nprint(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(result.stdout.split())


def test_importing_the_package_loads_none_of_the_heavy_modules() -> None:
    loaded = modules_after("import hipgraph_cb")
    assert "hipgraph_cb" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_the_public_names_resolve_on_first_use() -> None:
    script = "from hipgraph_cb import HipGraphError, Recording, Slot, load_recording, open_device"
    assert {"hipgraph_cb.opening", "hipgraph_cb.recording.recording"} <= modules_after(script)


def test_verifying_needs_no_gpu_library() -> None:
    loaded = modules_after("from hipgraph_cb.code_object.verify import verify, inspect")
    assert loaded.isdisjoint({"hip", "rocm", "ctypes", "numpy"})


def test_header_facts_load_nothing_else_of_the_package_and_no_library() -> None:
    names = [path.stem for path in Path(abi.__file__).parent.glob("*.py") if path.stem != "__init__"]
    names += [f"{path.parent.name}.{path.stem}" for path in Path(abi.__file__).parent.glob("*/*.py")]
    loaded = modules_after("\n".join(f"import hipgraph_cb.abi.{name}" for name in names))
    assert loaded.isdisjoint({"numpy", "hip", "rocm", "elftools"})
    added = loaded - modules_after("import hipgraph_cb")
    assert {
        name for name in added if name.startswith("hipgraph_cb") and not name.startswith("hipgraph_cb.abi")
    } == set()
