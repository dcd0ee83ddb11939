"""Inside of a process that was started by `hipgraph-cb run`: the virtual libraries are its files."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from hipgraph_cb.virtual.install import install_hip, install_hsa, use_library_files

START_LIBRARY = "libhipgraph_cb_start.so"
TARGETS_VARIABLE = "HIPGRAPH_CB_VIRTUAL"
DEFAULT_TARGET = "gfx942"


def fill(kind: str, folder: str) -> None:
    """Let the functions of one of the libraries in `folder` lead to the virtual GPUs of this process.

    Args:
        kind: "hip" or "hsa".

    Raises:
        HipGraphError: there are no such GPUs, or the files are not of this version.
    """
    use_library_files(Path(folder))
    targets = [text.strip() for text in os.environ.get(TARGETS_VARIABLE, DEFAULT_TARGET).split(",")]
    library = install_hip(targets) if kind == "hip" else install_hsa(targets)
    library.machine.show = _show
    start = ctypes.CDLL(str(Path(folder) / START_LIBRARY))
    for address in library.image_addresses:
        start.hipgraph_cb_restore_after_fork(ctypes.c_void_p(address))


def _show(text: str) -> None:
    """Tell the user: a program that knows HIP alone cannot ask for more than a code."""
    os.write(2, f"hipgraph_cb: {text}\n".encode(errors="backslashreplace"))
