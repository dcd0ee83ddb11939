"""The program that a careful user of hip-python writes for a chain of dispatches, node by node.

It is what record + lower is compared with, so it is honest: every return code is checked and nothing is done that HIP
does not need. `build` makes the parameters of each node afresh, as a helper that adds one node does. `build_reusing` is
what is left after tuning for this one kernel: one block of parameters, written again for each node.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from hip import hip

Dispatches = Sequence[tuple[int, int, int, float, int]]
"""Each is (out, x, y, scale, count), with addresses for the first three."""


class SaxpbyArguments(ctypes.Structure):
    """The explicit arguments of `saxpby(float *out, const float *x, const float *y, float scale, uint count)`."""

    _fields_ = (
        ("out", ctypes.c_void_p),
        ("x", ctypes.c_void_p),
        ("y", ctypes.c_void_p),
        ("scale", ctypes.c_float),
        ("count", ctypes.c_uint32),
    )


OFFSETS = tuple(getattr(SaxpbyArguments, name).offset for name, _type in SaxpbyArguments._fields_)
PointerTable = ctypes.c_void_p * len(OFFSETS)
OneDependency = ctypes.c_void_p * 1


def check(result: tuple[Any, ...]) -> Any:
    """The out values of a call of hip-python, or an exception."""
    error, *values = result
    if error != hip.hipError_t.hipSuccess:
        raise RuntimeError(str(error))
    return values[0] if len(values) == 1 else values


def add_saxpby(
    graph: Any, previous: Any, function: Any, blocks: int, block_size: int, arguments: SaxpbyArguments
) -> Any:
    """One kernel node after `previous` (None: after nothing)."""
    start = ctypes.addressof(arguments)
    table = PointerTable(*[start + offset for offset in OFFSETS])
    parameters = hip.hipKernelNodeParams()
    parameters.func = function
    parameters.kernelParams = ctypes.addressof(table)
    grid, block = parameters.gridDim, parameters.blockDim
    grid.x, grid.y, grid.z = blocks, 1, 1
    block.x, block.y, block.z = block_size, 1, 1
    if previous is None:
        return check(hip.hipGraphAddKernelNode(graph, None, 0, parameters))
    return check(hip.hipGraphAddKernelNode(graph, OneDependency(int(previous)), 1, parameters))


def build(function: Any, dispatches: Dispatches) -> Any:
    """An executable graph of the dispatches in order."""
    graph = check(hip.hipGraphCreate(0))
    previous = None
    for dispatch in dispatches:
        previous = add_saxpby(graph, previous, function, 4, 256, SaxpbyArguments(*dispatch))
    return instantiate(graph)


def build_reusing(function: Any, dispatches: Dispatches) -> Any:
    """The same graph, tuned: arguments, pointer table, parameters and dependencies are made once."""
    graph = check(hip.hipGraphCreate(0))
    arguments = SaxpbyArguments()
    table = PointerTable(*[ctypes.addressof(arguments) + offset for offset in OFFSETS])
    parameters = hip.hipKernelNodeParams()
    parameters.func = function
    parameters.kernelParams = ctypes.addressof(table)
    grid, block = parameters.gridDim, parameters.blockDim
    grid.x, grid.y, grid.z = 4, 1, 1
    block.x, block.y, block.z = 256, 1, 1
    dependencies, dependency_count = OneDependency(), 0
    for arguments.out, arguments.x, arguments.y, arguments.scale, arguments.count in dispatches:
        node = check(hip.hipGraphAddKernelNode(graph, dependencies, dependency_count, parameters))
        dependencies[0], dependency_count = int(node), 1
    return instantiate(graph)


def instantiate(graph: Any) -> Any:
    executable, _error_node, _log = check(hip.hipGraphInstantiate(graph, 0))
    check(hip.hipGraphDestroy(graph))
    return executable
