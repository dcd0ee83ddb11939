"""Edges between nodes: which are accepted, and what an error leaves behind."""

from __future__ import annotations

import pytest
from support.hip_callers import handles


@pytest.fixture
def add(hip, graph):
    """An empty node behind others."""

    def add_node(*dependencies, to=graph):
        return hip.done("hipGraphAddEmptyNode", to, handles(*dependencies) if dependencies else 0, len(dependencies))

    return add_node


@pytest.fixture
def other(hip):
    handle = hip.done("hipGraphCreate", 0)
    yield handle
    hip.hipGraphDestroy(handle)


def inside_a_child(hip, graph, add, other):
    """A node inside a child graph of `graph`."""
    add(to=other)
    child = hip.done("hipGraphAddChildGraphNode", graph, 0, 0, other)
    copy = hip.done("hipGraphChildGraphNodeGetGraph", child)
    return hip.done("hipGraphAddEmptyNode", copy, 0, 0)


BAD = {
    "twice": lambda hip, graph, add, other: (node := add(), node),
    "no handle": lambda hip, graph, add, other: (add(), 0x1234),
    "null": lambda hip, graph, add, other: (add(), 0),
    "of another graph": lambda hip, graph, add, other: (add(), add(to=other)),
    "inside a child graph": lambda hip, graph, add, other: (add(), inside_a_child(hip, graph, add, other)),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_dependency_is_refused_and_the_node_stays_with_the_edges_made_so_far(hip, graph, add, other, case):
    dependencies = BAD[case](hip, graph, add, other)
    count = hip.node_count(graph)[1]
    code, node = hip.hipGraphAddEmptyNode(graph, handles(*dependencies), 2)
    assert code == 1
    assert hip.node_count(graph) == (0, count + 1)
    assert hip.hipGraphRemoveDependencies(graph, handles(dependencies[0]), handles(node), 1)[0] == 0


def test_dependencies_need_a_list(hip, graph, add):
    add()
    assert hip.hipGraphAddEmptyNode(graph, 0, 1)[0] == 1
    assert hip.node_count(graph) == (0, 1)


def test_edges_between_nodes_that_exist(hip, graph, add, other):
    first, second, foreign = add(), add(), add(to=other)
    edge = handles(first), handles(second)
    assert hip.hipGraphAddDependencies(graph, *edge, 1)[0] == 0
    assert hip.hipGraphAddDependencies(graph, *edge, 1)[0] == 1
    assert hip.hipGraphAddDependencies(graph, handles(first), handles(first), 1)[0] == 1
    assert hip.hipGraphAddDependencies(graph, handles(first), handles(foreign), 1)[0] == 1
    assert hip.hipGraphAddDependencies(graph, 0, 0, 0)[0] == 0


def test_an_edge_is_removed_once(hip, graph, add):
    first = add()
    second = add(first)
    edge = handles(first), handles(second)
    assert [hip.hipGraphRemoveDependencies(graph, *edge, 1)[0] for _ in range(2)] == [0, 1]


def test_a_cycle_is_accepted_until_the_graph_is_asked_for_its_nodes(hip, graph, add):
    first = add()
    second = add(first)
    assert hip.hipGraphAddDependencies(graph, handles(second), handles(first), 1)[0] == 0
    assert hip.node_count(graph)[0] == 1
    code, _, error_node, log = hip.instantiate(graph)
    assert (code, error_node, log) == (1, 77, b"untouched")


def test_instantiating_a_cycle_gives_no_handle_in_7_2(hip, profile, graph, add):
    first = add()
    second = add(first)
    hip.done("hipGraphAddDependencies", graph, handles(second), handles(first), 1)
    code, executable = hip.hipGraphInstantiateWithFlags(graph, 0)
    assert code == 1
    if profile == "7.2":
        assert executable == 0


def test_a_node_is_destroyed_once(hip, graph, add):
    node = add()
    assert [hip.hipGraphDestroyNode(node)[0] for _ in range(2)] == [0, 1]
    assert hip.node_count(graph) == (0, 0)
