"""Parameters that nodes tell, updates of executable graphs, and the DOT print."""

from __future__ import annotations

import ctypes

import numpy as np
import pydot
import pytest
from support.hip_program import code_of, done, handles

from hipgraph_cb.virtual.hip.structures import KernelNodeParams


@pytest.fixture
def library(runtime):
    return ctypes.CDLL("libamdhip64.so")


@pytest.fixture
def block(program):
    return program.upload(np.zeros(64, np.uint8))


def handle(thing):
    return ctypes.c_void_p(int(thing))


def test_a_kernel_node_tells_its_own_copies_of_the_arguments(hip, library, program):
    graph, saxpy = done(hip.hipGraphCreate(0)), program.function()
    arguments = program.saxpy(0x1000, 0x2000, 5.0, 64)
    params = program.kernel_params(saxpy, arguments, (3, 2, 1), (16, 4, 1), 128)
    node = done(hip.hipGraphAddKernelNode(graph, None, 0, params))
    arguments.values[2].value = 7.0
    told = KernelNodeParams()
    assert library.hipGraphKernelNodeGetParams(handle(node), ctypes.byref(told)) == 0
    assert (told.gridDim.values, told.blockDim.values, told.sharedMemBytes) == ((3, 2, 1), (16, 4, 1), 128)
    assert (told.func, told.extra) == (int(saxpy), 0)
    table = (ctypes.c_size_t * 4).from_address(told.kernelParams)
    assert ctypes.c_size_t.from_address(table[0]).value == 0x1000
    assert ctypes.c_float.from_address(table[2]).value == 5.0


def test_an_update_takes_the_parameters_of_a_graph_of_the_same_form(hip, library, program, block):
    def graph_that_fills(value):
        graph = done(hip.hipGraphCreate(0))
        first = done(hip.hipGraphAddMemsetNode(graph, None, 0, program.memset_params(block, value, 1, 8)))
        done(hip.hipGraphAddEmptyNode(graph, handles(first), 1))
        return graph

    executable = program.instantiate(graph_that_fills(1))
    assert update(library, executable, graph_that_fills(6)) == (0, 0, True)
    done(hip.hipGraphLaunch(executable, None))
    assert (program.download(block, 8, np.uint8) == 6).all()


def update(library, executable, graph):
    """Result code, update result, and whether no node is blamed."""
    node, result = ctypes.c_void_p(1), ctypes.c_int(-1)
    code = library.hipGraphExecUpdate(handle(executable), handle(graph), ctypes.byref(node), ctypes.byref(result))
    return code, result.value, node.value is None


def test_an_update_of_another_form_is_refused(hip, library, program, block):
    graph, other = done(hip.hipGraphCreate(0)), done(hip.hipGraphCreate(0))
    first = done(hip.hipGraphAddEmptyNode(graph, None, 0))
    done(hip.hipGraphAddEmptyNode(graph, handles(first), 1))
    executable = program.instantiate(graph)
    root = done(hip.hipGraphAddEmptyNode(other, None, 0))
    assert update(library, executable, other) == (910, 2, True)
    fill = done(hip.hipGraphAddMemsetNode(other, None, 0, program.memset_params(block, 1, 1, 8)))
    assert update(library, executable, other) == (910, 2, False)
    done(hip.hipGraphAddDependencies(other, handles(root), handles(fill), 1))
    assert update(library, executable, other) == (910, 3, False)
    assert library.hipGraphExecUpdate(handle(executable), handle(graph), None, None) == 1


def test_the_dot_print_is_valid_and_names_nodes_and_edges(hip, program, block, tmp_path):
    graph, saxpy = done(hip.hipGraphCreate(0)), program.function()
    host = np.zeros(64, np.uint8)
    kind = hip.hipMemcpyKind.hipMemcpyHostToDevice
    copy = done(hip.hipGraphAddMemcpyNode1D(graph, None, 0, block, host, 64, kind))
    fill = done(hip.hipGraphAddMemsetNode(graph, None, 0, program.memset_params(block, 3, 4, 16)))
    params = program.kernel_params(saxpy, program.saxpy(block, block, 1.0, 1))
    done(hip.hipGraphAddKernelNode(graph, handles(copy, fill), 2, params))
    for flags in (0, 1, 4):
        path = tmp_path / f"graph{flags}.dot"
        done(hip.hipGraphDebugDotPrint(graph, str(path).encode(), flags))
        (parsed,) = pydot.graph_from_dot_file(path)
        (cluster,) = parsed.get_subgraphs()
        shapes = [node.get_shape().strip('"') for node in cluster.get_nodes() if node.get_shape()]
        assert shapes == ["trapezium", "invtrapezium", "octagon"]
        assert len(cluster.get_edges()) == 2
    text = (tmp_path / "graph0.dot").read_text()
    assert r'label="0\nMEMCPY\n(HtoD,64)"' in text
    assert r'label="1\nMEMSET\n(3,64)"' in text
    assert r'label="2\nsaxpy"' in text


def test_a_path_that_cannot_be_written_is_said(hip):
    graph = done(hip.hipGraphCreate(0))
    assert code_of(hip.hipGraphDebugDotPrint(graph, b"/no/such/folder/x.dot", 0)) == 304


def test_an_event_record_node_records_at_launch(hip, program, block):
    graph, event = done(hip.hipGraphCreate(0)), done(hip.hipEventCreate())
    done(hip.hipGraphAddEventRecordNode(graph, None, 0, event))
    executable = program.instantiate(graph)
    assert code_of(hip.hipEventElapsedTime(event, event)) == 400
    done(hip.hipGraphLaunch(executable, None))
    done(hip.hipDeviceSynchronize())
    assert hip.hipEventElapsedTime(event, event) == (0, 0.0)


def test_a_host_node_calls_its_function(hip, library, program):
    seen = []
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(seen.append)
    graph, params = done(hip.hipGraphCreate(0)), (ctypes.c_void_p * 2)(ctypes.cast(function, ctypes.c_void_p), 42)
    node = ctypes.c_void_p()
    assert library.hipGraphAddHostNode(ctypes.byref(node), handle(graph), None, ctypes.c_size_t(0), params) == 0
    executable = program.instantiate(graph)
    for _ in range(3):
        done(hip.hipGraphLaunch(executable, None))
    done(hip.hipDeviceSynchronize())
    assert seen == [42, 42, 42]
