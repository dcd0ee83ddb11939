"""One exception tree. Every error says what failed, where, what was found, what is allowed and what to do next.

The subclasses follow the status codes of the HAL (`INVALID_ARGUMENT`, `NOT_FOUND`, ...), and each is also the builtin
exception that Python code would expect for it, so `except ValueError` works where it reads naturally.
"""

from __future__ import annotations

from hipgraph_cb.visible import visible_lines


class HipGraphError(Exception):
    """Base of every error of this package.

    Attributes:
        what: one sentence: what failed.
        where: command index and label, or file offset and metadata path.
        found: what was given.
        allowed: what would have been accepted.
        next_step: what to do about it.
        detail: further text, appended as it is (a fault report, a signature).
    """

    status = "UNKNOWN"

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        found: str | None = None,
        allowed: str | None = None,
        next_step: str | None = None,
        detail: str | None = None,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.found = found
        self.allowed = allowed
        self.next_step = next_step
        self.detail = detail

    def located(self, where: str) -> HipGraphError:
        """Put `where` in front of the place this error already names; returns the error itself, to be raised."""
        self.where = where if self.where is None else f"{where}, {self.where}"
        return self

    def __str__(self) -> str:
        rows = (("where", self.where), ("found", self.found), ("allowed", self.allowed), ("next", self.next_step))
        lines = [self.what, *(f"  {name}: {value}" for name, value in rows if value is not None)]
        if self.detail:
            lines.append(self.detail)
        # Names from files and from callers are part of it, and it ends up on terminals and in logs.
        return visible_lines("\n".join(lines))


class CancelledError(HipGraphError):
    """Work that was given up because something in front of it failed or took too long."""

    status = "CANCELLED"


class InvalidArgumentError(HipGraphError, ValueError):
    """An argument that is not what the call takes; also a `ValueError`."""

    status = "INVALID_ARGUMENT"


class CompileError(InvalidArgumentError):
    """A source that the compiler refuses. `detail` has what it says."""


class HostCallError(HipGraphError):
    """A function that a recording calls on the host raised an exception, which is the cause of this one."""

    status = "ABORTED"


class DeadlineExceededError(HipGraphError, TimeoutError):
    """A wait that took longer than it may; also a `TimeoutError`."""

    status = "DEADLINE_EXCEEDED"


class NotFoundError(HipGraphError, LookupError):
    """A file, kernel, slot or resource that is not there; also a `LookupError`."""

    status = "NOT_FOUND"


class AlreadyExistsError(HipGraphError):
    """Something that may be there once only."""

    status = "ALREADY_EXISTS"


class PermissionDeniedError(HipGraphError, PermissionError):
    """Something that this process may not do; also a `PermissionError`."""

    status = "PERMISSION_DENIED"


class ResourceExhaustedError(HipGraphError, MemoryError):
    """No memory, or no room in a table of fixed size; also a `MemoryError`."""

    status = "RESOURCE_EXHAUSTED"


class FailedPreconditionError(HipGraphError, RuntimeError):
    """A call at the wrong time: the object is closed, not begun, of another device; also a `RuntimeError`."""

    status = "FAILED_PRECONDITION"


class OutOfRangeError(HipGraphError, ValueError):
    """A number or a range beyond its bounds; also a `ValueError`."""

    status = "OUT_OF_RANGE"


class NoSuchIndexError(OutOfRangeError, IndexError):
    """An index beyond the end of a sequence."""


class UnimplementedError(HipGraphError, NotImplementedError):
    """Something that this backend, format or device does not do; also a `NotImplementedError`."""

    status = "UNIMPLEMENTED"


class InternalError(HipGraphError):
    """A fault of this package or of a runtime: what cannot happen has."""

    status = "INTERNAL"


class UnavailableError(HipGraphError):
    """A library, device or kernel that this machine does not have."""

    status = "UNAVAILABLE"


class DataLossError(HipGraphError):
    """Bytes that contradict themselves: a broken code object or capture file."""

    status = "DATA_LOSS"


class IncompatibleError(HipGraphError):
    """A sound code object that cannot run on the stated target."""

    status = "INCOMPATIBLE"


class CheckFailedError(HipGraphError):
    """What a command of a watched replay wrote is not what the check asks for."""

    status = "DATA_LOSS"


class FileError(HipGraphError, OSError):
    """The operating system refused a file; `.errno`, `.strerror` and `.filename` are those of the `OSError`."""

    status = "UNAVAILABLE"

    def __init__(self, what: str, error: OSError, path: str) -> None:
        super().__init__(what, found=f"{path}: {error.strerror}")
        self.errno, self.strerror, self.filename = error.errno, error.strerror, path


class MissingFileError(FileError, NotFoundError, FileNotFoundError):
    """There is no such file."""

    status = NotFoundError.status


class FilePermissionError(FileError, PermissionDeniedError):
    """A file that may not be read or written."""

    status = PermissionDeniedError.status


class _RuntimeApiError(HipGraphError):
    """A call into a GPU runtime that returned an error code."""

    def __init__(
        self,
        api: str,
        code: int,
        name: str,
        *,
        where: str | None = None,
        next_step: str | None = None,
        detail: str | None = None,
    ) -> None:
        super().__init__(f"{api} returned {code} ({name})", where=where, next_step=next_step, detail=detail)
        self.api = api
        self.code = code
        self.name = name


class HipError(_RuntimeApiError):
    """A HIP function returned something other than `hipSuccess`; `.api`, `.code`, `.name` say which and what."""


class RcclError(_RuntimeApiError):
    """An RCCL function returned something other than `ncclSuccess`; `.api`, `.code`, `.name`."""


class HsaError(_RuntimeApiError):
    """An HSA function returned something other than `HSA_STATUS_SUCCESS`; `.api`, `.code`, `.name`."""
