"""hipGraphDebugDotPrint: shapes, labels and flags."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pydot
import pytest
from support.hip_callers import handles

H2D = 1
FLAGS = (0, 1, 3, 4, 8, 0x10, 0x20, 0x200)


@pytest.fixture
def printed(hip, tmp_path):
    def print_graph(graph, flags=0):
        path = tmp_path / f"graph{flags}.dot"
        hip.done("hipGraphDebugDotPrint", graph, str(path).encode(), flags)
        return path.read_text()

    return print_graph


@pytest.fixture
def one_of_each(hip, graph, block, saxpy, arguments, params):
    data = np.zeros(64, np.uint8)
    copy = hip.done("hipGraphAddMemcpyNode1D", graph, 0, 0, block, data, 64, H2D)
    fill = hip.done("hipGraphAddMemsetNode", graph, 0, 0, params.memset(block, 3, 4, 16))
    kernel = hip.done("hipGraphAddKernelNode", graph, handles(copy, fill), 2, params.kernel(saxpy, arguments()))
    hip.done("hipGraphAddEmptyNode", graph, handles(kernel), 1)
    return graph


def test_each_kind_has_its_shape_and_label(one_of_each, printed):
    text = printed(one_of_each)
    assert re.match(r'digraph dot \{\s*subgraph cluster_\d+ \{\s*label="graph_\d+"graph\[style="dashed"\];', text)
    nodes = re.findall(r'"graph_\d+_node_\d+"\[style="(\w+)"shape="(\w+)"label="\d+\\n(.*?)"\];', text)
    assert nodes == [
        ("solid", "trapezium", r"MEMCPY\n(HtoD,64)"),
        ("solid", "invtrapezium", r"MEMSET\n(3,64)"),
        ("bold", "octagon", "saxpy"),
        ("solid", "rectangle", "EMPTY"),
    ]


def test_the_output_is_dot_whatever_the_flags(one_of_each, printed):
    """AMD's output for 4 and 0x200 lacks a quotation mark; that is not copied."""
    for text in {printed(one_of_each, flags) for flags in FLAGS}:
        (parsed,) = pydot.graph_from_dot_data(text)
        (cluster,) = parsed.get_subgraphs()
        assert len(cluster.get_edges()) == 3


def test_flags_are_compared_as_a_whole(one_of_each, printed):
    assert printed(one_of_each, 3) == printed(one_of_each, 0) != printed(one_of_each, 1)


@pytest.mark.parametrize(
    "flags, detail",
    [
        (4, "grid (1, 1, 1), block (64, 1, 1), 0 bytes of LDS"),
        (8, " to 0x"),
        (0x10, ", 1 rows of 16 x 4, pitch 0"),
        (0x20, "0x1000 with 0x2a"),
        (0x200, "attribute 2: 01000000"),
    ],
)
def test_a_flag_adds_details_of_one_kind_and_the_verbose_flag_of_all(hip, one_of_each, printed, flags, detail):
    from support.hip_callers import structure

    from hipgraph_cb.abi.hip.structures import HostNodeParams

    hip.done("hipGraphAddHostNode", one_of_each, 0, 0, structure(HostNodeParams, fn=0x1000, userData=0x2A))
    kernel = _kernel_of(hip, one_of_each)
    assert hip.library.hipGraphKernelNodeSetAttribute(ctypes.c_size_t(kernel), 2, (ctypes.c_int * 16)(1)) == 0
    found = {each: detail in printed(one_of_each, each) for each in (0, *FLAGS)}
    assert found == {each: each in (1, flags) for each in (0, *FLAGS)}


def _kernel_of(hip, graph):
    nodes, count = (ctypes.c_size_t * 8)(), ctypes.c_size_t(8)
    assert hip.library.hipGraphGetNodes(ctypes.c_size_t(graph), nodes, ctypes.byref(count)) == 0
    return next(node for node in nodes[: count.value] if hip.done("hipGraphNodeGetType", node) == 0)


def test_a_child_graph_is_a_cluster_of_its_own(hip, graph, block, params, printed):
    child = hip.done("hipGraphCreate", 0)
    hip.done("hipGraphAddMemsetNode", child, 0, 0, params.memset(block))
    hip.done("hipGraphAddChildGraphNode", graph, 0, 0, child)
    (parsed,) = pydot.graph_from_dot_data(printed(graph))
    assert len(parsed.get_subgraphs()) == 2
    assert not any(cluster.get_edges() for cluster in parsed.get_subgraphs())
    hip.done("hipGraphDestroy", child)


def test_a_path_that_cannot_be_written(hip, graph):
    assert hip.hipGraphDebugDotPrint(graph, b"/no/such/folder/graph.dot", 0)[0] == 304
