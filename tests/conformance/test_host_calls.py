"""Functions of the host in recordings: their order, their errors, and what they must not do."""

import gc
import threading
import weakref

import numpy as np
import pytest

from hipgraph_cb import Recording, Slot
from hipgraph_cb.errors import (
    FailedPreconditionError,
    HostCallError,
    InvalidArgumentError,
    NotFoundError,
    UnimplementedError,
)

MODES = pytest.mark.parametrize("mode", ["graph", "stream"])


def doubling(host):
    """What doubles the numbers in a host buffer."""
    values = host.array.view(np.uint32)

    def double():
        values[:] *= 2

    return double


@MODES
def test_a_function_runs_between_the_commands_round_it(device, kernels, mode):
    x, y = device.from_host(np.arange(4, dtype=np.uint32)), device.allocate(16)
    host = device.host_buffer(16)
    with device.command_buffer() as cb:
        cb.dispatch(kernels["scale_and_offset"], 1, bindings=[x, host], constants=[1, 1])
        cb.execution_barrier()
        cb.host_call(doubling(host))
        cb.execution_barrier()
        cb.dispatch(kernels["scale_and_offset"], 1, bindings=[host, y], constants=[10, 5])
    for _ in range(3):
        cb.replay(mode=mode)
    assert y.to_host(np.uint32).tolist() == [25, 45, 65, 85]


@MODES
def test_it_runs_once_for_each_replay_on_another_thread(device, mode):
    threads = []
    with device.command_buffer() as cb:
        cb.host_call(lambda: threads.append(threading.get_ident()))
    for _ in range(5):
        cb.replay(mode=mode)
    device.synchronize()
    assert len(threads) == 5
    assert threading.get_ident() not in threads


def test_declared_accesses_order_it_where_order_is_inferred(device):
    x, host = device.from_host(bytes(range(16))), device.host_buffer(16)
    seen = []
    with device.command_buffer(dependencies="inferred") as cb:
        cb.copy_buffer(x, host)
        cb.host_call(lambda: seen.append(host.array.tolist()), reads=[host])
        cb.fill_buffer(host, 0)
    assert cb.recording.dependencies == ((), (0,), (1,))
    cb.replay()
    device.synchronize()
    assert seen == [list(range(16))]


def test_a_missing_barrier_before_it_is_found(device):
    x, host = device.allocate(16, "x"), device.host_buffer(16, "out")

    def look():
        pass

    with device.command_buffer(label="step") as cb:
        cb.copy_buffer(x, host)
        cb.host_call(look, reads=[host])
    assert [finding.text for finding in cb.recording.hazards()] == [
        "command 1 in 'step' reads host `out`[0:16], which command 0 in 'step' writes: no barrier between them"
    ]


@MODES
def test_what_it_raises_is_reported_by_the_wait_with_its_command(device, mode):
    def broken():
        raise ZeroDivisionError("no divisor")

    x = device.from_host(bytes(8))
    with device.command_buffer(label="step") as cb:
        cb.fill_buffer(x, 1, pattern_length=1)
        cb.execution_barrier()
        cb.host_call(broken, label="check")
        cb.execution_barrier()
        cb.fill_buffer(x, 2, pattern_length=1, length=4)
    cb.replay(mode=mode)
    with pytest.raises(HostCallError) as caught:
        device.synchronize()
    assert str(caught.value) == (
        "a function that a recording calls raised an exception\n"
        "  where: command 1 'check' in 'step'\n"
        "  found: ZeroDivisionError: no divisor\n"
        "  next: see __cause__; the commands behind it have run nevertheless"
    )
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert x.to_host().tolist() == [2] * 4 + [1] * 4
    device.synchronize()


def test_of_several_exceptions_none_is_lost(device):
    def broken():
        raise KeyError("first")

    def exits():
        raise SystemExit

    with device.command_buffer(label="step") as cb:
        cb.host_call(broken)
        cb.execution_barrier()
        cb.host_call(exits)
    with device.stream() as stream:
        cb.replay(stream=stream)
        with pytest.raises(HostCallError) as caught:
            stream.synchronize()
    assert [line for line in str(caught.value).splitlines() if "where" in line or "found" in line] == [
        "  where: command 0 in 'step'",
        "  found: KeyError: 'first'",
        "  where: command 1 in 'step'",
        "  found: SystemExit",
    ]


def test_reading_a_buffer_reports_it_too(device):
    x = device.from_host(bytes(4))
    with device.command_buffer() as cb:
        cb.host_call(lambda: 1 // 0)
    cb.replay()
    with pytest.raises(HostCallError):
        x.to_host()
    assert x.to_host().tolist() == [0] * 4


def test_closing_the_device_reports_what_no_wait_has(device):
    from hipgraph_cb import open_device

    other = open_device(device.backend, device=device.ordinal)
    with other.command_buffer() as cb:
        cb.host_call(lambda: 1 // 0)
    cb.replay()
    with pytest.raises(HostCallError):
        other.close()
    assert other.closed


def test_a_nested_recording_calls_functions_each_time_it_runs(device):
    calls = []
    host = device.host_buffer(4)
    with device.command_buffer(label="inner", binding_capacity=1) as inner:
        inner.fill_buffer(Slot(0, 0, 4), 7)
        inner.execution_barrier()
        inner.host_call(lambda: calls.append(int(host.array[0])))
    with device.command_buffer(label="outer") as outer:
        outer.execute_commands(inner, bindings=[host])
        outer.execution_barrier()
        outer.fill_buffer(host, 9)
        outer.execution_barrier()
        outer.execute_commands(inner, bindings=[device.allocate(4)])
    outer.replay()
    device.synchronize()
    assert calls == [7, 9]


def test_a_program_keeps_its_functions_and_lets_them_go(device):
    class Function:
        calls = 0

        def __call__(self):
            Function.calls += 1

    function = Function()
    alive = weakref.ref(function)
    with device.command_buffer() as cb:
        cb.host_call(function)
    del function
    gc.collect()
    cb.replay()
    device.synchronize()
    assert Function.calls == 1
    cb.program.close()
    del cb
    gc.collect()
    assert alive() is None


def test_another_function_may_stand_for_it_by_its_name(device):
    calls = []

    def note():
        calls.append("recorded")

    with device.command_buffer() as cb:
        cb.host_call(note)
    with device.program(cb.recording, resources={"note": lambda: calls.append("other")}) as program:
        program.replay()
        device.synchronize()
    assert calls == ["other"]


USES = {
    "allocate": lambda device, buffer, cb: device.allocate(4),
    "synchronize": lambda device, buffer, cb: device.synchronize(),
    "to_host": lambda device, buffer, cb: buffer.to_host(),
    "write": lambda device, buffer, cb: buffer.write(bytes(4)),
    "replay": lambda device, buffer, cb: cb.replay(),
    "close": lambda device, buffer, cb: device.close(),
}


@pytest.mark.parametrize("action", USES)
def test_a_function_must_not_use_the_device(device, action):
    buffer = device.allocate(4)
    with device.command_buffer() as other:
        other.fill_buffer(buffer, 0)
    with device.command_buffer() as cb:
        cb.host_call(lambda: USES[action](device, buffer, other))
    cb.replay()
    with pytest.raises(HostCallError) as caught:
        device.synchronize()
    cause = caught.value.__cause__
    assert isinstance(cause, FailedPreconditionError)
    assert str(cause) == (
        f"{action}: a function that a recording calls must not use the device\n"
        "  found: a call from within it\n"
        "  allowed: the arrays of host buffers, and what else the host has\n"
        "  next: do it before the replay, or after a wait for it"
    )
    assert not device.closed


def test_memory_that_is_dropped_within_a_function_is_released_later(device):
    held = [device.allocate(64)]
    with device.command_buffer() as made:
        made.fill_buffer(device.allocate(64), 1)
    held.append(made)
    del made
    with device.command_buffer() as cb:
        cb.host_call(held.clear)
    cb.replay()
    device.synchronize()
    assert not held


def test_what_is_no_function_is_refused(device):
    cb = device.command_buffer(label="step").begin()
    with pytest.raises(InvalidArgumentError) as caught:
        cb.host_call(7)
    assert str(caught.value) == (
        "host_call: not a function\n"
        "  where: command 0 in 'step'\n"
        "  found: 7 (int)\n"
        "  allowed: what can be called without arguments"
    )
    cb.end()
    assert not cb.recording.resources.functions


def test_a_file_holds_its_name_and_a_program_of_it_needs_a_function(device, tmp_path):
    calls = []

    def note():
        calls.append(1)

    with device.command_buffer(label="step") as cb:
        cb.host_call(note)
    cb.recording.save(tmp_path / "a.hgcb")
    loaded = Recording.load(tmp_path / "a.hgcb")
    assert loaded == cb.recording
    with pytest.raises(NotFoundError) as caught:
        device.program(loaded)
    assert str(caught.value) == (
        "nothing is given for resource 0 of the recording\n"
        "  found: no object for function `note`\n"
        "  next: pass resources={0: ...}"
    )
    with pytest.raises(InvalidArgumentError) as caught:
        device.program(loaded, resources={"note": 7})
    assert str(caught.value) == (
        "resource 0 of the recording, function `note`, is called\n"
        "  found: int\n"
        "  allowed: what can be called without arguments"
    )
    with device.program(loaded, resources={"note": note}) as program:
        program.replay()
        device.synchronize()
    assert calls == [1]


def test_drawings_json_and_diffs_have_it(device):
    from hipgraph_cb.capture.diff import compare

    host = device.host_buffer(4, "out")

    def first():
        pass

    def recorded(function):
        with device.command_buffer() as cb:
            cb.host_call(function, reads=[host], label="look")
        return cb.recording

    recording = recorded(first)
    for text in (recording.to_dot(), recording.to_mermaid(), recording.to_html()):
        assert "host_call" in text
        assert "first" in text
    assert '"function": 0' in recording.to_json()
    assert list(compare(recording, recorded(first)).lines()) == []
    with device.command_buffer() as cb:
        cb.host_call(first, writes=[host], label="look")
    assert any("declared access" in line for line in compare(recording, cb.recording).lines())


def test_a_profile_times_the_commands_round_it(device):
    x = device.allocate(16)
    calls = []
    with device.command_buffer() as cb:
        cb.fill_buffer(x, 1)
        cb.execution_barrier()
        cb.host_call(lambda: calls.append(1))
    cb.program.profile(2)
    assert len(calls) >= 2


def test_a_replay_that_is_compared_with_calls_one_by_one_is_refused(device):
    with device.command_buffer() as cb:
        cb.host_call(lambda: None)
    with pytest.raises(UnimplementedError) as caught:
        cb.replay(check="stream")
    assert str(caught.value) == (
        "replay: a check compares runs of the same commands, and a function of the host would be called in each\n"
        "  where: program\n"
        "  found: check='stream' and a host call\n"
        "  next: check a recording of the commands round it"
    )
