"""The list of functions: none is invented, each is where hip-python looks for it and takes what hip-python passes."""

from __future__ import annotations

import ctypes
import re
from importlib.util import find_spec
from pathlib import Path

from hipgraph_cb.virtual.hip.absent import group_of
from hipgraph_cb.virtual.hip.function_table import FUNCTIONS
from hipgraph_cb.virtual.hip.library import functions_of
from hipgraph_cb.virtual.hip.profile import PROFILES
from hipgraph_cb.virtual.hip.symbol_versions import REFUSED, VERSIONS, symbol_version

# In AMD's header, or called by code that clang makes, but not in hip-python.
OF_CPP = "_Z24{}ModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_"
BEYOND_HIP_PYTHON = {
    "__hipGetPCH",
    "__hipRegisterSurface",
    "__hipRegisterTexture",
    OF_CPP.format("hipExt") + "j",
    OF_CPP.format("hipHcc"),
    "hipGLGetDevices",
    "hipGetCmdName",
    "hipGraphicsGLRegisterBuffer",
    "hipGraphicsGLRegisterImage",
    "hipRegisterTracerCallback",
    "__hipPopCallConfiguration",
    "__hipPushCallConfiguration",
    "__hipRegisterFatBinary",
    "__hipRegisterFunction",
    "__hipRegisterManagedVar",
    "__hipRegisterVar",
    "__hipUnregisterFatBinary",
    "hipChooseDevice",
    "hipChooseDeviceR0000",
    "hipExtModuleLaunchKernel",
    "hipGetDeviceProperties",
    "hipGetDevicePropertiesR0000",
    "hipHccModuleLaunchKernel",
}
SIZES = {
    **dict.fromkeys(("int", "unsigned int", "uint32_t"), 4),
    **dict.fromkeys(("size_t", "unsigned long long", "uint64_t"), 8),
    **dict.fromkeys(("hipDeviceptr_t", "hipHostFn_t", "hipStreamCallback_t"), 8),
    "short": 2,
    "unsigned short": 2,
    "unsigned char": 1,
    "dim3": 12,
    "hipPitchedPtr": 32,
    "hipExtent": 24,
    "hipMemLocation": 8,
    **dict.fromkeys(("hipIpcMemHandle_st", "hipIpcEventHandle_st"), 64),
}
ENUMS = {"hipDevice_t", "hipFuncCache_t", "hipLimit_t", "hipDeviceAttribute_t", "hipError_t"}


def hip_python_source() -> str:
    return (Path(find_spec("rocm.bindings").submodule_search_locations[0]) / "cyhip.pyx").read_text()


def symbols_of_hip_python() -> set[str]:
    return set(re.findall(r'__init_symbol\(&\w+,"(\w+)"\)', hip_python_source()))


def signatures_of_hip_python() -> dict[str, list[int]]:
    """Symbol -> the sizes of its C arguments."""
    pattern = r'__init_symbol\(&\w+,"(\w+)"\) > 0:\n.*\n\s*(?:return )?\(<[^(]*\(\*\)\((.*?)\) noexcept nogil>'
    found = re.findall(pattern, hip_python_source())
    return {name: [size_of(text.strip()) for text in arguments.split(",") if text.strip()] for name, arguments in found}


def size_of(text: str) -> int:
    if "*" in text:
        return 8
    text = text.removeprefix("const ")
    if text in SIZES:
        return SIZES[text]
    return 8 if text.endswith("_t") and text not in ENUMS else 4


def test_every_function_is_one_that_hip_python_knows_or_that_clang_calls(runtime):
    assert set(runtime.functions) - symbols_of_hip_python() == BEYOND_HIP_PYTHON


def test_every_function_takes_arguments_of_the_sizes_that_hip_python_passes():
    theirs = signatures_of_hip_python()
    assert len(theirs) > 500
    ours = {name: [ctypes.sizeof(kind) for kind in FUNCTIONS[name].arguments] for name in FUNCTIONS if name in theirs}
    theirs["hipCreateChannelDesc"].insert(0, 8)  # where the structure that it returns goes
    assert ours == {name: theirs[name] for name in ours}


def test_every_function_has_a_symbol_version(runtime):
    assert {symbol_version(name) for name in runtime.functions} <= set(VERSIONS)
    assert symbol_version("hipMalloc") == "hip_4.2"
    assert symbol_version("hipGetDevicePropertiesR0600") == "hip_6.0"


def test_a_function_without_a_meaning_here_is_refused_by_name(hip, runtime, raw):
    assert raw.hipImportExternalSemaphore(0, 0) == 801
    assert runtime.fault_report() == (
        "hipImportExternalSemaphore: the virtual GPU does not have hipImportExternalSemaphore "
        "(external memory and semaphores: there is no other device that they could belong to)"
    )
    assert hip.has_symbol("hipMalloc")
    assert not hip.has_symbol("hipGreenCtxCreate")


def test_no_function_is_refused_without_a_reason_or_beside_its_own():
    names = [name for listed in REFUSED.values() for name in listed.split()]
    assert len(names) == len(set(names))
    assert [name for name in names if group_of(name) is None] == []
    assert set(names) & set(FUNCTIONS) == set()


def test_a_version_exports_no_function_that_came_later():
    older, newer = (functions_of(PROFILES[version]) for version in ("6.4", "7.2"))
    assert {"hipLibraryLoadData", "hipStreamSetAttribute", "hipMemcpyBatchAsync"} & set(older) == set()
    assert {"hipEventRecordWithFlags", "hipStreamBatchMemOp", "hipLinkCreate", "hipImportExternalMemory"} < set(older)
    assert set(older) < set(newer)
