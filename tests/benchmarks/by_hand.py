"""The program that a careful user of hip-python writes for a workload, node by node.

It is what record + lower is compared with, so it is honest: every return code is checked and nothing is done that HIP
does not need. The parameters of each node are made afresh, as a helper that adds one node does.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from hip import hip

from tests.benchmarks.workloads import Copy, Fill, Launch, Layers, Memory

DEVICE_TO_DEVICE = hip.hipMemcpyKind.hipMemcpyDeviceToDevice
_TYPES = {("pointer", 8): ctypes.c_void_p, ("float", 4): ctypes.c_float, ("uint", 4): ctypes.c_uint32}


def check(result: tuple[Any, ...]) -> Any:
    """The out values of a call of hip-python, or an exception."""
    error, *values = result
    if error != hip.hipError_t.hipSuccess:
        raise RuntimeError(str(error))
    return values[0] if len(values) == 1 else values


class Kernel:
    """A kernel's function, and its arguments as a user would declare them."""

    def __init__(self, function: int, parameters: Sequence[Any]) -> None:
        fields = [(f"a{each.index}", _type(each)) for each in parameters]
        self.function = function
        self.arguments = type("Arguments", (ctypes.Structure,), {"_fields_": fields})
        self.offsets = [getattr(self.arguments, name).offset for name, _ in fields]
        self.table = ctypes.c_void_p * len(fields)

    def parameters(self, count: Sequence[int], size: Sequence[int], values: Sequence[Any]) -> tuple[Any, ...]:
        """The parameters of a node, and what has to live until it is added."""
        arguments = self.arguments(*values)
        start = ctypes.addressof(arguments)
        table = self.table(*[start + offset for offset in self.offsets])
        parameters = hip.hipKernelNodeParams()
        parameters.func = self.function
        parameters.kernelParams = ctypes.addressof(table)
        grid, block = parameters.gridDim, parameters.blockDim
        grid.x, grid.y, grid.z = count
        block.x, block.y, block.z = size
        return parameters, table, arguments


def _type(parameter: Any) -> Any:
    name = parameter.type_name or ""
    return _TYPES["pointer" if name.endswith("*") else name, parameter.size]


def dimensions(value: int | tuple[int, ...]) -> tuple[int, int, int]:
    given = (value,) if isinstance(value, int) else value
    return (*given, *(1,) * (3 - len(given)))  # type: ignore[return-value]


def prepared(layers: Layers, addresses: Sequence[int]) -> Layers:
    """The workload with addresses for memory and three dimensions for every shape: what a user would have in hand."""

    def at(value: Any) -> Any:
        return addresses[value.number] if isinstance(value, Memory) else value

    def step(each: Any) -> Any:
        if isinstance(each, Launch):
            shape = dimensions(each.count), dimensions(each.size)
            return Launch(each.kernel, *shape, tuple(map(at, each.args)))
        return each._replace(target=at(each.target), **({"source": at(each.source)} if isinstance(each, Copy) else {}))

    return [[step(each) for each in layer] for layer in layers]


def build(kernels: dict[str, Kernel], layers: Layers, size: int) -> Any:
    """An executable graph; `layers` are `prepared`, every buffer has `size` bytes."""
    graph = check(hip.hipGraphCreate(0))
    previous: Any = None
    count = 0
    for layer in layers:
        nodes = [_add(graph, previous, count, kernels, step, size) for step in layer]
        count = len(nodes)
        previous = (ctypes.c_void_p * count)(*map(int, nodes))
    executable, _error_node, _log = check(hip.hipGraphInstantiate(graph, 0))
    check(hip.hipGraphDestroy(graph))
    return executable


def _add(graph: Any, previous: Any, count: int, kernels: dict[str, Kernel], step: Any, size: int) -> Any:
    if isinstance(step, Launch):
        parameters, *_kept = kernels[step.kernel].parameters(step.count, step.size, step.args)
        return check(hip.hipGraphAddKernelNode(graph, previous, count, parameters))
    if isinstance(step, Fill):
        parameters = hip.hipMemsetParams()
        parameters.dst = step.target
        parameters.elementSize, parameters.value = 4, step.value
        parameters.width, parameters.height = size // 4, 1
        return check(hip.hipGraphAddMemsetNode(graph, previous, count, parameters))
    return check(hip.hipGraphAddMemcpyNode1D(graph, previous, count, step.target, step.source, size, DEVICE_TO_DEVICE))
