"""One source, one code object; built once, and kept by what goes into it."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hipgraph_cb.code_object.target_id import TargetId
from hipgraph_cb.compiler.languages import Language, language_named, language_of
from hipgraph_cb.compiler.toolchain import Toolchain, find_toolchain
from hipgraph_cb.errors import CompileError, FileError, InvalidArgumentError
from hipgraph_cb.files import file_path, make_folder, read_file, write_file

logger = logging.getLogger("hipgraph_cb.compiler")

TIME_LIMIT = 600
_ERROR = re.compile(r"^(?:(?P<where>[^\n:]+(?::\d+){0,2}): )?(?:fatal )?error: (?P<text>.*)$", re.MULTILINE)


def compile(
    source: str | os.PathLike[str],
    *,
    target: str | TargetId,
    language: str | None = None,
    options: Sequence[str] = (),
    debug: bool = True,
) -> bytes:
    """Compile a kernel source with the machine's compiler.

    The result is kept in the user's cache folder by its content: what the preprocessor makes of it, the options and
    the compiler. AMD's headers and device library are used where they are installed; elsewhere small ones of this
    package give ids, barriers, shuffles, atomics and mathematics.

    Args:
        source: the path of a file, whose suffix says the language (.hip, .cpp, .cu; .cl; .c; .s); or with `language`
            the text itself, or a path object of a file with another suffix.
        target: what to build for, such as "gfx942" or `device.target`.
        language: "hip", "opencl", "c" or "asm".
        options: further options of the compiler, after `-O2`; "-DN=4", "-O0", "-I folder".
        debug: with line numbers, for faults and disassembly.

    Returns:
        The code object, for `device.load`.

    Raises:
        CompileError: the compiler refuses it; the message has its diagnostics, with lines and carets.
        InvalidArgumentError: no language, no target, or options that are not text.
        MissingFileError: there is no such file.
        UnavailableError: the machine has no compiler for AMD GPUs.
    """
    if not isinstance(target, (str, TargetId)):
        raise InvalidArgumentError(
            "compile: no target", found=type(target).__name__, allowed="a text, or device.target"
        )
    wanted = target if isinstance(target, TargetId) else TargetId.parse(target)
    if not isinstance(options, (list, tuple)) or not all(isinstance(option, str) for option in options):
        raise InvalidArgumentError("compile: options are not a list of texts", found=repr(options)[:80])
    toolchain = find_toolchain()
    with tempfile.TemporaryDirectory(prefix="hipgraph_cb-") as folder:
        if language is not None and isinstance(source, str):
            kind = language_named(language)
            path = Path(folder) / f"source{kind.suffixes[0]}"
            write_file(path, [source.encode()], "compile")
        else:
            path = file_path(source, "compile")
            kind = language_of(path) if language is None else language_named(language)
            read_file(path, "compile")  # whose errors are ours, not the compiler's
        flags = [*kind.flags(toolchain, wanted), "-O2", *(["-g"] if debug else []), *options]
        flags += [f"-ffile-prefix-map={folder}/=", "-fno-color-diagnostics", "-Wno-unused-command-line-argument"]
        return _kept(_Build(toolchain, kind, flags, path, Path(folder)))


class _Build:
    """One call of the compiler.

    Attributes:
        flags: everything but the files.
        path: the source.
        folder: for what is made on the way; it does not appear in messages.
    """

    def __init__(self, toolchain: Toolchain, language: Language, flags: list[str], path: Path, folder: Path) -> None:
        self.flags = flags
        self.path = path
        self.folder = folder
        self._toolchain = toolchain
        self._language = language

    def key(self) -> str | None:
        """A name for everything that the code object depends on; None where that is not known."""
        if self._language.name == "asm":
            text = read_file(self.path, "compile")
            if b".inc" in text:  # it has parts that the preprocessor does not see
                return None
        else:
            text = self._run("-E").stdout
        parts = [self._toolchain.identity, *self.flags]
        facts = "\0".join(part.replace(str(self.folder), "") for part in parts).encode(errors="surrogateescape")
        return hashlib.sha256(facts + b"\0" + text.replace(os.fsencode(self.folder), b"")).hexdigest()

    def make(self) -> bytes:
        """The code object. Warnings are logged."""
        output = self.folder / "code.hsaco"
        done = self._run("-o", str(output))
        if done.stderr:
            logger.warning("%s", self._shown(done.stderr))
        return read_file(output, "compile")

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        command = [str(self._toolchain.compiler), *self.flags, str(self.path), *arguments]
        try:
            done = subprocess.run(command, capture_output=True, timeout=TIME_LIMIT, check=False)
        except subprocess.TimeoutExpired:
            raise CompileError("compile: the compiler does not end", found=f"nothing after {TIME_LIMIT} s") from None
        if done.returncode:
            raise self._refused(self._shown(done.stderr))
        return done

    def _refused(self, text: str) -> CompileError:
        first = _ERROR.search(text)
        lld = "install lld of the same version" if "lld" in text and "unable to execute" in text else None
        return CompileError(
            "compile: the compiler refuses the source",
            where=first["where"] if first and first["where"] else str(self.path.name),
            found=first["text"] if first else None,
            next_step=lld,
            detail=text.rstrip(),
        )

    def _shown(self, output: bytes) -> str:
        return output.decode(errors="replace").replace(f"{self.folder}/", "")


def _kept(build: _Build) -> bytes:
    """The code object from the cache, or made now and put there."""
    folder, key = cache_folder(), build.key()
    if folder is None or key is None:
        return build.make()
    path = folder / f"{key}.hsaco"
    try:
        return read_file(path, "compile")
    except FileError:
        pass  # there is none, or no folder for any, which is reported below
    data = build.make()
    try:
        make_folder(folder, "compile")
        write_file(path, [data], "compile")
    except FileError as error:
        logger.warning("the code object is not kept for the next time: %s", error)
    return data


def cache_folder() -> Path | None:
    """Where code objects are kept; None for a user without a home, where no other folder is named."""
    try:
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # what Path.home() raises then
        return None
    return root / "hipgraph_cb" / "compiled"
