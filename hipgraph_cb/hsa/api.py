"""Every call into libhsa-runtime64 goes through here: statuses become `HsaError`, gaps `UnavailableError`."""

from __future__ import annotations

import ctypes
import logging
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, Protocol

from hipgraph_cb.abi.hsa import SONAME
from hipgraph_cb.abi.hsa.attributes import GPU_MEMORY_FAULT_EVENT
from hipgraph_cb.abi.hsa.status import Status, status_name
from hipgraph_cb.backend.absence import Absence
from hipgraph_cb.backend.collected import finalizer
from hipgraph_cb.errors import HsaError, ResourceExhaustedError, UnavailableError
from hipgraph_cb.hsa.functions import FUNCTIONS, AgentCallback, EventCallback, Function

logger = logging.getLogger("hipgraph_cb.hsa")


class HsaOutOfMemoryError(HsaError, ResourceExhaustedError):
    """The device has not that much memory left: also a `MemoryError`."""


class Functions:
    """The functions of one opened library, each with its signature; looked up when first called."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._known: dict[str, Callable[..., Any]] = {}

    def __getitem__(self, name: str) -> Callable[..., Any]:
        function = self._known.get(name)
        if function is None:
            function = self._known[name] = self._declared(name, FUNCTIONS[name])
        return function

    def _declared(self, name: str, declaration: Function) -> Callable[..., Any]:
        try:
            function = getattr(self._library, name)
        except AttributeError:
            raise UnavailableError(
                f"the HSA library has no function {name}", next_step="install ROCm 6 or newer"
            ) from None
        function.argtypes = declaration.arguments
        function.restype = declaration.result
        return function  # type: ignore[no-any-return]


class FaultListener(Protocol):
    """Who wants to know of memory faults."""

    def memory_fault(self, agent: int, address: int) -> None:
        """An agent accessed memory at `address` that it must not. Called from a thread of the runtime."""


class Session:
    """The initialised library. It is shut down when nobody uses it any more.

    Attributes:
        functions: what can be called.
    """

    def __init__(self, functions: Functions) -> None:
        self.functions = functions
        check(functions, "hsa_init")
        self._shut_down = finalizer(self, _shut_down, functions, os.getpid())
        try:
            check(functions, "hsa_amd_register_system_event_handler", _on_event, None)
        except BaseException:
            self._shut_down()
            raise

    @staticmethod
    def current() -> Session:
        """The session of this process, begun if there is none.

        Raises:
            UnavailableError: the library is missing.
            HsaError: it does not start.
        """
        global _current
        with _lock:
            session = None if _current is None else _current()
            if session is None:
                session = Session(Functions(_open_library()))
                _current = weakref.ref(session)
            return session


class HsaApi:
    """The HSA functions as one device uses them.

    Args:
        fault_report: gives the text of the last fault of a kernel, which is appended to errors.
    """

    def __init__(self, session: Session, fault_report: Callable[[], str | None] | None = None) -> None:
        self.session = session
        self.fault_report = fault_report
        self._functions = session.functions
        self.absence: Absence | None = None

    def call(self, name: str, *arguments: Any, where: str | None = None) -> Any:
        """Call a function. Returns its value, or None for one that returns a status.

        Raises:
            HsaError: a status other than success.
            UnavailableError: the library has no such function.
        """
        result = self._functions[name](*arguments)
        if FUNCTIONS[name].returns_status:
            if result:
                raise self.error(name, result, where)
            return None
        return result

    def read(self, name: str, *arguments: Any, kind: Any, where: str | None = None) -> Any:
        """Call a function whose last parameter points to its result, which is of the ctypes `kind`."""
        result = kind()
        self.call(name, *arguments, ctypes.byref(result), where=where)
        return result.value if isinstance(result, ctypes._SimpleCData) else result

    def list(self, name: str, *arguments: Any) -> list[int]:
        """All handles that an iterating function gives."""
        found: list[int] = []

        def note(handle: int, _data: object) -> int:
            found.append(handle)
            return int(Status.SUCCESS)

        self.call(name, *arguments, AgentCallback(note), None)
        return found

    def function(self, name: str) -> Callable[..., Any]:
        """The function itself, for a path where each look-up counts. Only for those that return no status."""
        return self._functions[name]

    def release(self, name: str, handle: Any) -> None:
        """Call a function that gives a handle back. A failure is logged once, and the handle counts as released."""
        if self.absence is not None:  # nothing is there to take it
            return
        try:
            self.call(name, handle)
        except (HsaError, UnavailableError) as error:
            logger.warning("a release failed and counts as done: %s", str(error))  # not the frames behind it

    def error(self, name: str, status: int, where: str | None = None) -> HsaError:
        """The error for a status, with the report of the fault behind it."""
        if self.absence is not None:
            self.absence.skip(name)
        detail = self.fault_report() if self.fault_report is not None else None
        return _error(name, status, where, detail)


def check(functions: Functions, name: str, *arguments: Any) -> None:
    """Call a function that returns a status. Raises HsaError."""
    status = functions[name](*arguments)
    if status:
        raise _error(name, status)


def _error(name: str, status: int, where: str | None = None, detail: str | None = None) -> HsaError:
    out_of_memory = status == Status.OUT_OF_RESOURCES or (
        status == Status.INVALID_ALLOCATION and name == "hsa_amd_memory_pool_allocate"
    )
    kind = HsaOutOfMemoryError if out_of_memory else HsaError
    return kind(name, int(status), status_name(status), where=where, detail=detail)


def _event(event: Any, _data: object) -> int:
    if event.contents.event_type != GPU_MEMORY_FAULT_EVENT:
        return int(Status.ERROR)
    for listener in tuple(fault_listeners):
        listener.memory_fault(event.contents.agent, event.contents.virtual_address)
    return int(Status.SUCCESS)


fault_listeners: weakref.WeakSet[FaultListener] = weakref.WeakSet()
_on_event = EventCallback(_event)
"""Never freed: the runtime may call it for as long as the process lives."""
_lock = threading.Lock()
_current: weakref.ref[Session] | None = None


def _open_library() -> Any:
    try:
        return ctypes.CDLL(SONAME)
    except OSError as error:
        raise UnavailableError(
            f"{SONAME} cannot be loaded",
            found=str(error),
            next_step="install ROCm, or set HIPGRAPH_CB_VIRTUAL=gfx942 to use a virtual GPU",
        ) from error


def _shut_down(functions: Functions, process: int) -> None:
    if process != os.getpid():  # a forked child: the session is its parent's
        return
    try:
        check(functions, "hsa_shut_down")
    except HsaError as error:
        logger.warning("a release failed and counts as done: %s", str(error))
