"""Graphs: what is copied when, what is accepted, and what a launch does."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from support.hip_program import code_of, done, handles


@pytest.fixture
def graph(hip):
    handle = done(hip.hipGraphCreate(0))
    yield handle
    hip.hipGraphDestroy(handle)


@pytest.fixture
def block(program):
    return program.upload(np.zeros(64, np.uint8))


def launch(hip, program, graph):
    executable = program.instantiate(graph)
    done(hip.hipGraphLaunch(executable, None))
    done(hip.hipDeviceSynchronize())
    return executable


def test_a_graph_has_no_flags(hip):
    assert code_of(hip.hipGraphCreate(1)) == 1


def test_a_graph_is_destroyed_once(hip):
    graph = done(hip.hipGraphCreate(0))
    assert [code_of(hip.hipGraphDestroy(each)) for each in (graph, graph, None)] == [0, 401, 1]


def test_an_empty_graph_can_be_launched(hip, program, graph):
    launch(hip, program, graph)


def test_nodes_run_in_the_order_of_their_edges(hip, program, graph, block):
    previous = None
    for value in range(1, 30):
        params = program.memset_params(block, value, 1, 64)
        before = (None, 0) if previous is None else (handles(previous), 1)
        previous = done(hip.hipGraphAddMemsetNode(graph, *before, params))
    launch(hip, program, graph)
    assert (program.download(block, 64, np.uint8) == 29).all()


def test_nodes_without_edges_run_in_an_arbitrary_order(hip, program, graph, block):
    for value in range(1, 30):
        done(hip.hipGraphAddMemsetNode(graph, None, 0, program.memset_params(block, value, 1, 1)))
    executable = program.instantiate(graph)
    last = set()
    for _ in range(20):
        done(hip.hipGraphLaunch(executable, None))
        last.add(int(program.download(block, 1, np.uint8)[0]))
    assert len(last) > 3


def test_kernel_arguments_are_copied_when_the_node_is_added(hip, program, graph):
    x, y = program.upload(np.ones(64, np.float32)), program.upload(np.zeros(64, np.float32))
    saxpy, arguments = program.function(), program.saxpy(y, x, 5.0, 64)
    done(hip.hipGraphAddKernelNode(graph, None, 0, program.kernel_params(saxpy, arguments)))
    arguments.values[2].value = 100.0
    launch(hip, program, graph)
    assert (program.download(y, 64) == 5).all()


def test_host_memory_is_read_at_each_launch(hip, program, graph, block):
    data = np.full(64, 1, np.uint8)
    kind = hip.hipMemcpyKind.hipMemcpyHostToDevice
    done(hip.hipGraphAddMemcpyNode1D(graph, None, 0, block, data, 64, kind))
    executable = program.instantiate(graph)
    for value in (7, 9):
        data[:] = value
        done(hip.hipGraphLaunch(executable, None))
        done(hip.hipDeviceSynchronize())
        assert (program.download(block, 64, np.uint8) == value).all()


def test_an_executable_graph_outlives_its_graph_and_ignores_its_changes(hip, program, block):
    graph = done(hip.hipGraphCreate(0))
    node = done(hip.hipGraphAddMemsetNode(graph, None, 0, program.memset_params(block, 3, 1, 64)))
    executable = program.instantiate(graph)
    done(hip.hipGraphMemsetNodeSetParams(node, program.memset_params(block, 4, 1, 64)))
    done(hip.hipGraphDestroy(graph))
    done(hip.hipGraphLaunch(executable, None))
    assert (program.download(block, 64, np.uint8) == 3).all()


def test_the_parameters_of_an_executable_graph_can_be_changed(hip, program, graph, block):
    fill = done(hip.hipGraphAddMemsetNode(graph, None, 0, program.memset_params(block, 3, 1, 64)))
    kind = hip.hipMemcpyKind.hipMemcpyDeviceToDevice
    copy = done(hip.hipGraphAddMemcpyNode1D(graph, handles(fill), 1, block + 32, block, 8, kind))
    executable = program.instantiate(graph)
    done(hip.hipGraphExecMemsetNodeSetParams(executable, fill, program.memset_params(block, 5, 1, 32)))
    done(hip.hipGraphExecMemcpyNodeSetParams1D(executable, copy, block + 40, block, 4, kind))
    done(hip.hipGraphLaunch(executable, None))
    assert program.download(block, 64, np.uint8).tolist() == [5] * 32 + [0] * 8 + [5] * 4 + [0] * 20


def test_a_node_of_another_graph_cannot_be_changed_in_an_executable_graph(hip, program, graph, block):
    executable = program.instantiate(graph)
    late = done(hip.hipGraphAddMemsetNode(graph, None, 0, program.memset_params(block, 3, 1, 64)))
    assert code_of(hip.hipGraphExecMemsetNodeSetParams(executable, late, program.memset_params(block))) == 1


def test_a_disabled_node_does_nothing_and_keeps_its_place(hip, program, graph, block):
    first = done(hip.hipGraphAddMemsetNode(graph, None, 0, program.memset_params(block, 1, 1, 64)))
    second = done(hip.hipGraphAddMemsetNode(graph, handles(first), 1, program.memset_params(block, 2, 1, 64)))
    done(hip.hipGraphAddMemsetNode(graph, handles(second), 1, program.memset_params(block, 3, 1, 8)))
    executable = program.instantiate(graph)
    done(hip.hipGraphNodeSetEnabled(executable, second, 0))
    assert done(hip.hipGraphNodeGetEnabled(executable, second)) == 0
    done(hip.hipGraphLaunch(executable, None))
    assert program.download(block, 64, np.uint8).tolist() == [3] * 8 + [1] * 56


def test_an_empty_node_cannot_be_disabled(hip, program, graph):
    empty = done(hip.hipGraphAddEmptyNode(graph, None, 0))
    executable = program.instantiate(graph)
    assert code_of(hip.hipGraphNodeSetEnabled(executable, empty, 0)) == 1


@pytest.mark.parametrize("case", ["twice", "junk", "other graph", "null list"])
def test_a_bad_dependency_is_refused_and_the_node_stays(hip, graph, case):
    other = done(hip.hipGraphCreate(0))
    node, foreign = done(hip.hipGraphAddEmptyNode(graph, None, 0)), done(hip.hipGraphAddEmptyNode(other, None, 0))
    dependencies = {
        "twice": (handles(node, node), 2),
        "junk": (handles(0x1234), 1),
        "other graph": (handles(foreign), 1),
        "null list": (None, 1),
    }[case]
    assert code_of(hip.hipGraphAddEmptyNode(graph, *dependencies)) == 1
    count = ctypes.c_size_t()
    library = ctypes.CDLL("libamdhip64.so")
    assert library.hipGraphGetNodes(ctypes.c_void_p(int(graph)), None, ctypes.byref(count)) == 0
    assert count.value == (1 if case == "null list" else 2)


def test_a_cycle_is_accepted_until_the_graph_is_used(hip, graph):
    first, second = (done(hip.hipGraphAddEmptyNode(graph, None, 0)) for _ in range(2))
    assert code_of(hip.hipGraphAddDependencies(graph, handles(first), handles(second), 1)) == 0
    assert code_of(hip.hipGraphAddDependencies(graph, handles(first), handles(second), 1)) == 1
    assert code_of(hip.hipGraphAddDependencies(graph, handles(first), handles(first), 1)) == 1
    assert code_of(hip.hipGraphAddDependencies(graph, handles(second), handles(first), 1)) == 0
    assert code_of(hip.hipGraphInstantiate(graph, 0)) == 1
    count = ctypes.c_size_t()
    assert ctypes.CDLL("libamdhip64.so").hipGraphGetNodes(ctypes.c_void_p(int(graph)), None, ctypes.byref(count)) == 1


def test_edges_can_be_removed_once(hip, graph):
    first = done(hip.hipGraphAddEmptyNode(graph, None, 0))
    second = done(hip.hipGraphAddEmptyNode(graph, handles(first), 1))
    assert code_of(hip.hipGraphRemoveDependencies(graph, handles(first), handles(second), 1)) == 0
    assert code_of(hip.hipGraphRemoveDependencies(graph, handles(first), handles(second), 1)) == 1


def test_a_node_is_destroyed_once(hip, graph):
    node = done(hip.hipGraphAddEmptyNode(graph, None, 0))
    assert [code_of(hip.hipGraphDestroyNode(node)) for _ in range(2)] == [0, 1]


MEMSET_CASES = [
    ("element size 3", {"element_size": 3, "width": 1}, 1),
    ("width 0", {"width": 0}, 1),
    ("height 0", {"height": 0}, 1),
    ("no address", {"address": 0}, 1),
    ("width in elements", {"element_size": 4, "width": 16}, 0),
    ("one element too many", {"element_size": 4, "width": 17}, 1),
    ("pitch ignored for one row", {"width": 8, "pitch": 4}, 0),
    ("pitch checked for one row all the same", {"width": 8, "pitch": 65}, 1),
    ("rows closer than they are wide", {"width": 8, "height": 2, "pitch": 4}, 1),
    ("rows without a pitch", {"width": 8, "height": 2, "pitch": 0}, 1),
    ("rows that fill the allocation", {"width": 8, "height": 8, "pitch": 8}, 0),
    ("rows beyond the allocation", {"width": 8, "height": 9, "pitch": 8}, 1),
]


@pytest.mark.parametrize("rule, changes, expected", MEMSET_CASES, ids=[case[0] for case in MEMSET_CASES])
def test_memset_nodes_are_checked_as_by_the_real_runtime(hip, program, graph, block, rule, changes, expected):
    params = program.memset_params(**{"address": block, **changes})
    assert code_of(hip.hipGraphAddMemsetNode(graph, None, 0, params)) == expected


def test_a_memset_value_is_cut_to_its_element(hip, program, graph, block):
    done(hip.hipGraphAddMemsetNode(graph, None, 0, program.memset_params(block + 1, 0x12345678, 1, 4)))
    done(hip.hipGraphAddMemsetNode(graph, None, 0, program.memset_params(block + 9, 0x12345678, 2, 2)))
    launch(hip, program, graph)
    written = program.download(block, 16, np.uint8).tobytes()
    assert written == bytes([0, *[0x78] * 4, 0, 0, 0, 0, *[0x78, 0x56] * 2, 0, 0, 0])


def test_rows_of_wide_elements_are_filled_exactly(hip, program, graph, block):
    params = program.memset_params(block, 0x01020304, 4, width=2, height=3, pitch=16)
    done(hip.hipGraphAddMemsetNode(graph, None, 0, params))
    launch(hip, program, graph)
    row = [4, 3, 2, 1] * 2 + [0] * 8
    assert program.download(block, 64, np.uint8).tolist() == row * 3 + [0] * 16


H2H, H2D, D2H, D2D, DEFAULT = range(5)


@pytest.mark.parametrize(
    "source, target, accepted",
    [
        ("device", "device", {H2H, H2D, D2H, D2D, DEFAULT}),
        ("pageable", "device", {H2D, DEFAULT}),
        ("device", "pageable", {D2H, DEFAULT}),
        ("pageable", "pageable", {H2H, DEFAULT}),
        ("pinned", "device", {H2H, H2D, D2H, D2D, DEFAULT}),
        ("pageable", "pinned", {H2D, DEFAULT}),
    ],
)
def test_a_memcpy_node_takes_the_directions_that_fit(hip, graph, source, target, accepted):
    def make(kind):
        if kind == "pageable":
            return np.zeros(16, np.uint8)
        return int(done(hip.hipMalloc(16) if kind == "device" else hip.hipHostMalloc(16, 0)))

    ends = make(target), make(source)
    codes = {k: code_of(hip.hipGraphAddMemcpyNode1D(graph, None, 0, *ends, 16, hip.hipMemcpyKind(k))) for k in range(5)}
    assert codes == {kind: 0 if kind in accepted else 1 for kind in range(5)}


def test_a_memcpy_node_of_nothing_or_beyond_the_end_is_refused(hip, graph, block):
    kind = hip.hipMemcpyKind.hipMemcpyDeviceToDevice
    codes = [
        code_of(hip.hipGraphAddMemcpyNode1D(graph, None, 0, *case, kind))
        for case in (
            (block, block, 0),
            (None, block, 4),
            (block + 60, block, 8),
            (block, block + 60, 8),
            (block, block, 8),
        )
    ]
    assert codes == [1, 1, 1, 1, 0]


def test_memory_that_was_freed_is_an_error_where_the_real_runtime_crashes(hip, program, graph, runtime):
    block = program.upload(np.zeros(8, np.uint8))
    done(hip.hipGraphAddMemsetNode(graph, None, 0, program.memset_params(block, 1, 1, 8)))
    done(hip.hipFree(block))
    assert code_of(hip.hipGraphInstantiate(graph, 0)) == 1
    assert "is not device memory any more" in runtime.fault_report()


def test_a_fault_in_a_graph_is_told_by_the_next_wait(hip, program, graph, runtime):
    saxpy = program.function()
    y = program.upload(np.zeros(64, np.float32))
    bad = done(hip.hipGraphAddKernelNode(graph, None, 0, program.kernel_params(saxpy, program.saxpy(y, 0x10, 1.0, 64))))
    done(hip.hipGraphAddMemsetNode(graph, handles(bad), 1, program.memset_params(y, 1, 1, 4)))
    executable = program.instantiate(graph)
    done(hip.hipGraphLaunch(executable, None))
    assert code_of(hip.hipDeviceSynchronize()) == 700
    assert "kernel saxpy: memory access fault: 16 bytes after the null pointer" in runtime.fault_report()
    assert code_of(hip.hipDeviceSynchronize()) == 0
    assert (program.download(y, 64) == 0).all()


def test_a_launch_does_not_see_parameters_that_are_set_after_it(hip, program, graph, block):
    node = done(hip.hipGraphAddMemsetNode(graph, None, 0, program.memset_params(block, 1, 1, 1)))
    second = done(hip.hipGraphCreate(0))
    copy_kind = hip.hipMemcpyKind.hipMemcpyDeviceToDevice
    executable = program.instantiate(graph)
    stream = done(hip.hipStreamCreate())
    for value in range(1, 20):
        done(hip.hipGraphExecMemsetNodeSetParams(executable, node, program.memset_params(block, value, 1, 1)))
        done(hip.hipGraphLaunch(executable, stream))
        done(hip.hipMemcpyDtoDAsync(block + value, block, 1, stream))
    done(hip.hipStreamSynchronize(stream))
    assert program.download(block, 20, np.uint8).tolist() == [19, *range(1, 20)]
    del second, copy_kind


def test_instantiation_flags_are_those_that_exist(hip, graph):
    assert [code_of(hip.hipGraphInstantiateWithFlags(graph, flags)) for flags in (0, 1, 8, 2, 4, 16)] == [
        0,
        0,
        0,
        1,
        1,
        1,
    ]


def test_a_child_graph_is_cloned_when_it_is_added(hip, program, graph, block):
    child = done(hip.hipGraphCreate(0))
    done(hip.hipGraphAddMemsetNode(child, None, 0, program.memset_params(block, 1, 1, 8)))
    before = done(hip.hipGraphAddMemsetNode(graph, None, 0, program.memset_params(block, 9, 1, 64)))
    node = done(hip.hipGraphAddChildGraphNode(graph, handles(before), 1, child))
    after = program.memset_params(block, 5, 1, 4)
    done(hip.hipGraphAddMemsetNode(graph, handles(node), 1, after))
    done(hip.hipGraphAddMemsetNode(child, None, 0, program.memset_params(block, 7, 1, 64)))
    launch(hip, program, graph)
    assert program.download(block, 64, np.uint8).tolist() == [5] * 4 + [1] * 4 + [9] * 56
    assert int(done(hip.hipGraphChildGraphNodeGetGraph(node))) != int(child)


def test_a_clone_is_independent_and_its_nodes_are_found(hip, program, graph, block):
    node = done(hip.hipGraphAddMemsetNode(graph, None, 0, program.memset_params(block, 1, 1, 8)))
    clone = done(hip.hipGraphClone(graph))
    twin = done(hip.hipGraphNodeFindInClone(node, clone))
    assert int(twin) != int(node)
    done(hip.hipGraphMemsetNodeSetParams(twin, program.memset_params(block, 2, 1, 8)))
    launch(hip, program, clone)
    assert (program.download(block, 8, np.uint8) == 2).all()
