"""Load a shared object made by `shared_object` under one or more SONAMEs, and wire its slots.

The file lives in memory (memfd); where the system refuses that, in a temporary directory until the process ends. Where
the process was given a folder with the libraries as files, those are loaded.
All SONAMEs are images of their own, because a loaded library has exactly one; wiring a function wires it in each.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from hipgraph_cb.errors import FailedPreconditionError, UnavailableError
from hipgraph_cb.virtual.entries import ENTRY_SIZE
from hipgraph_cb.virtual.shared_object import LIBRARY_SYMBOL, ExportedFunction, build_image, names_digest


class _Library(ctypes.Structure):
    """What an image says about itself (`shared_object.LIBRARY_SYMBOL`)."""

    _fields_ = (
        ("slots", ctypes.c_size_t),
        ("count", ctypes.c_uint64),
        ("starters", ctypes.c_size_t),
        ("fallbacks", ctypes.c_size_t),
        ("texts", ctypes.c_size_t * 3),
        ("names", ctypes.c_uint64),
    )


class NativeLibrary:
    """The loaded images of one set of functions.

    Attributes:
        functions: what it exports, in slot order.
        paths: SONAME -> a path that `dlopen` accepts for the image already loaded.
        addresses: where the images say what they are.
    """

    def __init__(
        self,
        sonames: Sequence[str],
        functions: Sequence[ExportedFunction],
        extra_versions: Iterable[str] = (),
        folder: Path | None = None,
    ) -> None:
        self.functions = tuple(functions)
        self.paths: dict[str, str] = {}
        self._index = {function.name: index for index, function in enumerate(self.functions)}
        self._libraries: list[ctypes.CDLL] = []
        extra = tuple(extra_versions)
        for soname in sonames:
            if folder is None:
                self.paths[soname], library = _load(soname, build_image(soname, self.functions, extra))
            else:
                self.paths[soname], library = _load_file(folder / soname, self.functions)
            self._libraries.append(library)
        images = [_Library.in_dll(library, LIBRARY_SYMBOL) for library in self._libraries]
        self.addresses = tuple({ctypes.addressof(image): None for image in images})
        self._slots = [(ctypes.c_uint64 * image.count).from_address(image.slots) for image in images]
        self._fallbacks = [[image.fallbacks + ENTRY_SIZE * index for index in range(image.count)] for image in images]

    def __contains__(self, name: str) -> bool:
        return name in self._index

    def wire(self, name: str, address: int) -> None:
        """Point `name` at native code; calls in other threads see the old target or the new one."""
        index = self._index[name]
        for slots in self._slots:
            slots[index] = address

    def wire_fallback(self, name: str) -> None:
        """Let native code answer for `name`."""
        index = self._index[name]
        for slots, fallbacks in zip(self._slots, self._fallbacks, strict=True):
            slots[index] = fallbacks[index]

    def target(self, name: str) -> int:
        """The address that `name` jumps to now (in the first image)."""
        return int(self._slots[0][self._index[name]])

    def address(self, name: str) -> int:
        """The address of the exported function itself (in the first image), which jumps to its target."""
        return ctypes.cast(getattr(self._libraries[0], name), ctypes.c_void_p).value or 0

    def restore(self) -> None:
        """Put the native fallbacks back into every slot."""
        for slots, fallbacks in zip(self._slots, self._fallbacks, strict=True):
            slots[:] = fallbacks


def _load_file(path: Path, functions: Sequence[ExportedFunction]) -> tuple[str, ctypes.CDLL]:
    library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    if _Library.in_dll(library, LIBRARY_SYMBOL).names != names_digest(functions):
        raise FailedPreconditionError(
            "the virtual GPU's library on disk has other functions than this process has",
            where=str(path),
            allowed="files that this version of hipgraph_cb wrote for the same HIPGRAPH_CB_VIRTUAL_PROFILE",
            next_step="set the profile before hipgraph-cb run, and let the program use the same hipgraph_cb",
        )
    return str(path), library


def _load(soname: str, image: bytes) -> tuple[str, ctypes.CDLL]:
    reasons = []
    for place in _places():
        try:
            path = place(soname, image)
            # RTLD_GLOBAL lets a client that is loaded later without naming the library find its symbols.
            return path, ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            reasons.append(str(error))
    raise UnavailableError(
        "the virtual GPU's library cannot be loaded",
        where=soname,
        found="; ".join(reasons),
        allowed="memfd_create, or a directory for temporary files that is not mounted noexec",
        next_step="set TMPDIR to a directory from which programs may be loaded",
    )


def _places() -> Iterator[Callable[[str, bytes], str]]:
    yield _in_memory
    for directory in (tempfile.gettempdir(), os.environ.get("XDG_RUNTIME_DIR"), "/dev/shm", str(Path.cwd())):
        if directory:
            yield lambda soname, image, directory=directory: _in_directory(directory, soname, image)  # type: ignore[misc]


def _in_memory(soname: str, image: bytes) -> str:
    # The descriptor stays open: glibc knows the library by this path, which must never name another file.
    descriptor = os.memfd_create(soname)
    path = f"/proc/self/fd/{descriptor}"
    Path(path).write_bytes(image)
    return path


def _in_directory(directory: str, soname: str, image: bytes) -> str:
    folder = tempfile.mkdtemp(prefix="hipgraph_cb-", dir=directory)
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:
            with suppress(OSError):
                shutil.rmtree(folder)

    atexit.register(remove)
    path = Path(folder) / soname
    path.write_bytes(image)
    return str(path)
