"""Puts the virtual libraries into this process, under hip-python and every other C client.

Both lead to the same GPUs. Each is made on demand, so a program that uses HSA only needs no hip-python. They are made
in memory, or found as files in the folder that `hipgraph-cb run` made for the process.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from hipgraph_cb.errors import FailedPreconditionError, InvalidArgumentError
from hipgraph_cb.virtual.machine import Machine
from hipgraph_cb.virtual.settings import Settings
from hipgraph_cb.virtual.virtual_library import VirtualLibrary

if TYPE_CHECKING:
    from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime

_lock = threading.Lock()
_machine: Machine | None = None
_hip: VirtualRuntime | None = None
_hsa: VirtualHsa | None = None
_rccl: VirtualRccl | None = None
_roctx: VirtualRoctx | None = None
_folder: Path | None = None
FOLDER_VARIABLE = "HIPGRAPH_CB_LIBRARIES"
"""Names the folder that `hipgraph-cb run` wrote the libraries into."""


class VirtualRuntime(VirtualLibrary):
    """The virtual HIP runtime of this process. `is_bound`: hip-python uses it."""

    is_bound = False

    def __init__(self, machine: Machine) -> None:
        from hipgraph_cb.virtual.callbacks import CallGate
        from hipgraph_cb.virtual.hip.library import CALL_CODES, functions_of, load_library
        from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime

        gate = CallGate(CALL_CODES, machine.calls)
        self._runtime = HipRuntime(machine, gate)
        functions = functions_of(self._runtime.profile)
        library = load_library(functions, library_folder())
        self._runtime.address_of = library.address
        super().__init__(machine, gate, library, functions, self._runtime)

    def following(self, profile: str) -> AbstractContextManager[None]:
        """`with runtime.following("6.4"):` - behave as another version of AMD's runtime while this is open.

        Raises:
            NotFoundError: no such profile.
        """
        return self._runtime.following(profile)

    @property
    def runtime(self) -> HipRuntime:
        """Its state."""
        return self._runtime

    def null_runtime(self) -> AbstractContextManager[None]:
        """While this is open, calls that do work are native code that does nothing: to measure what a caller costs."""
        from hipgraph_cb.virtual.null_runtime import null_runtime

        return null_runtime(self._library, self._addresses)

    def bind_hip_python(self) -> None:
        """Make hip-python use this library."""
        from hipgraph_cb.virtual.hip.library import MARKER
        from hipgraph_cb.virtual.hip_python import pin_hip_python

        pin_hip_python(self.library_path, MARKER)
        self.is_bound = True


class VirtualHsa(VirtualLibrary):
    """The virtual HSA runtime of this process. `runtime` is its state."""

    def __init__(self, machine: Machine) -> None:
        from hipgraph_cb.virtual.callbacks import CallGate
        from hipgraph_cb.virtual.hsa.function_table import FUNCTIONS
        from hipgraph_cb.virtual.hsa.library import CALL_CODES, load_library
        from hipgraph_cb.virtual.hsa.objects.runtime import HsaRuntime

        gate = CallGate(CALL_CODES, machine.calls)
        gate.hold_collections()
        self.runtime = runtime = HsaRuntime(machine, gate)
        library = load_library(library_folder())
        runtime.locate = library.address
        super().__init__(machine, gate, library, FUNCTIONS, runtime)

    def check_name(self) -> None:
        """Refuse where another library has the name."""
        from hipgraph_cb.virtual.hsa.library import MARKER, SONAMES

        if not hasattr(ctypes.CDLL(SONAMES[0]), MARKER):
            raise FailedPreconditionError(
                f"another {SONAMES[0]} is loaded already",
                next_step="call open_device() before anything else uses HSA",
            )


class VirtualRccl(VirtualLibrary):
    """The virtual RCCL of this process, for the devices of the virtual HIP runtime. `runtime` is its state."""

    def __init__(self, hip: VirtualRuntime) -> None:
        from hipgraph_cb.virtual.callbacks import CallGate
        from hipgraph_cb.virtual.rccl.function_table import FUNCTIONS
        from hipgraph_cb.virtual.rccl.library import CALL_CODES, load_library
        from hipgraph_cb.virtual.rccl.objects.runtime import RcclRuntime

        gate = CallGate(CALL_CODES, hip.machine.calls)
        self.runtime = runtime = RcclRuntime(hip.runtime, gate)
        library = load_library(library_folder())
        super().__init__(hip.machine, gate, library, FUNCTIONS, runtime)


class VirtualRoctx(VirtualLibrary):
    """The virtual ROCTX of this process: what its devices are told runs within the ranges that are open."""

    def __init__(self, machine: Machine) -> None:
        from hipgraph_cb.virtual.callbacks import CallGate
        from hipgraph_cb.virtual.roctx.functions import FUNCTIONS
        from hipgraph_cb.virtual.roctx.library import CALL_CODES, load_library
        from hipgraph_cb.virtual.roctx.ranges import Ranges

        gate = CallGate(CALL_CODES, machine.calls)
        ranges = Ranges(gate)
        machine.calls.open_ranges = ranges.open
        super().__init__(machine, gate, load_library(library_folder()), FUNCTIONS, ranges)


def install_roctx(targets: Sequence[str], settings: Settings | None = None) -> VirtualRoctx:
    """Load the virtual libroctx64.so.4, for these GPUs; a second call returns the same.

    Raises:
        InvalidArgumentError: no target, or one that is not a virtual GPU.
        FailedPreconditionError: other devices are installed.
        UnavailableError: a library cannot be loaded.
    """
    global _roctx
    machine = install_hip(targets, settings).machine
    with _lock:
        if _roctx is None:
            _roctx = VirtualRoctx(machine)
        return _roctx


def install_rccl(targets: Sequence[str], settings: Settings | None = None) -> VirtualRccl:
    """Load the virtual librccl.so.1, with the virtual libamdhip64.so below it; a second call returns the same.

    Raises:
        InvalidArgumentError: no target, or one that is not a virtual GPU.
        FailedPreconditionError: other devices are installed.
        UnavailableError: a library cannot be loaded.
    """
    global _rccl
    hip = install_hip(targets, settings)
    with _lock:
        if _rccl is None:
            _rccl = VirtualRccl(hip)
        return _rccl


def install_hsa(targets: Sequence[str], settings: Settings | None = None) -> VirtualHsa:
    """Load the virtual libhsa-runtime64.so.1 with these GPUs: any code that opens the library by that name gets it.

    A second call returns the same. hip-python is not needed.

    Raises:
        InvalidArgumentError: no target, or one that is not a virtual GPU.
        FailedPreconditionError: other devices are installed, or another libhsa-runtime64.so.1 is loaded.
        UnavailableError: the library cannot be loaded.
    """
    global _hsa
    with _lock:
        machine = _the_machine(targets, settings)
        if _hsa is None:
            hsa = VirtualHsa(machine)
            hsa.check_name()
            _hsa = hsa
        return _hsa


def install(targets: Sequence[str], settings: Settings | None = None) -> VirtualRuntime:
    """Make hip-python see these virtual GPUs, as ordinals 0, 1, ...; a second call returns the same runtime.

    Where there are several GPUs, a virtual librccl.so.1 is loaded too.

    Raises:
        InvalidArgumentError: no target, or one that is not a virtual GPU.
        FailedPreconditionError: other devices are installed, or hip-python runs on another library.
        UnavailableError: hip-python is missing, or the library cannot be loaded.
    """
    runtime = install_hip(targets, settings)
    with _lock:
        if not runtime.is_bound:
            runtime.bind_hip_python()
    if len(targets) > 1:  # with one GPU there is nothing to communicate with, and programs start sooner
        install_rccl(targets, settings)
    return runtime


def install_hip(targets: Sequence[str], settings: Settings | None = None) -> VirtualRuntime:
    """Load the virtual libamdhip64.so with these GPUs for clients that open it by name; hip-python is not needed.

    Raises:
        InvalidArgumentError: no target, or one that is not a virtual GPU.
        FailedPreconditionError: other devices are installed.
        UnavailableError: the library cannot be loaded.
    """
    global _hip
    with _lock:
        machine = _the_machine(targets, settings)
        if _hip is None:
            _hip = VirtualRuntime(machine)
        return _hip


def use_library_files(folder: Path) -> None:
    """Load the libraries from these files instead of making them in memory."""
    global _folder
    _folder = folder


def library_folder() -> Path | None:
    """Where the libraries are as files, if they are."""
    if _folder is not None:
        return _folder
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else None


def _the_machine(targets: Sequence[str], settings: Settings | None) -> Machine:
    """The devices of this process: made by the first call."""
    global _machine
    if not targets:
        raise InvalidArgumentError("install: no target is named", found="()", allowed="at least one, such as gfx942")
    if _machine is None:
        trace = os.environ.get("HIPGRAPH_CB_TRACE")
        if trace:
            from hipgraph_cb.virtual.trace import append

            append(trace, "")  # better now than in the middle of a kernel
        machine = Machine(targets, settings or Settings.from_environment())
        atexit.register(machine.close)
        machine.memory.keep_mapped()
        os.register_at_fork(after_in_child=machine.calls.refuse_after_fork)
        machine.interrupts.install()
        _machine = machine
    elif _machine.targets != tuple(targets) or settings not in (None, _machine.settings):
        raise FailedPreconditionError(
            "install: this process already has virtual GPUs",
            found=", ".join(targets),
            allowed=", ".join(_machine.targets),
            next_step="use another process for other devices or settings",
        )
    return _machine
