"""Launch attributes of kernel nodes and streams: kept and returned. None of them changes what this device does."""

from __future__ import annotations

import ctypes

from hipgraph_cb.abi.hip.enums import LaunchAttribute, NodeKind
from hipgraph_cb.virtual.hip.api.graph_nodes import node_of
from hipgraph_cb.virtual.hip.function_table import HANDLE, INT, POINTER, api
from hipgraph_cb.virtual.hip.native import load_bytes, require
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime

_OF_NODES = (LaunchAttribute.ACCESS_POLICY_WINDOW, LaunchAttribute.COOPERATIVE)
_OF_STREAMS = (LaunchAttribute.ACCESS_POLICY_WINDOW, LaunchAttribute.SYNCHRONIZATION_POLICY, LaunchAttribute.PRIORITY)
_SIZE = 64  # hipLaunchAttributeValue


def _tell(attributes: dict[int, bytes], attribute: int, out: int) -> None:
    ctypes.memmove(out, attributes.get(attribute, bytes(_SIZE)), _SIZE)


@api("hipGraphKernelNodeSetAttribute", HANDLE, INT, POINTER)
def graph_kernel_node_set_attribute(runtime: HipRuntime, handle: int, attribute: int, value: int) -> None:
    require(value and attribute in _OF_NODES)
    node_of(runtime, handle, NodeKind.KERNEL).attributes[attribute] = load_bytes(value, _SIZE)


@api("hipGraphKernelNodeGetAttribute", HANDLE, INT, POINTER)
def graph_kernel_node_get_attribute(runtime: HipRuntime, handle: int, attribute: int, out: int) -> None:
    require(out and attribute in _OF_NODES)
    _tell(node_of(runtime, handle, NodeKind.KERNEL).attributes, attribute, out)


@api("hipGraphKernelNodeCopyAttributes", HANDLE, HANDLE)
def graph_kernel_node_copy_attributes(runtime: HipRuntime, source: int, target: int) -> None:
    require(target)
    node = runtime.nodes[target]
    require(node.work.kind is NodeKind.KERNEL, runtime.profile.copied_attributes_of_other_nodes)
    node.attributes = dict(node_of(runtime, source, NodeKind.KERNEL).attributes)


@api("hipStreamSetAttribute", HANDLE, INT, POINTER)
def stream_set_attribute(runtime: HipRuntime, handle: int, attribute: int, value: int) -> None:
    require(value and attribute in _OF_STREAMS)
    runtime.stream(handle).attributes[attribute] = load_bytes(value, _SIZE)


@api("hipStreamGetAttribute", HANDLE, INT, POINTER)
def stream_get_attribute(runtime: HipRuntime, handle: int, attribute: int, out: int) -> None:
    require(out and attribute in _OF_STREAMS)
    _tell(runtime.stream(handle).attributes, attribute, out)


@api("hipStreamCopyAttributes", HANDLE, HANDLE)
def stream_copy_attributes(runtime: HipRuntime, target: int, source: int) -> None:
    runtime.stream(target).attributes = dict(runtime.stream(source).attributes)
