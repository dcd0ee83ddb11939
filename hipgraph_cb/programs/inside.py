"""Inside of a process that was started by `hipgraph-cb run`: the virtual libraries are its files."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

from hipgraph_cb.journal.process import observe_process
from hipgraph_cb.virtual.install import (
    VirtualRuntime,
    install_hip,
    install_hsa,
    install_rccl,
    install_roctx,
    use_library_files,
)
from hipgraph_cb.virtual.virtual_library import VirtualLibrary

START_LIBRARY = "libhipgraph_cb_start.so"
TARGETS_VARIABLE = "HIPGRAPH_CB_VIRTUAL"
DEFAULT_TARGET = "gfx942"
_INSTALL: dict[str, Callable[[list[str]], VirtualLibrary]] = {
    "hip": install_hip,
    "hsa": install_hsa,
    "rccl": install_rccl,
    "roctx": install_roctx,
}


def fill(kind: str, folder: str) -> None:
    """Let the functions of one of the libraries in `folder` lead to the virtual GPUs of this process.

    Args:
        kind: "hip", "hsa", "rccl" or "roctx".

    Raises:
        HipGraphError: there are no such GPUs, or the files are not of this version.
    """
    use_library_files(Path(folder))
    targets = [text.strip() for text in os.environ.get(TARGETS_VARIABLE, DEFAULT_TARGET).split(",")]
    libraries: list[VirtualLibrary] = [_INSTALL[kind](targets)]
    if kind in ("rccl", "roctx"):  # it has made that of HIP too
        libraries.append(install_hip(targets))
    libraries[0].machine.show = _show
    start = ctypes.CDLL(str(Path(folder) / START_LIBRARY))
    for library in libraries:
        if isinstance(library, VirtualRuntime):
            observe_process(library)
        for address in library.image_addresses:
            start.hipgraph_cb_restore_after_fork(ctypes.c_void_p(address))


def _show(text: str) -> None:
    """Tell the user: a program that knows HIP alone cannot ask for more than a code."""
    os.write(2, f"hipgraph_cb: {text}\n".encode(errors="backslashreplace"))
