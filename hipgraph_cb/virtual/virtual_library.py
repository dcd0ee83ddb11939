"""A virtual library, HIP's or HSA's: what tests and tools can ask of it."""

from __future__ import annotations

import atexit
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from hipgraph_cb.virtual.callbacks import CallGate
from hipgraph_cb.virtual.exported import ApiFunction
from hipgraph_cb.virtual.injection import CallCount, Injection, Interceptor
from hipgraph_cb.virtual.machine import Machine
from hipgraph_cb.virtual.native_library import NativeLibrary

SUCCESS = 0
"""The code of success in HIP and in HSA."""


class VirtualLibrary:
    """A virtual library of this process.

    Args:
        runtime: what its functions get as their first argument.

    Attributes:
        targets: the processors of the devices, by ordinal.
        settings: what they were made with.
        library_path: the path under which the library was loaded.
        image_addresses: where its images say what they are (`shared_object.LIBRARY_SYMBOL`).
        functions: the names of all functions it exports.
    """

    def __init__(
        self, machine: Machine, gate: CallGate, library: NativeLibrary, table: dict[str, ApiFunction], runtime: Any
    ) -> None:
        self.machine = machine
        self.targets = machine.targets
        self.settings = machine.settings
        self._gate = gate
        self._library = library
        self._addresses = _wire(library, gate, table, runtime)
        self._interceptor = Interceptor(library, gate, table, self._addresses)
        self.functions = tuple(self._addresses)
        self.library_path = next(iter(library.paths.values()))
        self.image_addresses = library.addresses
        # At exit native code answers every call, before the workers stop.
        atexit.register(library.restore)

    def fault_report(self) -> str | None:
        """What is known about the last failure: a kernel's fault, a traceback, the reason of a refusal; or None."""
        return self.machine.faults.report()

    def count_calls(self) -> AbstractContextManager[CallCount]:
        """`with library.count_calls() as count:` - how often each function was called, and in which order."""
        return self._interceptor.counting()

    def inject(self, function: str, call: int, code: int) -> AbstractContextManager[Injection]:
        """`with library.inject("hipMalloc", 2, 2):` - the second call of hipMalloc in there fails with code 2.

        Raises:
            NotFoundError: the library has no such function.
            InvalidArgumentError: `call` is not 1, 2, ...
        """
        return self._interceptor.injecting(function, call, code)

    def ignore(self, function: str, call: int | None = None) -> AbstractContextManager[Injection]:
        """`with library.ignore("hipGraphExecKernelNodeSetParams"):` - every call in there answers success and does
        nothing; with a number only that call.

        Raises:
            NotFoundError: the library has no such function.
            InvalidArgumentError: `call` is not 1, 2, ...
        """
        return self._interceptor.injecting(function, call, SUCCESS)

    def reseed(self, seed: int) -> None:
        """Let independent work of all devices run in another arbitrary order from here on."""
        self.machine.reseed(seed)


def _wire(library: NativeLibrary, gate: CallGate, table: dict[str, ApiFunction], runtime: Any) -> dict[str, int]:
    """Point every slot at its Python function; returns the addresses, to be restored after a slot was replaced."""
    addresses = {}
    for function in table.values():
        if function.implementation is None:  # native code does it all
            library.wire_fallback(function.name)
            addresses[function.name] = library.target(function.name)
            continue
        addresses[function.name] = gate.callback(
            function.name,
            partial(function.implementation, runtime),
            function.arguments,
            result_type=function.result,
            on_error=function.on_error,
            releases=function.releases,
            remembers=function.remembers,
        )
        library.wire(function.name, addresses[function.name])
    return addresses
