"""`install`: puts the virtual libamdhip64 into this process, under hip-python and every other C client."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager

from hipgraph_cb.errors import FailedPreconditionError, InvalidArgumentError
from hipgraph_cb.virtual.callbacks import CallGate, Codes
from hipgraph_cb.virtual.fault_log import FaultLog
from hipgraph_cb.virtual.hip.codes import Code
from hipgraph_cb.virtual.hip.library import MARKER, SONAMES, load_library, wire
from hipgraph_cb.virtual.hip.runtime import HipRuntime
from hipgraph_cb.virtual.hip_python import pin_hip_python
from hipgraph_cb.virtual.injection import CallCount, Injection, Interceptor
from hipgraph_cb.virtual.interrupts import Interrupts
from hipgraph_cb.virtual.null_runtime import null_runtime
from hipgraph_cb.virtual.settings import Settings

_lock = threading.Lock()
_installed: VirtualRuntime | None = None


class VirtualRuntime:
    """The virtual HIP runtime of this process.

    Attributes:
        targets: the processors of its devices, by ordinal.
        settings: what it was installed with.
        library_path: the path under which hip-python loaded it.
        functions: the names of all functions it exports.
    """

    def __init__(self, targets: Sequence[str], settings: Settings) -> None:
        self.targets = tuple(targets)
        self.settings = settings
        self._interrupts = Interrupts()
        self._faults = FaultLog()
        codes = Codes(
            unknown=Code.UNKNOWN,
            not_initialized=Code.NOT_INITIALIZED,
            deinitialized=Code.DEINITIALIZED,
            quiet=(Code.NOT_READY,),
        )
        self._gate = CallGate(codes, self._interrupts, self._faults)
        self._runtime = HipRuntime(self.targets, settings, self._gate)
        self._library = load_library()
        self._addresses = wire(self._library, self._runtime, self._gate)
        self._interceptor = Interceptor(self._library, self._gate, self._addresses)
        self.functions = tuple(self._addresses)
        self.library_path = self._library.paths[SONAMES[0]]

    def fault_report(self) -> str | None:
        """What is known about the last failure: a kernel's fault, a traceback, the reason of a refusal; or None."""
        return self._faults.report()

    def count_calls(self) -> AbstractContextManager[CallCount]:
        """`with runtime.count_calls() as count:` - how often each HIP function was called, and in which order."""
        return self._interceptor.counting()

    def inject(self, function: str, call: int, code: int) -> AbstractContextManager[Injection]:
        """`with runtime.inject("hipMalloc", 2, 2):` - the second call of hipMalloc in there fails with code 2.

        Raises:
            NotFoundError: the library has no such function.
            InvalidArgumentError: `call` is not 1, 2, ...
        """
        return self._interceptor.injecting(function, call, code)

    def reseed(self, seed: int) -> None:
        """Let independent work of all devices run in another arbitrary order from here on."""
        self._runtime.reseed(seed)

    def null_runtime(self) -> AbstractContextManager[None]:
        """While this is open, calls that do work are native code that does none: to measure what a caller costs."""
        return null_runtime(self._library, self._addresses)

    def start(self) -> None:
        """Bind hip-python to this library and arrange for exit, fork and Ctrl-C."""
        atexit.register(self._stop)
        os.register_at_fork(after_in_child=self._gate.refuse_after_fork)
        self._interrupts.install()
        pin_hip_python(self.library_path, MARKER)

    def _stop(self) -> None:
        """At exit: from here on native code answers every call."""
        self._library.restore()
        self._runtime.close()


def install(targets: Sequence[str], settings: Settings | None = None) -> VirtualRuntime:
    """Make this process see these virtual GPUs, as ordinals 0, 1, ...; a second call returns the same runtime.

    Raises:
        InvalidArgumentError: no target, or one that is no virtual GPU.
        FailedPreconditionError: other devices are installed, or hip-python runs on another library.
        UnavailableError: hip-python is missing, or the library cannot be loaded.
    """
    global _installed
    if not targets:
        raise InvalidArgumentError("install: no target is named", found="()", allowed="at least one, such as gfx942")
    with _lock:
        if _installed is None:
            runtime = VirtualRuntime(targets, settings or Settings.from_environment())
            runtime.start()
            _installed = runtime
        elif _installed.targets != tuple(targets) or settings not in (None, _installed.settings):
            raise FailedPreconditionError(
                "install: this process already has virtual GPUs",
                found=", ".join(targets),
                allowed=", ".join(_installed.targets),
                next_step="use another process for other devices or settings",
            )
        return _installed
