"""How many graphs a program becomes, what a rebind costs, and what is released."""

import pytest
from support.collection import collect

from hipgraph_cb import Slot
from hipgraph_cb.errors import DeadlineExceededError, HipError


@pytest.fixture
def executable(device, code_object):
    return device.load(code_object)


def indirect(cb, executable, counts, target, label=None):
    cb.dispatch_indirect(executable["workgroup_ids"], counts, args=[target], label=label)


def instantiated(counting):
    return counting.calls.count("hipGraphInstantiate")


def test_indirect_dispatches_cut_a_recording_and_those_that_do_not_wait_share_a_cut(counting, device, executable):
    x, counts = device.allocate(64), device.from_host(bytes([1, 0, 0, 0] * 3))
    counting.calls.clear()
    with device.command_buffer() as cb:
        cb.fill_buffer(x, 1)
        indirect(cb, executable, counts, x)
        indirect(cb, executable, counts, x)
        cb.execution_barrier()
        indirect(cb, executable, counts, x)
        cb.fill_buffer(x, 2)
        cb.fill_buffer(x, 3)
    assert instantiated(counting) == 2
    counting.calls.clear()
    cb.replay()
    launch, query = "hipGraphLaunch", "hipStreamQuery"
    assert counting.calls == [
        *[launch, query, "hipMemcpy", "hipMemcpy", "hipModuleLaunchKernel", "hipModuleLaunchKernel"],
        *[query, "hipMemcpy", "hipModuleLaunchKernel", launch],
    ]


def test_a_recording_of_one_indirect_dispatch_needs_no_graph(counting, device, executable):
    x, counts = device.allocate(64), device.from_host(bytes(12))
    counting.calls.clear()
    with device.command_buffer() as cb:
        indirect(cb, executable, counts, x)
    assert "hipGraphCreate" not in counting.calls
    counting.calls.clear()
    cb.replay()
    assert counting.calls == ["hipStreamQuery", "hipMemcpy"]


def test_a_recording_without_one_is_one_graph_and_one_launch(counting, device):
    x, event = device.allocate(64), device.event()
    with device.command_buffer() as inner:
        inner.fill_buffer(x, 1)
    with device.command_buffer() as cb:
        cb.signal_event(event)
        cb.execute_commands(inner)
        cb.wait_events([event])
    counting.calls.clear()
    cb.replay()
    assert counting.calls == ["hipGraphLaunch"]


def test_a_wait_for_a_signal_of_the_same_program_is_no_event_node(counting, device):
    one, other = device.event(), device.event()
    with device.command_buffer() as signals:
        signals.signal_event(other)
    counting.calls.clear()
    with device.command_buffer() as cb:
        cb.signal_event(one)
        cb.wait_events([one])
        cb.wait_events([one, other])
        cb.reset_event(one)
    nodes = [call for call in counting.calls if call.startswith("hipGraphAdd")]
    assert nodes == [
        "hipGraphAddEventRecordNode",
        "hipGraphAddEmptyNode",
        "hipGraphAddEventWaitNode",
        "hipGraphAddEmptyNode",
    ]
    signals.replay()
    cb.replay()


def nested(device, x):
    with device.command_buffer(binding_capacity=1) as inner:
        inner.fill_buffer(Slot(0, 0, 4), 1)
    with device.command_buffer(binding_capacity=2) as cb:
        cb.fill_buffer(Slot(1, 0, 4), 1)
        cb.execution_barrier()
        cb.execute_commands(inner, bindings=[Slot(0)])
    return cb


def test_a_rebind_builds_the_graph_again_only_where_it_reaches_into_a_nested_recording(counting, device):
    x, y = device.allocate(4), device.allocate(4)
    cb = nested(device, x)
    counting.calls.clear()
    cb.replay(bindings=[x, x])
    assert instantiated(counting) == 1
    cb.replay(bindings=[x, y])
    assert instantiated(counting) == 1
    assert counting.calls.count("hipGraphExecMemsetNodeSetParams") == 1
    cb.replay(bindings=[y, y])
    cb.replay()
    cb.replay(bindings=[y, y])
    assert instantiated(counting) == 2


def test_hundreds_of_such_rebinds_leave_nothing_behind(counting, device):
    x, y = device.allocate(4), device.allocate(4)
    cb = nested(device, x)
    cb.replay(bindings=[x, x])
    before = dict(counting.kinds)
    for index in range(300):
        cb.replay(bindings=[(y, x)[index % 2], x])
    assert dict(counting.kinds) == before
    assert len(device.backlog) == 0


def test_graphs_that_are_in_flight_are_kept_until_they_are_done(counting, device):
    x, y = device.allocate(4), device.allocate(4)
    cb = nested(device, x)
    counting.busy = True
    for index in range(4):
        cb.replay(bindings=[(y, x)[index % 2], x])
    assert counting.kinds["executable graph"] == 4
    counting.busy = False
    device.synchronize()
    assert counting.kinds["executable graph"] == 1


def test_a_rebind_that_fails_keeps_the_table_and_the_graph_of_before(counting, device):
    x, y = device.allocate(4), device.allocate(4)
    cb = nested(device, x)
    cb.replay(bindings=[x, x])
    before = dict(counting.kinds)
    counting.calls.clear()
    counting.failing = 3
    with pytest.raises(HipError):
        cb.replay(bindings=[y, x])
    assert dict(counting.kinds) == before
    counting.calls.clear()
    counting.failing = None
    cb.replay(bindings=[x, x])
    assert counting.calls[-1] == "hipGraphLaunch"
    cb.replay(bindings=[y, x])
    assert dict(counting.kinds) == before


def test_the_wait_for_counts_ends_in_time_and_what_was_launched_has_a_ticket(counting, device, executable):
    x, counts = device.allocate(64), device.from_host(bytes(12))
    with device.command_buffer(label="step") as cb:
        cb.fill_buffer(x, 1)
        indirect(cb, executable, counts, x, label="late")
    device.timeout = 0.01
    counting.busy = True
    with pytest.raises(DeadlineExceededError) as caught:
        cb.replay()
    assert "program `step`" in str(caught.value)
    cb.program.close()
    del cb
    collect()
    assert counting.kinds["executable graph"] == 1
    counting.busy = False
    device.synchronize()
    assert counting.kinds["executable graph"] == 0


def test_a_launch_outside_of_a_graph_has_the_shape_and_the_lds_of_its_dispatch(
    device, executable, monkeypatch, counting
):
    launches = []
    monkeypatch.setitem(
        counting, "hipModuleLaunchKernel", lambda *arguments: (launches.append(arguments[1:8]), (0,))[1]
    )
    x, counts = device.allocate(64), device.from_host(bytes([5, 0, 0, 0, 6, 0, 0, 0, 7, 0, 0, 0]))
    arguments = {"args": [x, x, x, 1.0, 1], "dynamic_lds": 96}
    with device.command_buffer() as cb:
        cb.dispatch(executable["saxpby"], (2, 3, 4), (8, 4, 2), **arguments)
    cb.replay(mode="stream")
    with device.command_buffer() as cb:
        cb.dispatch_indirect(executable["saxpby"], counts, (8, 4, 2), **arguments)
    for mode in ("graph", "stream"):
        cb.replay(mode=mode)
    assert launches == [(2, 3, 4, 8, 4, 2, 96), *[(5, 6, 7, 8, 4, 2, 96)] * 2]
