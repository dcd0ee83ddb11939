"""The list of functions: none is invented, and each is where hip-python looks for it."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from hipgraph_cb.virtual.hip.symbol_versions import VERSIONS, symbol_version

# In AMD's header, or called by code that clang makes, but not in hip-python.
BEYOND_HIP_PYTHON = {
    "__hipPopCallConfiguration",
    "__hipPushCallConfiguration",
    "__hipRegisterFatBinary",
    "__hipRegisterFunction",
    "__hipRegisterManagedVar",
    "__hipRegisterVar",
    "__hipUnregisterFatBinary",
}


def symbols_of_hip_python() -> set[str]:
    source = Path(find_spec("rocm.bindings").submodule_search_locations[0]) / "cyhip.pyx"
    return set(re.findall(r'__init_symbol\(&\w+,"(\w+)"\)', source.read_text()))


def test_every_function_is_one_that_hip_python_knows_or_that_clang_calls(runtime):
    assert set(runtime.functions) - symbols_of_hip_python() == BEYOND_HIP_PYTHON


def test_every_function_has_a_symbol_version(runtime):
    assert {symbol_version(name) for name in runtime.functions} <= set(VERSIONS)
    assert symbol_version("hipMalloc") == "hip_4.2"
    assert symbol_version("hipGetDevicePropertiesR0600") == "hip_6.0"


def test_a_function_that_is_not_there_is_absent(hip):
    assert not hip.has_symbol("hipImportExternalSemaphore")
    assert hip.has_symbol("hipMalloc")
