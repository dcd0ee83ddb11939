"""Fault injection: other code in the slots, swapped in place. The functions themselves know nothing of it."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from hipgraph_cb.errors import InvalidArgumentError, NotFoundError
from hipgraph_cb.virtual.callbacks import CallError, CallGate
from hipgraph_cb.virtual.exported import ApiFunction
from hipgraph_cb.virtual.native_library import NativeLibrary


class CallCount(dict[str, int]):
    """How often each function was called; `order` lists the names of all calls in turn."""

    def __init__(self) -> None:
        super().__init__()
        self.order: list[str] = []

    def __missing__(self, name: str) -> int:
        return 0

    def note(self, name: str) -> int:
        """Count one more call; gives how many there were of this function."""
        self[name] += 1
        self.order.append(name)
        return self[name]


class Injection:
    """What is planned: call number `call` of `function` (from 1; None for every call) returns `code` without doing
    anything.

    Attributes:
        calls: how many calls of the function were seen.
        has_fired: whether the planned call has happened.
    """

    def __init__(self, function: str, call: int | None, code: int) -> None:
        self.function = function
        self.call = call
        self.code = code
        self.calls = 0
        self.has_fired = False


class Interceptor:
    """Puts a counting wrapper between the slots and the functions.

    Args:
        functions: what the library exports in Python.
        addresses: the native code of each function, which the wrappers call.
    """

    def __init__(
        self,
        library: NativeLibrary,
        gate: CallGate,
        functions: Mapping[str, ApiFunction],
        addresses: Mapping[str, int],
    ) -> None:
        self._library = library
        self._functions = functions
        self._gate = gate
        self._addresses = addresses
        self._wrappers: dict[str, int] = {}
        self._lock = threading.Lock()
        self._counts: list[CallCount] = []
        self._injections: list[Injection] = []

    @contextmanager
    def counting(self) -> Iterator[CallCount]:
        """Count all calls while the context is open."""
        count = CallCount()
        with self._active(self._counts, count):
            yield count

    @contextmanager
    def injecting(self, function: str, call: int | None, code: int) -> Iterator[Injection]:
        """Let one call return `code` while the context is open, or every call.

        Raises:
            NotFoundError: the library has no such function.
            InvalidArgumentError: `call` is not 1, 2, ...
        """
        if function not in self._addresses:
            raise NotFoundError("inject: the virtual library has no such function", found=repr(function))
        if call is not None and call < 1:
            raise InvalidArgumentError("inject: calls are counted from 1", found=str(call), allowed="1, 2, ...")
        injection = Injection(function, call, code)
        with self._active(self._injections, injection):
            yield injection

    @contextmanager
    def _active(self, active: list[Any], item: object) -> Iterator[None]:
        with self._lock:
            active.append(item)
            self._wire()
        try:
            yield
        finally:
            with self._lock:
                active[:] = [other for other in active if other is not item]
                self._wire()

    def _wire(self) -> None:
        injected = {injection.function for injection in self._injections}
        for name, address in self._addresses.items():
            wrapped = bool(self._counts) or name in injected
            self._library.wire(name, self._wrapper(self._functions[name]) if wrapped else address)

    def _wrapper(self, function: ApiFunction) -> int:
        if function.name not in self._wrappers:
            self._wrappers[function.name] = self._gate.callback(
                function.name,
                self._intercept(function),
                function.arguments,
                result_type=function.result,
                on_error=function.on_error,
                remembers=False,
                locks=False,
            )
        return self._wrappers[function.name]

    def _intercept(self, function: ApiFunction) -> Callable[..., int]:
        original = ctypes.CFUNCTYPE(function.result, *function.arguments)(self._addresses[function.name])
        name = function.name

        def intercept(*arguments: Any) -> int:
            for count in self._counts:
                count.note(name)
            for injection in self._injections:
                if injection.function == name:
                    injection.calls += 1
                    if injection.call in (None, injection.calls):
                        injection.has_fired = True
                        self._gate.failed(injection.code)
                        raise CallError(injection.code)
            return int(original(*arguments) or 0)

        return intercept
