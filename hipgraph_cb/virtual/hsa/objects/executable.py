"""Executables: code objects that were loaded for agents, and the symbols in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hipgraph_cb.abi.hsa.status import Status
from hipgraph_cb.code_object.verify import verify_as_loader
from hipgraph_cb.errors import HipGraphError, IncompatibleError
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.loader import LoadedKernel, LoadedModule, UndefinedSymbol, load
from hipgraph_cb.virtual.memory import OutOfMemory

if TYPE_CHECKING:
    from hipgraph_cb.virtual.hsa.objects.agent import Agent
    from hipgraph_cb.virtual.hsa.objects.runtime import HsaRuntime

KERNEL_SUFFIX = ".kd"


@dataclass(frozen=True)
class CodeObjectReader:
    """The bytes of a code object, and where the program keeps them (0 for a file)."""

    data: bytes
    address: int = 0


@dataclass
class Symbol:
    """A kernel or a global variable of an agent.

    Attributes:
        name: as in the code object's symbol table: a kernel's ends in `.kd`.
        kernel: None for a variable.
        size: of a variable, in bytes.
    """

    name: str
    agent: Agent
    executable: Executable
    address: int
    size: int = 0
    kernel: LoadedKernel | None = None


@dataclass
class LoadedCodeObject:
    """One code object of an executable, on one agent."""

    executable: Executable
    agent: Agent
    reader: CodeObjectReader
    module: LoadedModule
    handle: int = 0

    @property
    def size(self) -> int:
        """Bytes of device memory from its lowest to its highest address."""
        segments = self.module.executable.code_object.loadable()
        return max((segment.address + segment.memory_size for segment in segments), default=0)


@dataclass
class Executable:
    """Loaded code objects with their symbols; frozen before any of its kernels may run.

    Attributes:
        symbols: handles, by the agent's handle and the name.
        defined: addresses that the program gave to variables that its code objects leave open, by agent and name.
    """

    runtime: HsaRuntime
    profile: int
    rounding: int
    is_frozen: bool = False
    handle: int = 0
    loaded: list[LoadedCodeObject] = field(default_factory=list)
    symbols: dict[tuple[int, str], int] = field(default_factory=dict)
    defined: dict[tuple[int, str], int] = field(default_factory=dict)

    def load(self, agent: Agent, reader: CodeObjectReader) -> LoadedCodeObject:
        """Put a code object into the agent's memory; answers what is wrong with it by a status and a note."""
        if agent.gpu is None:
            raise CallError(Status.INVALID_AGENT, "the CPU runs no code objects")
        names = {name: address for (handle, name), address in self.defined.items() if handle in (0, agent.handle)}
        try:
            module = load(self.runtime.memory, verify_as_loader(reader.data, agent.gpu.target), defined=names)
        except IncompatibleError as error:
            raise CallError(Status.INCOMPATIBLE_ARGUMENTS, str(error)) from error
        except UndefinedSymbol as error:
            raise CallError(Status.VARIABLE_UNDEFINED, str(error)) from error
        except OutOfMemory as error:
            raise CallError(Status.OUT_OF_RESOURCES, str(error)) from error
        except HipGraphError as error:
            raise CallError(Status.INVALID_CODE_OBJECT, str(error)) from error
        code_object = LoadedCodeObject(self, agent, reader, module)
        symbols = _symbols(code_object)
        for symbol in symbols:
            if (agent.handle, symbol.name) in self.symbols:
                module.unload()
                raise CallError(Status.VARIABLE_ALREADY_DEFINED, f"{symbol.name} is in another code object already")
        for symbol in symbols:
            self.symbols[agent.handle, symbol.name] = self.runtime.symbols.add(symbol)
        code_object.handle = self.runtime.loaded_code_objects.add(code_object)
        self.loaded.append(code_object)
        return code_object

    def freeze(self) -> None:
        self.is_frozen = True
        for code_object in self.loaded:
            gpu = code_object.agent.gpu
            if gpu is not None:
                for kernel in code_object.module.kernels.values():
                    self.runtime.kernels[kernel.descriptor_address] = (gpu.ordinal, kernel)

    def why_missing(self, name: str) -> str:
        """What to say about a symbol that is not there."""
        for code_object in self.loaded:
            refused = code_object.module.executable.refused.get(name.removesuffix(KERNEL_SUFFIX))
            if refused is not None:
                return f"kernel {name} was refused: {refused}"
        known = ", ".join(sorted(name for _, name in self.symbols))
        return f"no symbol is called {name}; there are: {known or 'none'}"

    def destroy(self) -> None:
        runtime = self.runtime
        for symbol in self.symbols.values():
            runtime.symbols.pop(symbol)
        for code_object in self.loaded:
            for kernel in code_object.module.kernels.values():
                runtime.kernels.pop(kernel.descriptor_address, None)
            runtime.loaded_code_objects.pop(code_object.handle)
            code_object.module.unload()
        self.symbols.clear()
        self.loaded.clear()


def _symbols(code_object: LoadedCodeObject) -> list[Symbol]:
    agent, executable, module = code_object.agent, code_object.executable, code_object.module
    kernels = [
        Symbol(kernel.export.symbol, agent, executable, kernel.descriptor_address, kernel=kernel)
        for kernel in module.kernels.values()
    ]
    variables = [Symbol(name, agent, executable, address, size) for name, (address, size) in module.globals.items()]
    return kernels + variables
