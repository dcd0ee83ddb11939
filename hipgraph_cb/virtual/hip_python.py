"""Makes hip-python use a given libamdhip64.

hip-python resolves the library's path at its first call and keeps the handle for the life of the process. Its
resolver (`rocm.bindings.util.paths.get_library_path`) looks at bundled packages, `ROCM_PATH` and `/opt/rocm` before the
name that a library already loaded would satisfy, so the path it gives is replaced while that first call is made.
Whether our library answers is then asked through hip-python itself.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

from hipgraph_cb.errors import FailedPreconditionError, UnavailableError

_lock = threading.Lock()


def pin_hip_python(path: str, marker: str) -> None:
    """Have hip-python open `path` and check that it did.

    Args:
        marker: a function that only this library exports.

    Raises:
        UnavailableError: hip-python is missing, or older than 10.
        FailedPreconditionError: it has opened another library before.
    """
    paths, hip = _modules()
    with _lock:
        resolve = paths.get_library_path

        def pinned(shortname: str, *arguments: Any, **options: Any) -> bytes:
            if shortname == "amdhip64":
                return os.fsencode(path)
            return resolve(shortname, *arguments, **options)  # type: ignore[no-any-return]

        paths.get_library_path = pinned
        try:
            is_ours = hip.has_symbol(marker)
        finally:
            paths.get_library_path = resolve
    if not is_ours:
        raise FailedPreconditionError(
            "hip-python runs on another HIP library than the virtual GPU's",
            found=_other_library(path, os.fsdecode(resolve("amdhip64"))),
            allowed="that open_device() is called before the first call of a HIP function",
            next_step="call open_device() first; where there is a real GPU, unset HIPGRAPH_CB_VIRTUAL",
        )


def _modules() -> tuple[Any, Any]:
    try:
        from rocm.bindings import hip
        from rocm.bindings.util import paths
    except ImportError as error:
        raise UnavailableError(
            "hip-python cannot be imported", found=str(error), next_step="install hip-python 10 or newer"
        ) from error
    return paths, hip


def _other_library(ours: str, resolved: str) -> str:
    """The path of the libamdhip64 that is mapped and not ours, or else the one that would be resolved."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        mapped = line.split(maxsplit=5)[5:]
        if mapped and "libamdhip64" in mapped[0] and "memfd:" not in mapped[0] and ours != mapped[0]:
            return mapped[0]
    return resolved
