"""Memcpy nodes that name a device variable by its host variable."""

from __future__ import annotations

from hipgraph_cb.virtual.hip.api.copies import checked_node_copy
from hipgraph_cb.virtual.hip.api.graph_nodes import (
    add_node,
    check_add,
    graph_exec_memcpy_node_set_params_1d,
    graph_memcpy_node_set_params_1d,
)
from hipgraph_cb.virtual.hip.api.registration import place_of_symbol
from hipgraph_cb.virtual.hip.function_table import HANDLE, INT, POINTER, SIZE, api
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime

_ADD = (POINTER, HANDLE, POINTER, SIZE)
_COPY = (POINTER, POINTER, SIZE, SIZE, INT)


@api("hipGraphAddMemcpyNodeToSymbol", *_ADD, *_COPY)
def graph_add_memcpy_node_to_symbol(
    runtime: HipRuntime, out: int, graph: int, dependencies: int, dependency_count: int,
    symbol: int, source: int, size: int, offset: int, direction: int,
) -> None:  # fmt: skip
    check_add(runtime, out, graph, dependencies, dependency_count)
    copy = checked_node_copy(runtime, place_of_symbol(runtime, symbol, size, offset), source, size, direction)
    add_node(runtime, out, graph, dependencies, dependency_count, copy)


@api("hipGraphAddMemcpyNodeFromSymbol", *_ADD, *_COPY)
def graph_add_memcpy_node_from_symbol(
    runtime: HipRuntime, out: int, graph: int, dependencies: int, dependency_count: int,
    target: int, symbol: int, size: int, offset: int, direction: int,
) -> None:  # fmt: skip
    check_add(runtime, out, graph, dependencies, dependency_count)
    copy = checked_node_copy(runtime, target, place_of_symbol(runtime, symbol, size, offset), size, direction)
    add_node(runtime, out, graph, dependencies, dependency_count, copy)


@api("hipGraphMemcpyNodeSetParamsToSymbol", HANDLE, *_COPY)
def graph_memcpy_node_set_params_to_symbol(
    runtime: HipRuntime, handle: int, symbol: int, source: int, size: int, offset: int, direction: int
) -> None:
    target = place_of_symbol(runtime, symbol, size, offset)
    graph_memcpy_node_set_params_1d(runtime, handle, target, source, size, direction)


@api("hipGraphMemcpyNodeSetParamsFromSymbol", HANDLE, *_COPY)
def graph_memcpy_node_set_params_from_symbol(
    runtime: HipRuntime, handle: int, target: int, symbol: int, size: int, offset: int, direction: int
) -> None:
    source = place_of_symbol(runtime, symbol, size, offset)
    graph_memcpy_node_set_params_1d(runtime, handle, target, source, size, direction)


@api("hipGraphExecMemcpyNodeSetParamsToSymbol", HANDLE, HANDLE, *_COPY)
def graph_exec_memcpy_node_set_params_to_symbol(
    runtime: HipRuntime, executable: int, handle: int, symbol: int, source: int, size: int, offset: int, direction: int
) -> None:
    target = place_of_symbol(runtime, symbol, size, offset)
    graph_exec_memcpy_node_set_params_1d(runtime, executable, handle, target, source, size, direction)


@api("hipGraphExecMemcpyNodeSetParamsFromSymbol", HANDLE, HANDLE, *_COPY)
def graph_exec_memcpy_node_set_params_from_symbol(
    runtime: HipRuntime, executable: int, handle: int, target: int, symbol: int, size: int, offset: int, direction: int
) -> None:
    source = place_of_symbol(runtime, symbol, size, offset)
    graph_exec_memcpy_node_set_params_1d(runtime, executable, handle, target, source, size, direction)
