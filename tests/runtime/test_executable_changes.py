"""Changing executable graphs: by node, by switching nodes off, and by another graph."""

from __future__ import annotations

import numpy as np
import pytest
from support.hip_callers import handles

H2D, D2D = 1, 3


@pytest.fixture
def executable_of(hip):
    made = []

    def make(graph):
        made.append(hip.done("hipGraphInstantiateWithFlags", graph, 0))
        return made[-1]

    yield make
    for executable in made:
        hip.hipGraphExecDestroy(executable)


@pytest.fixture
def other(hip):
    handle = hip.done("hipGraphCreate", 0)
    yield handle
    hip.hipGraphDestroy(handle)


def test_nodes_it_was_not_made_of_cannot_be_changed(hip, graph, other, block, params, executable_of):
    executable = executable_of(graph)
    late = hip.done("hipGraphAddMemsetNode", graph, 0, 0, params.memset(block))
    foreign = hip.done("hipGraphAddMemsetNode", other, 0, 0, params.memset(block))
    for node in (late, foreign, 0):
        assert hip.hipGraphExecMemsetNodeSetParams(executable, node, params.memset(block))[0] == 1


def test_a_kernel_node_may_get_another_shape_and_another_function(hip, graph, module, saxpy, arguments, params):
    node = hip.done("hipGraphAddKernelNode", graph, 0, 0, params.kernel(saxpy, arguments()))
    executable = hip.done("hipGraphInstantiateWithFlags", graph, 0)
    shape = {"grid": (3, 1, 1), "block": (128, 1, 1)}
    assert hip.hipGraphExecKernelNodeSetParams(executable, node, params.kernel(saxpy, arguments(), **shape))[0] == 0
    another = hip.done("hipModuleGetFunction", module, b"vexp")
    assert hip.hipGraphExecKernelNodeSetParams(executable, node, params.kernel(another, arguments()))[0] == 0
    hip.done("hipGraphExecDestroy", executable)


def test_a_row_may_change_its_size_and_rows_may_not(hip, graph, block, params, executable_of):
    row = hip.done("hipGraphAddMemsetNode", graph, 0, 0, params.memset(block, 1, 1, 32))
    rows = hip.done("hipGraphAddMemsetNode", graph, 0, 0, params.memset(block, 1, 1, 8, height=4, pitch=16))
    executable = executable_of(graph)
    codes = [
        hip.hipGraphExecMemsetNodeSetParams(executable, row, params.memset(block, 1, 1, width))[0]
        for width in (8, 64, 65)
    ]
    assert codes == [0, 0, 1]
    for changes, expected in (({"value": 9}, 0), ({"width": 4}, 1), ({"height": 3}, 1)):
        shape = {"width": 8, "height": 4, "pitch": 16, **changes}
        assert hip.hipGraphExecMemsetNodeSetParams(executable, rows, params.memset(block, **shape))[0] == expected


def test_a_copy_keeps_its_kind(hip, graph, block, executable_of):
    node = hip.done("hipGraphAddMemcpyNode1D", graph, 0, 0, block, block + 8, 8, D2D)
    executable = executable_of(graph)
    assert hip.hipGraphExecMemcpyNodeSetParams1D(executable, node, block + 16, block, 4, D2D)[0] == 0
    for kind in (H2D, 4, 0):
        assert hip.hipGraphExecMemcpyNodeSetParams1D(executable, node, block + 16, block, 4, kind)[0] == 1


def test_a_node_that_is_switched_off_is_skipped_and_keeps_its_place(hip, graph, block, read, params, executable_of):
    nodes = []
    for value in (1, 2, 3):
        before = (handles(*nodes[-1:]), 1) if nodes else (0, 0)
        nodes.append(hip.done("hipGraphAddMemsetNode", graph, *before, params.memset(block, value, 1, 4 * value)))
    executable = executable_of(graph)
    for switched, expected in ((0, [1] * 4 + [0] * 8), (1, [2] * 8 + [0] * 4)):
        hip.done("hipMemset", block, 0, 64)
        hip.done("hipGraphNodeSetEnabled", executable, nodes[2], 0)
        hip.done("hipGraphNodeSetEnabled", executable, nodes[1], switched)
        assert hip.done("hipGraphNodeGetEnabled", executable, nodes[1]) == switched
        hip.done("hipGraphLaunch", executable, 0)
        assert read(block, 12) == expected


def test_a_kernel_node_that_is_changed_while_it_is_off_is_lost_in_7_until_it_is_changed_while_it_is_on(
    hip, graph, block, read, saxpy, arguments, params, executable_of, profile
):
    hip.done("hipMemcpyHtoD", block + 32, np.ones(1, np.float32), 4)
    once = params.kernel(saxpy, arguments(block, block + 32, 1.0, 1))
    node = hip.done("hipGraphAddKernelNode", graph, 0, 0, once)
    executable = executable_of(graph)

    def launches_until_now():
        """Each adds 1 to the first number."""
        hip.done("hipGraphLaunch", executable, 0)
        return np.array(read(block, 4), np.uint8).view(np.float32)[0]

    hip.done("hipGraphNodeSetEnabled", executable, node, 0)
    hip.done("hipGraphExecKernelNodeSetParams", executable, node, once)
    hip.done("hipGraphNodeSetEnabled", executable, node, 1)
    assert launches_until_now() == (1 if profile == "6.4" else 0)
    hip.done("hipGraphExecKernelNodeSetParams", executable, node, once)
    assert launches_until_now() == (2 if profile == "6.4" else 1)


def test_only_kernels_copies_and_fills_can_be_switched_off(hip, graph, block, saxpy, arguments, params, executable_of):
    nodes = [
        hip.done("hipGraphAddKernelNode", graph, 0, 0, params.kernel(saxpy, arguments())),
        hip.done("hipGraphAddMemcpyNode1D", graph, 0, 0, block, block + 8, 8, D2D),
        hip.done("hipGraphAddMemsetNode", graph, 0, 0, params.memset(block)),
        hip.done("hipGraphAddEmptyNode", graph, 0, 0),
        hip.done("hipGraphAddEventRecordNode", graph, 0, 0, hip.done("hipEventCreate")),
    ]
    executable = executable_of(graph)
    assert [hip.hipGraphNodeSetEnabled(executable, node, 0)[0] for node in nodes] == [0, 0, 0, 1, 1]


SUCCESS, TOPOLOGY_CHANGED, NODE_TYPE_CHANGED, PARAMETERS_CHANGED = 0, 2, 3, 5
UNTOUCHED = 77  # what the caller put where the node that is blamed goes


def two_nodes(hip, graph, params, block, value=1, connected=True):
    first = hip.done("hipGraphAddMemsetNode", graph, 0, 0, params.memset(block, value, 1, 8))
    before = (handles(first), 1) if connected else (0, 0)
    return first, hip.done("hipGraphAddEmptyNode", graph, *before)


def test_an_update_takes_over_the_parameters(hip, graph, other, block, read, params, executable_of):
    two_nodes(hip, graph, params, block, 1)
    two_nodes(hip, other, params, block, 6)
    executable = executable_of(graph)
    assert hip.update(executable, other) == (0, SUCCESS, UNTOUCHED)
    hip.done("hipGraphLaunch", executable, 0)
    assert read(block, 8) == [6] * 8


def test_an_update_takes_over_another_kernel(hip, graph, other, module, saxpy, arguments, params, executable_of):
    hip.done("hipGraphAddKernelNode", graph, 0, 0, params.kernel(saxpy, arguments()))
    another = hip.done("hipModuleGetFunction", module, b"vexp")
    hip.done("hipGraphAddKernelNode", other, 0, 0, params.kernel(another, arguments()))
    assert hip.update(executable_of(graph), other) == (0, SUCCESS, UNTOUCHED)


def test_an_update_by_a_graph_with_more_nodes_blames_none(hip, graph, other, block, params, executable_of):
    two_nodes(hip, graph, params, block)
    two_nodes(hip, other, params, block)
    hip.done("hipGraphAddEmptyNode", other, 0, 0)
    assert hip.update(executable_of(graph), other) == (910, TOPOLOGY_CHANGED, 0)


def test_an_update_by_a_graph_with_other_edges_is_refused(hip, graph, other, block, params, executable_of):
    two_nodes(hip, graph, params, block)
    two_nodes(hip, other, params, block, connected=False)
    code, reason, node = hip.update(executable_of(graph), other)
    assert (code, reason) == (910, TOPOLOGY_CHANGED)
    assert node != 77


def test_an_update_by_a_graph_of_other_kinds_of_nodes_blames_the_node(hip, graph, other, block, params, executable_of):
    hip.done("hipGraphAddEmptyNode", graph, 0, 0)
    node = hip.done("hipGraphAddMemsetNode", other, 0, 0, params.memset(block))
    assert hip.update(executable_of(graph), other) == (910, NODE_TYPE_CHANGED, node)


def test_an_update_keeps_the_size_of_rows(hip, graph, other, block, params, executable_of):
    hip.done("hipGraphAddMemsetNode", graph, 0, 0, params.memset(block, 1, 1, 4))
    node = hip.done("hipGraphAddMemsetNode", other, 0, 0, params.memset(block, 1, 1, 8, height=2, pitch=32))
    assert hip.update(executable_of(graph), other) == (910, PARAMETERS_CHANGED, node)


def test_an_update_keeps_the_direction_of_a_copy(hip, graph, other, block, executable_of):
    hip.done("hipGraphAddMemcpyNode1D", graph, 0, 0, block, block + 8, 8, D2D)
    node = hip.done("hipGraphAddMemcpyNode1D", other, 0, 0, block, block + 8, 8, H2D)
    assert hip.update(executable_of(graph), other) == (910, PARAMETERS_CHANGED, node)


def test_a_copy_onto_itself_can_be_made_and_not_set(hip, graph, block):
    node = hip.done("hipGraphAddMemcpyNode1D", graph, 0, 0, block, block, 8, D2D)
    assert hip.hipGraphMemcpyNodeSetParams1D(node, block, block, 8, D2D)[0] == 1


def test_a_node_that_was_destroyed_cannot_be_switched(hip, graph, block, params, executable_of):
    node = hip.done("hipGraphAddMemsetNode", graph, 0, 0, params.memset(block))
    executable = executable_of(graph)
    hip.done("hipGraphDestroyNode", node)
    assert hip.hipGraphNodeSetEnabled(executable, node, 0)[0] == 1
    assert hip.hipGraphNodeGetEnabled(executable, node)[0] == 1


def test_an_update_compares_the_number_of_dependencies_only(hip, graph, other, executable_of):
    """A diamond's end may depend on other nodes than before, if on as many."""
    for target, behind in ((graph, (0, 1)), (other, (1, 2))):
        nodes = [hip.done("hipGraphAddEmptyNode", target, 0, 0) for _ in range(3)]
        hip.done("hipGraphAddEmptyNode", target, handles(*[nodes[place] for place in behind]), 2)
    assert hip.update(executable_of(graph), other) == (0, SUCCESS, UNTOUCHED)


def test_an_update_needs_room_for_its_answers(hip, graph, executable_of):
    executable = executable_of(graph)
    import ctypes

    arguments = [ctypes.c_size_t(executable), ctypes.c_size_t(graph)]
    node, reason = ctypes.c_size_t(), ctypes.c_int()
    assert hip.library.hipGraphExecUpdate(*arguments, None, ctypes.byref(reason)) == 1
    assert hip.library.hipGraphExecUpdate(*arguments, ctypes.byref(node), None) == 1
