"""`replay(check="stream")` finds what the graph does otherwise than the same commands call by call."""

import numpy as np
import pytest

from hipgraph_cb import Slot
from hipgraph_cb.errors import CheckFailedError, InvalidArgumentError
from hipgraph_cb.opening import process_choice, virtual_runtime

SETTERS = {
    "dispatch": "hipGraphExecKernelNodeSetParams",
    "fill": "hipGraphExecMemsetNodeSetParams",
    "copy": "hipGraphExecMemcpyNodeSetParams1D",
    "update": "hipGraphExecMemcpyNodeSetParams1D",
}


@pytest.fixture
def runtime(device):
    if device.backend != "hip" or not process_choice().is_virtual:
        pytest.skip("calls can be ignored in the virtual HIP library only")
    return virtual_runtime("hip")


def words(*values):
    return np.array(values, np.uint32)


@pytest.fixture
def recorded(device, kernels):
    """A command of the given kind through slot 0 behind a command without slots, and what it leaves in the slot."""

    def record(kind):
        source, beside = device.from_host(words(5, 6, 7, 8)), device.from_host(words(0, 0, 0, 0))
        with device.command_buffer(label="step", binding_capacity=1) as cb:
            cb.fill_buffer(beside, 1, label="beside")
            cb.execution_barrier()
            if kind == "dispatch":
                cb.dispatch(
                    kernels["scale_and_offset"], 1, bindings=[source, Slot(0, 0, 16)], constants=[2, 1], label="moves"
                )
            elif kind == "fill":
                cb.fill_buffer(Slot(0, 0, 16), 9, label="moves")
            elif kind == "copy":
                cb.copy_buffer(source, Slot(0, 0, 16), label="moves")
            else:
                cb.update_buffer(Slot(0, 0, 16), words(1, 2, 3, 4), label="moves")
        return cb

    return record


LEFT = {"dispatch": [11, 13, 15, 17], "fill": [9] * 4, "copy": [5, 6, 7, 8], "update": [1, 2, 3, 4]}


@pytest.mark.parametrize("kind", SETTERS)
def test_a_change_that_the_runtime_ignores_is_found_at_its_command(device, runtime, recorded, zeros, kind):
    cb, first, second = recorded(kind), zeros(16), zeros(16)
    cb.replay(bindings=[first])
    first.write(bytes(16))
    with runtime.ignore(SETTERS[kind]) as injection, pytest.raises(CheckFailedError) as caught:
        cb.replay(bindings=[second], check="stream")
    assert injection.has_fired
    assert caught.value.where == "command 1 'moves' in 'step'"
    assert caught.value.found == (
        f"4 of 16 bytes differ, first byte 0: 0x00, call by call {LEFT[kind][0]:#04x}, in slot 0[0:16]"
    )
    assert caught.value.next_step == (
        "a new program is right: the runtime answered success to new arguments and kept the old ones; "
        "use update='reinstantiate'"
    )
    assert (first.to_host().tolist(), second.to_host(np.uint32).tolist()) == ([0] * 16, LEFT[kind])


@pytest.mark.parametrize("kind", SETTERS)
def test_changes_that_are_taken_are_passed_in_silence(device, recorded, zeros, kind):
    cb, first, second = recorded(kind), zeros(16), zeros(16)
    for buffer in (first, second, second, first):
        buffer.write(bytes(16))
        cb.replay(bindings=[buffer], check="stream")
        assert buffer.to_host(np.uint32).tolist() == LEFT[kind]


def test_the_one_that_was_ignored_among_many_is_named(device, runtime, zeros):
    with device.command_buffer(binding_capacity=1) as cb:
        for index in range(64):
            cb.fill_buffer(Slot(0), index + 1, offset=4 * index, length=4)
    cb.replay(bindings=[zeros(256)])
    with runtime.ignore("hipGraphExecMemsetNodeSetParams", 38), pytest.raises(CheckFailedError) as caught:
        cb.replay(bindings=[zeros(256)], check="stream")
    assert caught.value.where == "command 37"


def test_bytes_that_a_later_command_overwrites_lead_to_what_was_made_of_them(device, runtime, zeros):
    """The copy out of the slot is hidden by the fill: the command that shows it says where slots are used before."""
    between, last = zeros(16), zeros(16)
    with device.command_buffer(binding_capacity=1) as cb:
        cb.copy_buffer(Slot(0, 0, 16), between, label="out of the slot")
        cb.execution_barrier()
        cb.copy_buffer(between, last, label="shows it")
        cb.execution_barrier()
        cb.fill_buffer(between, 0)
    cb.replay(bindings=[zeros(16)])
    with runtime.ignore("hipGraphExecMemcpyNodeSetParams1D"), pytest.raises(CheckFailedError) as caught:
        cb.replay(bindings=[device.from_host(words(1, 2, 3, 4))], check="stream")
    assert caught.value.where == "command 1 'shows it'"
    assert caught.value.found.endswith("; slots are used before it by command 0 'out of the slot'")
    assert last.to_host(np.uint32).tolist() == [1, 2, 3, 4]


def test_what_was_ignored_before_is_found_by_a_replay_without_bindings(runtime, recorded, zeros):
    cb, first, second = recorded("fill"), zeros(16), zeros(16)
    cb.replay(bindings=[first])
    with runtime.ignore("hipGraphExecMemsetNodeSetParams"):
        cb.replay(bindings=[second])
    assert second.to_host(np.uint32).tolist() == [0] * 4
    with pytest.raises(CheckFailedError):
        cb.replay(check="stream")


def test_a_missing_barrier_is_told_from_a_change_that_was_ignored(device, runtime, zeros):
    """64 fills of the same bytes without a barrier: whatever the order, the last of the calls is hardly the last."""
    target = zeros(4)
    with device.command_buffer(label="race") as cb:
        for value in range(64):
            cb.fill_buffer(target, value)
    with pytest.raises(CheckFailedError) as caught:
        for _ in range(3):
            cb.replay(check="stream")
    assert caught.value.where == "command 63 in 'race'"
    assert target.to_host(np.uint32).tolist() == [63]
    assert caught.value.next_step.endswith("look for a barrier that is missing, recording.hazards() lists them")


def test_the_commands_have_run_once_as_far_as_memory_shows(device, kernels, zeros):
    """Direct buffers and slots, nested recordings, counts in memory, and an event that is reset behind a wait."""
    ready, total, counts = device.event("ready"), zeros(16, "total"), device.from_host(words(1, 1, 1))
    with device.command_buffer() as signal:
        signal.signal_event(ready)
    with device.command_buffer(binding_capacity=1) as inner:
        inner.dispatch(kernels["scale_and_offset"], 1, bindings=[Slot(0), Slot(0)], constants=[2, 1])
    with device.command_buffer(binding_capacity=1) as cb:
        cb.wait_events([ready])
        cb.reset_event(ready)
        cb.dispatch(kernels["scale_and_offset"], 1, bindings=[total, total], constants=[1, 5])
        cb.execute_commands(inner, bindings=[Slot(0)])
        cb.execution_barrier()
        cb.dispatch_indirect(kernels["scale_and_offset"], counts, bindings=[Slot(0), Slot(0)], constants=[1, 1])
    signal.replay()
    slot = device.from_host(words(1, 2, 3, 4))
    cb.replay(bindings=[slot], check="stream")
    assert total.to_host(np.uint32).tolist() == [5] * 4
    assert slot.to_host(np.uint32).tolist() == [4, 6, 8, 10]
    assert not ready.is_signalled


def test_the_check_is_of_the_graph_and_not_of_the_calls(recorded, zeros):
    cb = recorded("fill")
    with pytest.raises(InvalidArgumentError) as caught:
        cb.replay(bindings=[zeros(16)], mode="stream", check="stream")
    assert caught.value.found == "mode='stream' and check='stream'"
