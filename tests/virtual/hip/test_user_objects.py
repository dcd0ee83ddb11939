"""User objects end when the last graph that holds them does."""

from __future__ import annotations

import ctypes

import pytest


@pytest.fixture
def ended():
    """A list of what was ended, and the function that ends."""
    seen = []
    return seen, ctypes.CFUNCTYPE(None, ctypes.c_void_p)(seen.append)


def create(raw, ended, holders=1):
    return raw.made("hipUserObjectCreate", 42, ctypes.cast(ended[1], ctypes.c_void_p).value, holders, 1)


def test_the_last_release_calls_the_function(raw, ended):
    thing = create(raw, ended, 2)
    assert raw.hipUserObjectRetain(thing, 1) == 0
    assert raw.hipUserObjectRelease(thing, 2) == 0
    assert ended[0] == []
    assert raw.hipUserObjectRelease(thing, 2) == 0
    assert ended[0] == []
    assert raw.hipUserObjectRelease(thing, 1) == 0
    assert ended[0] == [42]
    assert raw.hipUserObjectRelease(thing, 1) == raw.hipUserObjectRetain(thing, 1) == 0
    assert ended[0] == [42]


def test_graphs_clones_and_executable_graphs_hold_it(raw, ended):
    thing, graph = create(raw, ended), raw.made("hipGraphCreate", 0)
    assert raw.hipGraphRetainUserObject(graph, thing, 1, 1) == 0
    clone = raw.made("hipGraphClone", graph)
    executable = raw.made("hipGraphInstantiateWithFlags", graph, 0)
    assert raw.hipGraphLaunch(executable, 0) == 0
    assert raw.hipGraphDestroy(graph) == 0
    assert raw.hipGraphDestroy(clone) == 0
    assert ended[0] == []
    assert raw.hipGraphExecDestroy(executable) == 0
    assert ended[0] == [42]


def test_a_graph_may_hold_it_besides_its_maker_and_let_it_go(raw, ended):
    thing, graph = create(raw, ended), raw.made("hipGraphCreate", 0)
    assert raw.hipGraphRetainUserObject(graph, thing, 2, 0) == 0
    assert raw.hipGraphReleaseUserObject(graph, thing, 3) == 0
    assert raw.hipGraphReleaseUserObject(graph, thing, 1) == 0
    assert raw.hipUserObjectRelease(thing, 1) == 0
    assert ended[0] == []
    assert raw.hipGraphReleaseUserObject(graph, thing, 1) == 0
    assert ended[0] == [42]
    assert raw.hipGraphDestroy(graph) == 0


def test_a_graph_inside_holds_it_too(raw, ended):
    thing, child, graph = create(raw, ended), raw.made("hipGraphCreate", 0), raw.made("hipGraphCreate", 0)
    assert raw.hipGraphRetainUserObject(child, thing, 1, 1) == 0
    raw.made("hipGraphAddChildGraphNode", graph, 0, 0, child)
    assert raw.hipGraphDestroy(child) == 0
    assert ended[0] == []
    assert raw.hipGraphDestroy(graph) == 0
    assert ended[0] == [42]


def test_arguments_are_checked(raw, ended):
    out, function = ctypes.c_size_t(), ctypes.cast(ended[1], ctypes.c_void_p).value
    for bad in ((42, 0, 1, 1), (42, function, 0, 1), (42, function, 1, 0)):
        assert raw.hipUserObjectCreate(out, *bad) == 1
    assert raw.hipUserObjectRetain(0, 1) == raw.hipUserObjectRelease(0, 1) == 1
    assert raw.hipUserObjectCreate(out, 0, function, 1, 1) == 0
    assert raw.hipUserObjectRelease(out.value, 1) == 0
    assert ended[0] == [None]


def test_a_graph_may_hold_it_as_often_as_an_int_counts(raw, ended):
    thing, graph = create(raw, ended), raw.made("hipGraphCreate", 0)
    assert raw.hipGraphRetainUserObject(graph, thing, (1 << 31) - 1, 0) == 0
    executable = raw.made("hipGraphInstantiateWithFlags", graph, 0)
    assert raw.hipUserObjectRelease(thing, 1) == raw.hipGraphDestroy(graph) == 0
    assert ended[0] == []
    assert raw.hipGraphExecDestroy(executable) == 0
    assert ended[0] == [42]
