"""Modules: loading code objects, and finding kernels and variables in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.code_object.verify import verify_as_loader
from hipgraph_cb.errors import HipGraphError, IncompatibleError
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.function_table import HANDLE, POINTER, UINT, api
from hipgraph_cb.virtual.hip.native import load_text, require, store_int, store_pointer
from hipgraph_cb.virtual.hip.objects.gpu import Gpu
from hipgraph_cb.virtual.hip.objects.kernels import Function
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.objects.stream import wait_for_workers
from hipgraph_cb.virtual.loader import LoadedModule, load
from hipgraph_cb.virtual.mapped_code import read_code
from hipgraph_cb.virtual.memory import OutOfMemory


class Module:
    """A code object on one device, with the function handles given out for it."""

    def __init__(self, gpu: Gpu, loaded: LoadedModule) -> None:
        self.gpu = gpu
        self.loaded = loaded
        self.function_handles: dict[str, int] = {}

    def release(self, runtime: HipRuntime) -> None:
        """Take it from the device, with its function handles; nothing of it may run any more."""
        for function in self.function_handles.values():
            runtime.functions.pop(function).is_unloaded = True
        self.loaded.unload()


def load_module(runtime: HipRuntime, gpu: Gpu, read: Callable[[], bytes]) -> Module:
    """The code object that `read` gives, on a device; anything else is an invalid image."""
    try:
        executable = verify_as_loader(read(), gpu.target)
        loaded = load(runtime.memory, executable, label="code object")
    except IncompatibleError as error:
        raise CallError(Code.NO_BINARY_FOR_GPU, str(error)) from error
    except OutOfMemory as error:
        raise CallError(Code.OUT_OF_MEMORY, str(error)) from error
    except HipGraphError as error:
        raise CallError(Code.INVALID_IMAGE, str(error)) from error
    return Module(gpu, loaded)


def _load_into(runtime: HipRuntime, out: int, read: Callable[[], bytes]) -> None:
    store_pointer(out, runtime.modules.add(load_module(runtime, runtime.gpu, read)))


@api("hipModuleLoadData", POINTER, POINTER)
@api("hipModuleLoadFatBinary", POINTER, POINTER)
def module_load_data(runtime: HipRuntime, out: int, image: int) -> None:
    require(out and image)
    _load_into(runtime, out, lambda: read_code(image))


@api("hipModuleLoadDataEx", POINTER, POINTER, UINT, POINTER, POINTER)
def module_load_data_ex(
    runtime: HipRuntime, out: int, image: int, option_count: int, options: int, values: int
) -> None:
    module_load_data(runtime, out, image)


@api("hipModuleLoad", POINTER, POINTER)
def module_load(runtime: HipRuntime, out: int, path: int) -> None:
    require(out and path)
    name = load_text(path)
    require(name)
    try:
        data = Path(name).read_bytes()
    except OSError as error:
        raise CallError(Code.FILE_NOT_FOUND, str(error)) from error
    _load_into(runtime, out, lambda: data)


@api("hipModuleUnload", HANDLE, releases=True)
def module_unload(runtime: HipRuntime, handle: int) -> None:
    require(handle, Code.INVALID_HANDLE)
    module = runtime.modules.pop(handle)
    wait_for_workers(runtime.gate, [module.gpu.worker])
    module.release(runtime)


@api("hipModuleGetFunction", POINTER, HANDLE, POINTER)
def module_get_function(runtime: HipRuntime, out: int, handle: int, name_address: int) -> None:
    require(out and name_address)
    name = load_text(name_address)
    require(name)
    require(handle, Code.INVALID_HANDLE)
    store_pointer(out, function_handle(runtime, runtime.modules[handle], name))


def function_handle(runtime: HipRuntime, module: Module, name: str) -> int:
    """The hipFunction_t of a kernel: the same one each time."""
    if name not in module.function_handles:
        kernel = module.loaded.kernels.get(name)
        if kernel is None:
            raise CallError(Code.NOT_FOUND, _why_missing(module, name))
        module.function_handles[name] = runtime.functions.add(Function(module.gpu, kernel))
    return module.function_handles[name]


def _why_missing(module: Module, name: str) -> str:
    refused = module.loaded.executable.refused.get(name)
    if refused is not None:
        return f"kernel {name} was refused: {refused}"
    return f"no kernel is called {name}; there are: {', '.join(module.loaded.kernels) or 'none'}"


@api("hipModuleGetGlobal", POINTER, POINTER, HANDLE, POINTER)
def module_get_global(runtime: HipRuntime, address_out: int, size_out: int, handle: int, name_address: int) -> None:
    require(name_address and (address_out or size_out))
    name = load_text(name_address)
    require(name)
    require(handle, Code.INVALID_HANDLE)
    found = runtime.modules[handle].loaded.globals.get(name)
    if found is None:
        raise CallError(Code.NOT_FOUND)
    for out, value in zip((address_out, size_out), found, strict=True):
        if out:
            store_pointer(out, value)


@api("hipModuleGetFunctionCount", POINTER, HANDLE)
def module_get_function_count(runtime: HipRuntime, out: int, handle: int) -> None:
    require(handle, Code.INVALID_HANDLE)
    store_int(out, len(runtime.modules[handle].loaded.kernels))
