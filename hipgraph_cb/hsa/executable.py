"""Code objects on an HSA agent."""

from __future__ import annotations

import ctypes
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from hipgraph_cb.abi.hsa.attributes import SymbolInfo, SymbolKind
from hipgraph_cb.abi.hsa.status import Status
from hipgraph_cb.backend.lifetime import Handle
from hipgraph_cb.backend.owned import OwnedExecutable
from hipgraph_cb.errors import HsaError
from hipgraph_cb.hsa.functions import BOOL, U32, U64
from hipgraph_cb.hsa.loader import code_ranges
from hipgraph_cb.hsa.memory import HsaBuffer, new_buffer
from hipgraph_cb.runtime.loaded_code import CodeRange, KernelFacts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hipgraph_cb.code_object.code_object import CodeObject
    from hipgraph_cb.code_object.kernel_args import KernargLayout
    from hipgraph_cb.code_object.verify import VerifiedExecutable, VerifiedExport
    from hipgraph_cb.hsa.agents import Agent
    from hipgraph_cb.hsa.api import HsaApi
    from hipgraph_cb.hsa.device import HsaDevice

DYNAMIC_STACK = 1024
"""Scratch bytes a work-item for a kernel that cannot say how much it needs, as HIP's default stack limit has it."""


class KernelCode(NamedTuple):
    """What a dispatch packet says about a kernel. Segment sizes in bytes."""

    private_segment_size: int
    group_segment_size: int
    object: int
    layout: KernargLayout


class HsaExecutable(OwnedExecutable):
    """A frozen hsa_executable_t, or one for each module of a wrapper."""

    _device: HsaDevice

    def __init__(self, device: HsaDevice, verified: VerifiedExecutable, label: str | None) -> None:
        super().__init__(device, verified, label)
        self._load_modules()
        self._kernels: dict[str, KernelCode] = {}

    def _load_module(self, module: CodeObject, keep: Handle | None, addresses: Mapping[str, int]) -> Handle:
        defined = {name: addresses[name] for name in module.undefined}
        return load_code(self._device.api, self._device.agent, module.data, self.describe(), keep, defined)

    def _new_buffer(self, size: int, label: str) -> HsaBuffer:
        return new_buffer(self._device, size, label)

    @property
    def code_ranges(self) -> tuple[CodeRange, ...]:
        """Where the loader put each code object in device memory."""
        api, modules = self._device.api, self.held("code_ranges")
        return tuple(each for module in modules for each in code_ranges(api, module.native))

    def _facts(self, export: str) -> KernelFacts:
        kernel = self.kernel(export)
        return KernelFacts(kernel.private_segment_size, kernel.group_segment_size, kernel.object)

    def kernel(self, export: str) -> KernelCode:
        """What packets need to know of a kernel, asked for once."""
        kernel = self._kernels.get(export)
        if kernel is None:
            verified = self.verified.exports[export]
            module = self.held()[verified.module]
            kernel = self._kernels[export] = find_kernel(
                self._device.api,
                self._device.agent,
                module.native,
                verified,
                f"kernel {export} of {self.describe()}",
            )
        return kernel

    def _global(self, name: str) -> HsaBuffer:
        api = self._device.api
        for module in self.held("global_"):
            symbol = self._variable(module.native, name)
            if symbol is not None:
                address = _symbol_info(api, symbol, SymbolInfo.VARIABLE_ADDRESS, U64)
                size = _symbol_info(api, symbol, SymbolInfo.VARIABLE_SIZE, U32)
                return HsaBuffer(self._device, size, address, module, name)
        raise self._no_variable(name)

    def _variable(self, executable: int, name: str) -> int | None:
        """The symbol of a variable of one module."""
        api = self._device.api
        try:
            symbol = _symbol(api, self._device.agent, executable, name, None)
        except HsaError as error:
            if error.code != Status.INVALID_SYMBOL_NAME:
                raise
            return None
        is_variable = _symbol_info(api, symbol, SymbolInfo.TYPE, U32) == SymbolKind.VARIABLE
        return symbol if is_variable else None


def find_kernel(api: HsaApi, agent: Agent, executable: int, export: VerifiedExport, where: str) -> KernelCode:
    """Ask the loader about a kernel of an executable.

    It answers with the sizes of the descriptor; those of the metadata may be larger.
    """
    symbol = _symbol(api, agent, executable, export.symbol, where)
    private = max(_symbol_info(api, symbol, SymbolInfo.KERNEL_PRIVATE_SEGMENT_SIZE, U32), export.private_segment_size)
    if _symbol_info(api, symbol, SymbolInfo.KERNEL_DYNAMIC_CALLSTACK, BOOL):
        private = max(private, DYNAMIC_STACK)
    return KernelCode(
        private,
        max(_symbol_info(api, symbol, SymbolInfo.KERNEL_GROUP_SEGMENT_SIZE, U32), export.group_segment_size),
        _symbol_info(api, symbol, SymbolInfo.KERNEL_OBJECT, U64),
        export.stated_layout,
    )


def load_code(
    api: HsaApi,
    agent: Agent,
    data: bytes,
    where: str,
    keep: Handle | None = None,
    defined: Mapping[str, int] = MappingProxyType({}),
) -> Handle:
    """Load and freeze a code object. The runtime may read its bytes for as long as the executable lives.

    Args:
        keep: what has to live as long.
        defined: the addresses of symbols that the code object leaves undefined.
    """
    native = api.read(
        "hsa_code_object_reader_create_from_memory", ctypes.c_char_p(data), len(data), kind=U64, where=where
    )
    reader = Handle(api, native, "hsa_code_object_reader_destroy", keep=data)
    try:
        native = api.read("hsa_executable_create_alt", agent.profile, agent.rounding, None, kind=U64, where=where)
        executable = Handle(api, native, "hsa_executable_destroy", keep=(data, keep))
        try:
            for name, address in defined.items():
                symbol = native, agent.handle, name.encode(), address
                api.call("hsa_executable_agent_global_variable_define", *symbol, where=where)
            api.call(
                "hsa_executable_load_agent_code_object", native, agent.handle, reader.native, None, None, where=where
            )
            api.call("hsa_executable_freeze", native, None, where=where)
        except BaseException:
            executable.release()
            raise
    finally:
        reader.release()
    return executable


def _symbol(api: HsaApi, agent: Agent, executable: int, name: str, where: str | None) -> int:
    handle = U64(agent.handle)
    symbol: int = api.read(
        "hsa_executable_get_symbol_by_name", executable, name.encode(), ctypes.byref(handle), kind=U64, where=where
    )
    return symbol


def _symbol_info(api: HsaApi, symbol: int, attribute: SymbolInfo, kind: Any) -> Any:
    return api.read("hsa_executable_symbol_get_info", symbol, attribute, kind=kind)
