"""Runs kernels of code objects on the virtual GPU, below any API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hipgraph_cb.code_object.hidden_args import LaunchShape, write_hidden
from hipgraph_cb.code_object.kernel_args import ParameterKind
from hipgraph_cb.code_object.verify import inspect
from hipgraph_cb.virtual.dispatch import DEFAULTS, ExecutionSettings, execute
from hipgraph_cb.virtual.launch import Launch
from hipgraph_cb.virtual.loader import load
from hipgraph_cb.virtual.memory import Memory

CORPUS = Path(__file__).parent.parent / "fixtures" / "corpus"


@dataclass(frozen=True)
class Pointer:
    """In place of a buffer."""

    address: int


class VirtualGpu:
    """Device memory with one code object in it."""

    def __init__(self, code_object: bytes | str, capacity: int = 1 << 32) -> None:
        data = (CORPUS / code_object).read_bytes() if isinstance(code_object, str) else code_object
        self.memory = Memory(capacity)
        executable = inspect(data)
        self.module = load(self.memory, executable)
        is_default = executable.target.processor == DEFAULTS.target.processor
        self.settings = DEFAULTS if is_default else replace(DEFAULTS, target=executable.target)

    def upload(self, array: np.ndarray, label: str = "") -> int:
        """A fresh allocation with the bytes of `array`."""
        address = self.memory.allocate(array.nbytes, label=label)
        self.memory.bytes(address, array.nbytes)[:] = np.ascontiguousarray(array).view(np.uint8).ravel()
        return address

    def read(self, address: int, count: int, dtype: type) -> np.ndarray:
        """A copy of `count` elements."""
        return self.memory.bytes(address, count * np.dtype(dtype).itemsize).view(dtype).copy()

    def launch(
        self,
        name: str,
        grid: Sequence[int],
        workgroup: Sequence[int],
        arguments: Sequence[object],
        *,
        dynamic_lds: int = 0,
        settings: ExecutionSettings | None = None,
        interrupted=lambda: False,
    ) -> None:
        """Run a kernel; `grid` in work-items, pointers as addresses."""
        kernel = self.module.kernels[name]
        grid = (*grid, *[1] * (3 - len(grid)))
        workgroup = (*workgroup, *[1] * (3 - len(workgroup)))
        kernarg = self.upload(np.frombuffer(self.arguments(name, arguments, grid, workgroup), np.uint8), "kernarg")
        packet = np.zeros(16, np.uint32)
        packet[1] = workgroup[0] | workgroup[1] << 16
        packet[2] = workgroup[2]
        packet[3:6] = grid
        packet[0] = 3 << 16
        address = self.upload(packet, "packet")
        try:
            launch = Launch(kernel, grid, workgroup, kernarg, dynamic_lds, address)
            execute(launch, self.memory, settings=settings or self.settings, interrupted=interrupted)
        finally:
            self.memory.free(kernarg)
            self.memory.free(address)

    def arguments(self, name: str, arguments: Sequence[object], grid: Sequence[int], workgroup: Sequence[int]) -> bytes:
        layout = self.module.kernels[name].export.layout
        values = [
            Pointer(value) if parameter.kind is ParameterKind.POINTER and value else value
            for value, parameter in zip(arguments, layout.parameters, strict=True)
        ]
        packed = layout.pack(values)
        block = bytearray(packed.block.ljust(layout.size, b"\0"))
        for offset, pointer in packed.pointers:
            block[offset : offset + 8] = pointer.address.to_bytes(8, "little")
        shape = LaunchShape(tuple(grid), tuple(workgroup))
        write_hidden(block, layout, shape)
        return bytes(block)
