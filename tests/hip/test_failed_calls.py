"""Every call that the backend makes is failed in turn: the error names the call, and nothing leaks (P1)."""

import logging

import pytest
from support.collection import collect
from support.every_verb import RELEASES, SCENARIOS, every_verb

from hipgraph_cb import Slot
from hipgraph_cb.errors import HipError
from hipgraph_cb.foreign.dlpack_export import sweep
from hipgraph_cb.hip.device import HipDevice

ALL_SCENARIOS = pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)


def calls_of(counting, code_object, scenario=every_verb):
    scenario(HipDevice, code_object)
    collect()
    return list(counting.calls)


def test_the_whole_scenario_gives_everything_back(counting, code_object):
    calls = calls_of(counting, code_object)
    assert counting.live == {}
    verbs = {"hipGraphAddMemsetNode", "hipGraphAddMemcpyNode1D", "hipGraphAddKernelNode", "hipGraphAddEmptyNode"}
    changes = {
        "hipGraphExecMemsetNodeSetParams",
        "hipGraphExecMemcpyNodeSetParams1D",
        "hipGraphExecKernelNodeSetParams",
    }
    assert verbs | changes <= set(calls)


def test_events_nested_recordings_and_parts_give_everything_back(counting, code_object):
    calls = calls_of(counting, code_object, SCENARIOS["parts and events"])
    assert counting.live == {}
    nodes = {"hipGraphAddEventRecordNode", "hipGraphAddEventWaitNode", "hipGraphAddHostNode"}
    launches = {"hipEventRecord", "hipStreamWaitEvent", "hipModuleLaunchKernel", "hipLaunchHostFunc"}
    assert nodes | launches <= set(calls)
    assert "hipGraphAddChildGraphNode" not in calls


@ALL_SCENARIOS
def test_any_failed_call_leaves_nothing_behind(counting, quick_collection, code_object, caplog, scenario):
    calls = calls_of(counting, code_object, scenario)
    for number, name in enumerate(calls):
        counting.calls.clear()
        counting.live.clear()
        caplog.clear()
        counting.failing = number
        with caplog.at_level(logging.WARNING):
            if name in RELEASES["hip"]:
                scenario(HipDevice, code_object)
                assert [record.getMessage() for record in caplog.records] == [
                    f"a release failed and counts as done: {name} returned 999 (hipErrorUnknown)"
                ]
            elif name == "hipExtGetLastError":  # that it answers is all that is asked of it
                scenario(HipDevice, code_object)
            else:
                with pytest.raises(HipError) as caught:
                    scenario(HipDevice, code_object)
                assert (caught.value.api, caught.value.code) == (name, 999)
                del caught
        collect()
        sweep()  # as the next allocation does
        left = list(counting.live.values())
        assert len(left) == (name in RELEASES["hip"]), f"call {number}, {name}: {left}"


def test_a_failed_node_names_its_command(counting, device):
    x = device.allocate(16, "x")
    counting.calls.clear()
    counting.failing = 3
    with pytest.raises(HipError) as caught, device.command_buffer(label="step") as cb:
        cb.fill_buffer(x, 1, label="first")
        cb.execution_barrier()
        cb.fill_buffer(x, 2, label="second")
        cb.execution_barrier()
        cb.fill_buffer(x, 3, label="third")
    assert counting.calls[:4] == ["hipGraphCreate", *["hipGraphAddMemsetNode"] * 3]
    assert str(caught.value) == (
        "hipGraphAddMemsetNode returned 999 (hipErrorUnknown)\n  where: command 2 'third' in 'step'"
    )
    assert cb.failure is caught.value


def test_a_failed_instantiation_names_the_recording(counting, device):
    x = device.allocate(16)
    counting.calls.clear()
    counting.failing = 2
    with pytest.raises(HipError) as caught, device.command_buffer(label="step") as cb:
        cb.fill_buffer(x, 1)
    assert str(caught.value) == (
        "hipGraphInstantiate returned 999 (hipErrorUnknown)\n  where: recording 'step' of 1 commands"
    )


def test_a_change_that_fails_half_way_is_made_up_for_by_the_next_replay(counting, device, monkeypatch):
    x, y = device.allocate(16), device.allocate(16)
    with device.command_buffer(binding_capacity=1) as cb:
        for index in range(4):
            cb.fill_buffer(Slot(0, 4 * index, 4), index)
    cb.replay(bindings=[x])
    counting.calls.clear()
    counting.failing = 2
    with pytest.raises(HipError):
        cb.replay(bindings=[y])
    assert counting.calls == ["hipGraphExecMemsetNodeSetParams"] * 3
    counting.calls.clear()
    counting.failing = None
    reported = []
    monkeypatch.setitem(
        counting,
        "hipGraphExecMemsetNodeSetParams",
        lambda _graph, _node, block: (reported.append(int(block.dst)), (0,))[1],
    )
    cb.replay()
    assert reported == [x.address + 4 * index for index in range(4)], (
        "the table of before stays in force, in every node"
    )
    assert counting.calls[-1] == "hipGraphLaunch"


def test_a_node_that_could_not_be_switched_on_whole_is_off_in_the_graph_that_the_next_replay_makes(counting, device):
    x, y = device.allocate(16), device.allocate(16)
    with device.command_buffer(binding_capacity=1) as cb:
        cb.fill_buffer(Slot(0), 1)
    cb.replay(bindings=[x])
    cb.program[0].enabled = False
    cb.replay(bindings=[y])
    counting.calls.clear()
    counting.failing = 1
    with pytest.raises(HipError) as caught:
        cb.program[0].enabled = True
    assert counting.calls[:2] == ["hipGraphNodeSetEnabled", "hipGraphExecMemsetNodeSetParams"]
    assert caught.value.what.startswith("hipGraphExecMemsetNodeSetParams")
    assert not cb.program[0].enabled
    counting.failing = None
    counting.calls.clear()
    cb.replay()
    made = [name for name in counting.calls if name in ("hipGraphInstantiate", "hipGraphNodeSetEnabled")]
    assert made == ["hipGraphInstantiate", "hipGraphNodeSetEnabled"]


def test_a_call_that_fails_in_stream_mode_names_its_command_and_keeps_what_runs_before_it(counting, device):
    x = device.allocate(16, "x")
    with device.command_buffer(label="step") as cb:
        cb.fill_buffer(x, 1, label="first")
        cb.fill_buffer(x, 0xFF, pattern_length=1, length=3, label="second")
    counting.calls.clear()
    counting.failing, counting.busy = 1, True
    with pytest.raises(HipError) as caught:
        cb.replay(mode="stream")
    assert counting.calls == ["hipMemsetD32Async", "hipMemsetD8Async"]
    assert str(caught.value) == "hipMemsetD8Async returned 999 (hipErrorUnknown)\n  where: command 1 'second' in 'step'"
    cb.program.close()
    assert counting.kinds["executable graph"] == 1
    counting.busy = False
    device.synchronize()
    assert counting.kinds["executable graph"] == 0
