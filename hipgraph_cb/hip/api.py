"""Every call into hip-python goes through here: codes become `HipError`, a missing function `UnavailableError`.

hip-python is imported at the first call and not before, because it keeps the first library that it opens.
"""

from __future__ import annotations

import functools
import importlib.metadata
import logging
import re
from collections.abc import Callable
from typing import Any

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.backend.absence import Absence
from hipgraph_cb.errors import HipError, HipGraphError, ResourceExhaustedError, UnavailableError

logger = logging.getLogger("hipgraph_cb.hip")

_SUCCESS = int(Code.SUCCESS)
"""Every call is compared with it, and a number compares faster than a member of an enumeration."""
_DONE_OR_NOT = (_SUCCESS, int(Code.NOT_READY))


class HipOutOfMemoryError(HipError, ResourceExhaustedError):
    """hipErrorOutOfMemory: also a `MemoryError`."""


class HipApi:
    """The HIP functions as one device uses them.

    Args:
        ordinal: the device that calls are for.
        fault_report: gives the text of the last fault of a kernel, which is appended to errors.
    """

    def __init__(self, ordinal: int = 0, fault_report: Callable[[], str | None] | None = None) -> None:
        self.ordinal = ordinal
        self.fault_report = fault_report
        self.device_count = 1
        self._functions = _Functions()
        self.absence: Absence | None = None

    def call(self, name: str, *arguments: Any, where: str | None = None) -> Any:
        """Call a HIP function; returns its out values: None, the only one, or a tuple of them.

        Raises:
            HipError: a code other than hipSuccess. Out values are not looked at then: they may be garbage.
            UnavailableError: hip-python, the library or this function of it is missing.
        """
        try:
            result = self._functions[name](*arguments)
        except (RuntimeError, ValueError) as error:
            raise _call_failure(self, name, error) from error
        if result[0] != _SUCCESS:
            raise self.error(name, result[0], where)
        if len(result) == 2:
            return result[1]
        return result[1:] or None

    def function(self, name: str) -> Callable[..., Any]:
        """The function of hip-python itself, for a loop that looks at the code with `error` and `failure`."""
        return self._functions[name]

    def failure(self, name: str, error: Exception, where: str | None = None) -> Exception:
        """The error for an exception that the function `name` of hip-python raised, before or after the call."""
        failure = _call_failure(self, name, error)
        return failure if where is None or not isinstance(failure, HipGraphError) else failure.located(where)

    def query(self, name: str, *arguments: Any, where: str | None = None) -> bool:
        """Call a function that answers "done" with hipSuccess and "not yet" with hipErrorNotReady."""
        try:
            (code,) = self._functions[name](*arguments)
        except (RuntimeError, ValueError) as error:
            raise _call_failure(self, name, error) from error
        if code not in _DONE_OR_NOT:
            raise self.error(name, code, where)
        return bool(code == _SUCCESS)

    def release(self, name: str, handle: Any) -> None:
        """Call a function that gives a handle back. A failure is logged once, and the handle counts as released."""
        if self.absence is not None:  # nothing is there to take it
            return
        for step in (self.make_current, functools.partial(self.call, name, handle)):
            try:
                step()
            except (HipError, UnavailableError) as error:  # a handle is given back whichever device is current
                logger.warning("a release failed and counts as done: %s", str(error))  # not the frames behind it

    def make_current(self) -> None:
        """Make this device the current one of the calling thread, where there is a choice."""
        if self.device_count > 1:
            self.call("hipSetDevice", self.ordinal)

    def error(self, name: str, code: Any, where: str | None = None) -> HipError:
        """The error for a code that the function `name` returned, with the report of the fault behind it."""
        if self.absence is not None:
            self.absence.skip(name)
        detail = self.fault_report() if self.fault_report is not None else None
        kind = HipOutOfMemoryError if code == Code.OUT_OF_MEMORY else HipError
        return kind(name, int(code), getattr(code, "name", "unknown"), where=where, detail=detail)


class _Functions(dict[str, Callable[..., Any]]):
    """The functions of hip-python by name, looked up once."""

    def __missing__(self, name: str) -> Callable[..., Any]:
        function = getattr(bindings(), name, None)
        if function is None:
            raise UnavailableError(f"hip-python has no function {name}", next_step="install hip-python 10 or newer")
        self[name] = function
        return function  # type: ignore[no-any-return]


@functools.cache
def bindings() -> Any:
    """The module of hip-python; asked once, since looking up its version takes a quarter of a millisecond.

    Raises:
        UnavailableError: it is not installed, or it is older than 10 and cannot pass dependencies of nodes.
    """
    try:
        from hip import hip
    except ImportError as error:
        raise UnavailableError(
            "hip-python cannot be imported", found=str(error), next_step="install hip-python 10 or newer"
        ) from error
    version = importlib.metadata.version("hip-python")
    if int(version.split(".")[0]) < 10:
        raise UnavailableError("hip-python is too old", found=version, allowed="10 or newer")
    return hip


def pointer_to(address: int) -> Any:
    """An address in the form that hip-python's own functions work with."""
    return _pointer_type()(address)


class Pointers(dict[int, Any]):
    """Addresses in that form, which hip-python else makes of a number in each call."""

    def __init__(self) -> None:
        self._make = _pointer_type()

    def __missing__(self, address: int) -> Any:
        pointer = self[address] = self._make(address)
        return pointer


def _pointer_type() -> Any:
    from rocm.bindings.util.types import Pointer

    return Pointer


def _call_failure(api: HipApi, name: str, error: Exception) -> Exception:
    """What a failure inside hip-python, before or after the call, means."""
    text = str(error)
    if isinstance(error, ValueError):
        unknown = re.fullmatch(r"(\d+) is not a valid hipError_t", text)
        return error if unknown is None else api.error(name, int(unknown[1]))
    if "dlsym" in text:
        return UnavailableError(
            f"the HIP library has no function {name}",
            found=text,
            next_step="install a newer ROCm; `hipgraph-cb doctor` shows which library is in use",
        )
    return UnavailableError(
        f"{name} cannot be called",
        found=text,
        next_step="install ROCm, or set HIPGRAPH_CB_VIRTUAL=gfx942 to use a virtual GPU",
    )
