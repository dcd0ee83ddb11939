"""Graphs, executable graphs, clones and child graphs: how long they live, and what is a copy."""

from __future__ import annotations

import pytest
from support.hip_callers import handles


@pytest.fixture
def fill(hip, block, params):
    """A node that fills the first bytes of the block."""

    def add(graph, value, size=8):
        return hip.done("hipGraphAddMemsetNode", graph, 0, 0, params.memset(block, value, 1, size))

    return add


@pytest.fixture
def instantiate(hip):
    made = []

    def make(graph, flags=0):
        made.append(hip.done("hipGraphInstantiateWithFlags", graph, flags))
        return made[-1]

    yield make
    for executable in made:
        hip.hipGraphExecDestroy(executable)


def test_a_graph_has_no_flags(hip):
    assert hip.hipGraphCreate(1)[0] == 1


def test_a_graph_is_destroyed_once(hip):
    graph = hip.done("hipGraphCreate", 0)
    assert [hip.hipGraphDestroy(each)[0] for each in (graph, graph, 0)] == [0, 401, 1]


def test_an_empty_graph_can_be_launched(graph, run):
    assert run(graph)


def test_an_executable_graph_outlives_its_graph(hip, block, read, fill, instantiate):
    graph = hip.done("hipGraphCreate", 0)
    fill(graph, 3)
    executable = instantiate(graph)
    hip.done("hipGraphDestroy", graph)
    hip.done("hipGraphLaunch", executable, 0)
    assert read(block, 8) == [3] * 8


def test_an_executable_graph_ignores_changes_of_its_graph(hip, graph, block, read, params, fill, instantiate):
    node = fill(graph, 3)
    executable = instantiate(graph)
    hip.done("hipGraphMemsetNodeSetParams", node, params.memset(block, 4, 1, 8))
    hip.done("hipGraphLaunch", executable, 0)
    assert read(block, 8) == [3] * 8


def test_an_executable_graph_is_destroyed_while_it_runs(hip, graph, block, read, fill):
    fill(graph, 3)
    executable = hip.done("hipGraphInstantiateWithFlags", graph, 0)
    for _ in range(5):
        hip.done("hipGraphLaunch", executable, 0)
    assert hip.hipGraphExecDestroy(executable)[0] == 0
    assert read(block, 8) == [3] * 8
    assert hip.hipGraphLaunch(executable, 0)[0] == 1


@pytest.mark.parametrize("flags, expected", [(0, 0), (1, 0), (8, 0), (2, 1), (4, 1), (16, 1)])
def test_the_flags_of_an_instantiation(hip, graph, flags, expected):
    code, executable = hip.hipGraphInstantiateWithFlags(graph, flags)
    assert code == expected
    if not expected:
        assert hip.done("hipGraphExecGetFlags", executable) == flags
        hip.done("hipGraphExecDestroy", executable)


def test_an_upload_checks_its_handles_only(hip, graph, block, read, fill, instantiate):
    fill(graph, 3)
    executable = instantiate(graph)
    assert hip.hipGraphUpload(executable, 0)[0] == 0
    assert hip.hipGraphUpload(0, 0)[0] == 1
    assert read(block, 8) == [0] * 8


def test_an_empty_graph_on_a_stream_that_is_none(hip, profile, graph, instantiate):
    assert hip.hipGraphLaunch(instantiate(graph), 0x1234)[0] == {"6.4": 0, "7.2": 709}[profile]


def test_a_child_graph_is_cloned_when_it_is_added(hip, graph, block, read, fill, run):
    child = hip.done("hipGraphCreate", 0)
    fill(child, 1)
    node = hip.done("hipGraphAddChildGraphNode", graph, 0, 0, child)
    fill(child, 9, 64)
    assert hip.done("hipGraphChildGraphNodeGetGraph", node) not in (0, child)
    run(graph)
    assert read(block, 16) == [1] * 8 + [0] * 8
    hip.done("hipGraphDestroy", child)


def test_a_graph_may_be_its_own_child(hip, graph, block, read, fill, run):
    fill(graph, 1)
    hip.done("hipGraphAddChildGraphNode", graph, 0, 0, graph)
    run(graph)
    assert read(block, 8) == [1] * 8
    assert hip.node_count(graph) == (0, 2)


def test_a_clone_is_independent_and_its_nodes_are_found(hip, graph, block, read, params, fill, run):
    node = fill(graph, 1)
    clone = hip.done("hipGraphClone", graph)
    twin = hip.done("hipGraphNodeFindInClone", node, clone)
    assert twin not in (0, node)
    assert hip.hipGraphNodeFindInClone(twin, clone)[0] == 1
    hip.done("hipGraphMemsetNodeSetParams", twin, params.memset(block, 2, 1, 8))
    run(clone)
    assert read(block, 8) == [2] * 8
    run(graph)
    assert read(block, 8) == [1] * 8
    hip.done("hipGraphDestroy", clone)


def test_a_long_chain_is_no_problem(hip, graph, block, read, params, run):
    previous = None
    node_params = params.memset(block, 5, 1, 8)
    for _ in range(1000):
        before = (0, 0) if previous is None else (handles(previous), 1)
        previous = hip.done("hipGraphAddMemsetNode", graph, *before, node_params)
    run(graph)
    assert read(block, 8) == [5] * 8
