"""AMD's own libamdhip64 in this process, on the virtual libhsa-runtime64, as the runtime that the project finds.

A library made as the virtual ones are stands between hip-python and AMD's, so that calls are counted, failed and
ignored there too.
"""

from __future__ import annotations

import atexit
import ctypes
import os
from collections.abc import Sequence

from hipgraph_cb.virtual.callbacks import CallGate
from hipgraph_cb.virtual.hip.function_table import FUNCTIONS
from hipgraph_cb.virtual.hip.library import CALL_CODES, MARKER, subjects
from hipgraph_cb.virtual.hip.refused import refused_functions
from hipgraph_cb.virtual.hip_python import pin_hip_python
from hipgraph_cb.virtual.injection import Interceptor
from hipgraph_cb.virtual.install import VirtualHsa, install_hsa
from hipgraph_cb.virtual.native_library import NativeLibrary
from hipgraph_cb.virtual.settings import Settings
from hipgraph_cb.virtual.shared_object import ExportedFunction
from hipgraph_cb.virtual.virtual_library import VirtualLibrary

LIBRARY = "HIPGRAPH_CB_AMD_HIP"
"""Names the file of AMD's library."""


class RuntimeOfAmd(VirtualLibrary):
    """AMD's library behind what tests ask of the virtual one. `amd`: itself."""

    def __init__(self, hsa: VirtualHsa, path: str) -> None:
        self.machine = hsa.machine
        self.targets = hsa.targets
        self.settings = hsa.settings
        self._gate = CallGate(CALL_CODES, hsa.machine.calls)
        self.amd = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        subjects()
        table = FUNCTIONS | refused_functions()
        self._addresses = {name: self._address(name) for name in table if hasattr(self.amd, name)}
        exported = [ExportedFunction(MARKER, fallback=1), *(ExportedFunction(name, fallback=4) for name in table)]
        self._library = NativeLibrary(("libamdhip64-watched.so",), exported)
        for name, address in self._addresses.items():
            self._library.wire(name, address)
        known = {name: table[name] for name in self._addresses}
        self._interceptor = Interceptor(self._library, self._gate, known, self._addresses)
        self.functions = tuple(self._addresses)
        self.library_path = next(iter(self._library.paths.values()))
        self.image_addresses = self._library.addresses
        atexit.register(self._library.restore)

    def _address(self, name: str) -> int:
        return ctypes.cast(getattr(self.amd, name), ctypes.c_void_p).value or 0


_runtime: RuntimeOfAmd | None = None


def install(targets: Sequence[str], settings: Settings | None = None) -> RuntimeOfAmd:
    """In place of the function of this name that makes the virtual libamdhip64."""
    global _runtime
    if _runtime is None:
        _runtime = RuntimeOfAmd(install_hsa(targets, settings), os.environ[LIBRARY])
        pin_hip_python(_runtime.library_path, MARKER)
    return _runtime
