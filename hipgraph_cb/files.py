"""The files that users name: read as a whole, written as a whole.

A file is written beside its place and then renamed, so whoever opens it sees the old file or the whole new one,
however many write it at once and wherever one of them is stopped. The partial file has a random name and must be new,
so nothing that is there is followed or overwritten.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO

from hipgraph_cb.errors import FileError, FilePermissionError, InvalidArgumentError, MissingFileError

_KINDS = {
    errno.ENOENT: MissingFileError,
    errno.EACCES: FilePermissionError,
    errno.EPERM: FilePermissionError,
    errno.EROFS: FilePermissionError,
}


def file_path(value: object, call: str, allowed: str = "str or os.PathLike") -> Path:
    """The path that a caller gave.

    Args:
        call: whose messages these are: "load".
        allowed: what the caller takes.

    Raises:
        InvalidArgumentError: neither text nor a path object, or a name that no file can have.
    """
    try:
        text = os.fspath(value)  # type: ignore[call-overload]
    except TypeError:
        text = None
    if not isinstance(text, str):
        raise InvalidArgumentError(f"{call}: not the path of a file", found=type(value).__name__, allowed=allowed)
    try:
        is_name = b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        is_name = False
    if not is_name:
        raise InvalidArgumentError(
            f"{call}: no file has such a name",
            found=ascii(text),
            allowed="text without NUL that the file system can encode",
        )
    return Path(text)


def open_file(path: Path, call: str) -> BinaryIO:
    """Open a regular file to be read.

    Args:
        call: whose messages these are: "load".

    Raises:
        MissingFileError: there is no such file.
        FileError: it cannot be read.
        InvalidArgumentError: a directory, a pipe or a device.
    """
    try:
        # A pipe would block the plain open until somebody writes to it.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise refused(error, path, f"{call}: the file cannot be read") from error
    if not S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise InvalidArgumentError(
            f"{call}: not a regular file", found=str(path), allowed="a file, not a folder, pipe or device"
        )
    return os.fdopen(descriptor, "rb")


def read_file(path: Path, call: str) -> bytes:
    """The bytes of a regular file. Raises as `open_file` does."""
    with open_file(path, call) as file:
        try:
            return file.read()
        except OSError as error:
            raise refused(error, path, f"{call}: the file cannot be read") from error


def make_folder(path: Path, call: str) -> None:
    """Make a folder and those above it, where they are not there. Raises FileError where the system refuses."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refused(error, path, f"{call}: the folder cannot be made") from error


def write_file(path: Path, parts: Iterable[bytes], call: str) -> None:
    """Write a file as a whole.

    The file that a symbolic link names is written, and the link stays. A file that is there keeps its permissions; a
    new one gets what the umask leaves.

    Args:
        call: whose messages these are: "load".

    Raises:
        FileError: it cannot be written; `path` is as it was.
        InvalidArgumentError: something is there that is no regular file.
    """
    try:
        target, mode = _target(path)
        if mode is not None and not S_ISREG(mode):
            raise InvalidArgumentError(
                f"{call}: only a regular file is replaced", found=str(path), allowed="the name of a file, new or there"
            )
        _replace(target, parts, mode)
    except OSError as error:
        raise refused(error, path, f"{call}: the file cannot be written") from error


def write_text(path: Path, text: str, call: str) -> None:
    """`write_file` of text in UTF-8."""
    write_file(path, [text.encode("utf-8")], call)


def _target(path: Path) -> tuple[Path, int | None]:
    """The file behind all links, and its mode if there is one.

    Asking for the mode first lets the system refuse a link that somebody else left in a shared folder.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = None
    target = Path(os.path.realpath(path))
    if mode is not None and S_ISREG(mode) and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return target, mode


def _replace(target: Path, parts: Iterable[bytes], mode: int | None) -> None:
    partial = target.with_name(f".hipgraph_cb-{secrets.token_hex(8)}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    # Until it has the permissions of the old file nobody else may open it.
    descriptor = os.open(partial, flags, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(parts)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode & 0o777)
            os.fsync(file.fileno())
        partial.replace(target)
    except BaseException:
        with suppress(OSError):  # the first failure is the one to tell
            partial.unlink()
        raise


def refused(error: OSError, path: Path, what: str) -> FileError:
    """The error of the family that says what the system refused."""
    return _KINDS.get(error.errno or 0, FileError)(what, error, str(path))
