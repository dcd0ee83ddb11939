"""Libraries and their kernels: the newer names for modules and functions, loaded for a device at first use there."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.errors import HipGraphError
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.api.kernel_functions import attribute_of_function, function_set_attribute
from hipgraph_cb.virtual.hip.api.modules import Module, function_handle, load_module
from hipgraph_cb.virtual.hip.function_table import HANDLE, INT, POINTER, SIZE, UINT, api
from hipgraph_cb.virtual.hip.native import load_text, require, static_text, store_int, store_pointer, store_pointers
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.objects.stream import wait_for_workers
from hipgraph_cb.virtual.mapped_code import read_code


@dataclass(eq=False)
class Library:
    """Code for whichever device; its modules by device ordinal, and the handles of its kernels by name."""

    code: bytes
    handle: int = 0
    modules: dict[int, Module] = field(default_factory=dict)
    kernels: dict[str, int] = field(default_factory=dict)

    def on(self, runtime: HipRuntime, ordinal: int) -> Module:
        if ordinal not in self.modules:
            self.modules[ordinal] = load_module(runtime, runtime.gpu_at(ordinal), lambda: self.code)
        return self.modules[ordinal]


@dataclass(frozen=True, eq=False)
class Kernel:
    """A hipKernel_t."""

    library: Library
    name: str

    def on(self, runtime: HipRuntime, ordinal: int) -> int:
        """Its function handle on a device."""
        return function_handle(runtime, self.library.on(runtime, ordinal), self.name)


_LOAD = (POINTER, POINTER, UINT, POINTER, POINTER, UINT)


def _load(runtime: HipRuntime, out: int, code: bytes) -> None:
    library = Library(code)
    library.on(runtime, runtime.gpu.ordinal)  # refuses what is not code for this device
    library.handle = runtime.libraries.add(library)
    store_pointer(out, library.handle)


@api("hipLibraryLoadData", POINTER, POINTER, *_LOAD)
def library_load_data(runtime: HipRuntime, out: int, code: int, *options: int) -> None:
    require(out and code)
    try:
        data = read_code(code)
    except HipGraphError as error:
        raise CallError(Code.INVALID_IMAGE, str(error)) from error
    _load(runtime, out, data)


@api("hipLibraryLoadFromFile", POINTER, POINTER, *_LOAD)
def library_load_from_file(runtime: HipRuntime, out: int, path: int, *options: int) -> None:
    require(out and path)
    try:
        code = Path(load_text(path)).read_bytes()
    except OSError as error:
        raise CallError(Code.FILE_NOT_FOUND, str(error)) from error
    _load(runtime, out, code)


@api("hipLibraryUnload", HANDLE, releases=True)
def library_unload(runtime: HipRuntime, handle: int) -> None:
    require(handle, Code.INVALID_HANDLE)
    library = runtime.libraries.pop(handle)
    wait_for_workers(runtime.gate, [gpu.worker for gpu in runtime.gpus])
    for kernel in library.kernels.values():
        runtime.kernels.pop(kernel)
    for module in library.modules.values():
        module.release(runtime)


def _here(runtime: HipRuntime, handle: int) -> Module:
    require(handle, Code.INVALID_HANDLE)
    return runtime.libraries[handle].on(runtime, runtime.gpu.ordinal)


def _kernel_handle(runtime: HipRuntime, library: Library, name: str) -> int:
    if name not in library.kernels:
        library.kernels[name] = runtime.kernels.add(Kernel(library, name))
    return library.kernels[name]


@api("hipLibraryGetKernel", POINTER, HANDLE, POINTER)
def library_get_kernel(runtime: HipRuntime, out: int, handle: int, name: int) -> None:
    require(out and name)
    module = _here(runtime, handle)
    function_handle(runtime, module, load_text(name))
    store_pointer(out, _kernel_handle(runtime, runtime.libraries[handle], load_text(name)))


@api("hipLibraryGetKernelCount", POINTER, HANDLE)
def library_get_kernel_count(runtime: HipRuntime, out: int, handle: int) -> None:
    store_int(out, len(_here(runtime, handle).loaded.kernels))


@api("hipLibraryEnumerateKernels", POINTER, UINT, HANDLE)
def library_enumerate_kernels(runtime: HipRuntime, out: int, room: int, handle: int) -> None:
    require(out)
    names = list(_here(runtime, handle).loaded.kernels)[:room]
    library = runtime.libraries[handle]
    store_pointers(out, [_kernel_handle(runtime, library, name) for name in names], room)


@api("hipLibraryGetGlobal", POINTER, POINTER, HANDLE, POINTER)
def library_get_global(runtime: HipRuntime, address_out: int, size_out: int, handle: int, name: int) -> None:
    require(name and (address_out or size_out))
    found = _here(runtime, handle).loaded.globals.get(load_text(name))
    if found is None:
        raise CallError(Code.NOT_FOUND)
    for out, value in zip((address_out, size_out), found, strict=True):
        if out:
            store_pointer(out, value)


@api("hipKernelGetFunction", POINTER, HANDLE)
def kernel_get_function(runtime: HipRuntime, out: int, handle: int) -> None:
    require(out)
    store_pointer(out, runtime.kernels[handle].on(runtime, runtime.gpu.ordinal))


@api("hipKernelGetLibrary", POINTER, HANDLE)
def kernel_get_library(runtime: HipRuntime, out: int, handle: int) -> None:
    store_pointer(out, runtime.kernels[handle].library.handle)


@api("hipKernelGetName", POINTER, HANDLE)
def kernel_get_name(runtime: HipRuntime, out: int, handle: int) -> None:
    store_pointer(out, static_text(runtime.kernels[handle].name))


@api("hipKernelGetParamInfo", HANDLE, SIZE, POINTER, POINTER)
def kernel_get_param_info(runtime: HipRuntime, handle: int, index: int, offset_out: int, size_out: int) -> None:
    require(offset_out)
    function = runtime.functions[runtime.kernels[handle].on(runtime, runtime.gpu.ordinal)]
    parameters = function.export.stated_layout.parameters
    require(index < len(parameters))
    store_pointer(offset_out, parameters[index].offset)
    if size_out:
        store_pointer(size_out, parameters[index].size)


@api("hipKernelGetAttribute", POINTER, INT, HANDLE, INT)
def kernel_get_attribute(runtime: HipRuntime, out: int, attribute: int, handle: int, ordinal: int) -> None:
    value = attribute_of_function(runtime.functions[runtime.kernels[handle].on(runtime, ordinal)], attribute)
    if value is None:
        raise CallError(Code.INVALID_VALUE)
    store_int(out, value)


@api("hipKernelSetAttribute", INT, INT, HANDLE, INT)
def kernel_set_attribute(runtime: HipRuntime, attribute: int, value: int, handle: int, ordinal: int) -> None:
    function_set_attribute(runtime, runtime.kernels[handle].on(runtime, ordinal), attribute, value)
