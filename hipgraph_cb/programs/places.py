"""The folder of a run: what programs for AMD GPUs look for in a ROCm installation, written for one set of GPUs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from hipgraph_cb.errors import UnavailableError
from hipgraph_cb.programs import startup
from hipgraph_cb.programs.inside import START_LIBRARY
from hipgraph_cb.programs.interpreter import Interpreter
from hipgraph_cb.programs.kernel_driver import write_kernel_driver
from hipgraph_cb.virtual.hip import library as hip
from hipgraph_cb.virtual.hip.profile import PROFILES
from hipgraph_cb.virtual.hip.symbol_versions import VERSIONS
from hipgraph_cb.virtual.hsa import library as hsa
from hipgraph_cb.virtual.rccl import library as rccl
from hipgraph_cb.virtual.roctx import library as roctx
from hipgraph_cb.virtual.shared_object import ExportedFunction, FirstCall, build_image

START_FUNCTION = "hipgraph_cb_first_call"
START_CODE = Path(__file__).parent / "native" / "start.x86-64.so"
ROCM_VERSIONS = {"6.4": "6.4.3", "7.2": "7.2.4"}
"""By profile."""


def write_run_folder(folder: Path, interpreter: Interpreter, targets: Sequence[str], profile: str) -> None:
    """Write the libraries, the kernel driver's files and what is asked about a ROCm installation into `folder`.

    Raises:
        UnavailableError: the code that starts Python in other programs is missing.
        HipGraphError: there is no such GPU.
        OSError: the folder cannot be written.
    """
    if not START_CODE.is_file():
        raise UnavailableError(
            "this installation has no machine code",
            found=f"no {START_CODE.name}",
            allowed="the wheel for x86-64 Linux",
            next_step="install that wheel in place of the pure one",
        )
    write_kernel_driver(folder, targets)
    (folder / "lib").mkdir()
    (folder / "lib" / START_LIBRARY).write_bytes(START_CODE.read_bytes())
    functions = hip.exported_functions(hip.functions_of(PROFILES[profile]))
    _write_libraries(folder, "hip", hip.SONAMES, functions, VERSIONS, interpreter)
    _write_libraries(folder, "hsa", hsa.SONAMES, hsa.exported_functions(), (), interpreter)
    _write_libraries(folder, "rccl", rccl.SONAMES, rccl.exported_functions(), (), interpreter)
    _write_libraries(folder, "roctx", roctx.SONAMES, roctx.exported_functions(), (), interpreter)
    (folder / ".info").mkdir()
    (folder / ".info" / "version").write_text(f"{ROCM_VERSIONS[profile]}\n")


def _write_libraries(
    folder: Path,
    kind: str,
    sonames: Sequence[str],
    functions: Sequence[ExportedFunction],
    versions: Sequence[str],
    interpreter: Interpreter,
) -> None:
    """One file for each SONAME; the name without a version, which is for linking, leads to the newest."""
    first_call = FirstCall(START_LIBRARY, START_FUNCTION, _texts(kind, folder / "lib", interpreter))
    for soname in sonames:
        path = folder / "lib" / soname
        if soname.endswith(".so"):
            path.symlink_to(max(each for each in sonames if each.startswith(f"{soname}.")))
        else:
            path.write_bytes(build_image(soname, functions, versions, first_call))


def _texts(kind: str, folder: Path, interpreter: Interpreter) -> tuple[str, str, str]:
    starting: startup.Starting = {
        "kind": kind,
        "folder": str(folder),
        "packages": interpreter.folders,
        "version": (sys.version_info.major, sys.version_info.minor),
    }
    names = {"__name__": "hipgraph_cb_startup", "STARTING": starting}
    script = (
        f"exec(compile(open({startup.__file__!r}, encoding='utf-8').read(), {startup.__file__!r}, 'exec'), {names!r})"
    )
    return str(interpreter.libpython), interpreter.program, script
