"""R1: INITIAL -> RECORDING -> FINAL or FAILED, enforced always."""

import threading
import weakref

import pytest
from support.fakes import FakeBuffer, FakeEvent, FakeProgram, FakeRank, saxpy

from hipgraph_cb.errors import FailedPreconditionError, HipGraphError, OutOfRangeError
from hipgraph_cb.recording.command_buffer import CommandBuffer, State
from hipgraph_cb.recording.recording import Recording

VERBS = (
    "fill_buffer",
    "update_buffer",
    "copy_buffer",
    "copy_buffer_2d",
    "fill_buffer_2d",
    "transient",
    "discard_buffer",
    "dispatch",
    "dispatch_indirect",
    "execute_commands",
    "host_call",
    "collective",
    "collective_group",
    "signal_event",
    "reset_event",
    "wait_events",
    "push_constants",
    "push_descriptor_set",
    "begin_debug_group",
    "end_debug_group",
    "execution_barrier",
    "end",
)


def verbs(cb):
    x, y = FakeBuffer(64), FakeBuffer(64)
    return {
        "fill_buffer": lambda: cb.fill_buffer(x, 0),
        "update_buffer": lambda: cb.update_buffer(x, b"1234"),
        "copy_buffer": lambda: cb.copy_buffer(x, y),
        "copy_buffer_2d": lambda: cb.copy_buffer_2d(x, y, width=4, height=2),
        "fill_buffer_2d": lambda: cb.fill_buffer_2d(x, 0, width=4, height=2),
        "transient": lambda: cb.transient(4),
        "discard_buffer": lambda: cb.discard_buffer(x),
        "dispatch": lambda: cb.dispatch(saxpy(), 1, 64, args=[y, x, 1.0, 1]),
        "dispatch_indirect": lambda: cb.dispatch_indirect(saxpy(), x, 64, args=[y, x, 1.0, 1]),
        "execute_commands": lambda: cb.execute_commands(Recording([])),
        "host_call": lambda: cb.host_call(print),
        "collective": lambda: cb.collective("all_reduce", FakeRank(), x, y, type="f32"),
        "collective_group": lambda: cb.collective_group(FakeRank(), []),
        "signal_event": lambda: cb.signal_event(FakeEvent()),
        "reset_event": lambda: cb.reset_event(FakeEvent()),
        "wait_events": lambda: cb.wait_events([FakeEvent()]),
        "push_constants": lambda: cb.push_constants(0, [1]),
        "push_descriptor_set": lambda: cb.push_descriptor_set(0, [x]),
        "begin_debug_group": lambda: cb.begin_debug_group("group"),
        "end_debug_group": cb.end_debug_group,
        "execution_barrier": cb.execution_barrier,
        "end": cb.end,
    }


def test_the_list_of_verbs_is_whole():
    others = {"begin", "replay", "state", "recording", "program", "debug_group"}
    public = {name for name in dir(CommandBuffer) if not name.startswith("_")}
    assert public - others == set(VERBS)


def in_state(state, **options):
    cb = CommandBuffer(label="step", **options)
    if state is not State.INITIAL:
        cb.begin()
    if state is State.FINAL:
        cb.end()
    if state is State.FAILED:
        cb.__exit__(None, ZeroDivisionError("division by zero"), None)
    return cb


@pytest.mark.parametrize("state", [State.INITIAL, State.FINAL, State.FAILED])
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_refused_outside_begin_and_end(state, verb):
    cb = in_state(state)
    assert cb.state is state
    with pytest.raises(FailedPreconditionError, match=f"^{verb}: the command buffer is in state {state.name}"):
        verbs(cb)[verb]()
    assert cb.state is state


@pytest.mark.parametrize("state", [State.INITIAL, State.FINAL, State.FAILED])
@pytest.mark.parametrize("verb", VERBS)
def test_without_validation_the_rules_of_states_hold(state, verb):
    cb = in_state(state, validate=False)
    with pytest.raises(FailedPreconditionError, match=f"^{verb}: the command buffer is in state {state.name}"):
        verbs(cb)[verb]()
    if state is not State.INITIAL:
        with pytest.raises(FailedPreconditionError, match=r"^begin: "):
            cb.begin()


def test_the_refusal_says_what_to_do():
    with pytest.raises(FailedPreconditionError) as caught:
        CommandBuffer(label="step").execution_barrier()
    assert str(caught.value) == (
        "execution_barrier: the command buffer is in state INITIAL\n"
        "  where: command buffer 'step'\n"
        "  found: INITIAL\n"
        "  allowed: RECORDING\n"
        "  next: call begin() first, or use the command buffer in a `with` statement"
    )


@pytest.mark.parametrize("state", [State.RECORDING, State.FINAL, State.FAILED])
def test_a_command_buffer_begins_once(state):
    cb = in_state(state)
    with pytest.raises(FailedPreconditionError, match=f"^begin: the command buffer is in state {state.name}"):
        cb.begin()
    assert cb.state is state


@pytest.mark.parametrize("state", [State.INITIAL, State.RECORDING, State.FAILED])
@pytest.mark.parametrize("name", ["recording", "program"])
def test_there_is_no_recording_and_no_program_before_the_end_or_after_a_failure(state, name):
    with pytest.raises(FailedPreconditionError, match=f"^{name}: the command buffer is in state {state.name}"):
        getattr(in_state(state), name)


def test_a_failed_build_fails_the_command_buffer_and_keeps_the_reason():
    reason = OutOfRangeError("the device is too small")

    def build(recording):
        raise reason

    cb = CommandBuffer(build=build).begin()
    with pytest.raises(OutOfRangeError) as caught:
        cb.end()
    assert caught.value is reason
    assert cb.state is State.FAILED
    assert cb.failure is reason
    with pytest.raises(FailedPreconditionError, match="because: the device is too small"):
        cb.replay()


def test_an_exception_in_the_body_fails_the_command_buffer():
    cb = CommandBuffer()
    with pytest.raises(KeyError), cb:
        raise KeyError("x")
    assert cb.state is State.FAILED
    assert isinstance(cb.failure, KeyError)


def test_leaving_the_body_ends_and_replay_goes_to_the_program(x):
    with CommandBuffer(build=FakeProgram) as cb:
        cb.fill_buffer(x, 1)
    assert cb.state is State.FINAL
    assert cb.program.recording is cb.recording
    cb.replay(stream="stream", bindings=["b"], mode="stream")
    assert cb.program.replays == [("stream", ["b"], "stream")]


def test_an_empty_recording_ends_well():
    with CommandBuffer() as cb:
        cb.execution_barrier()
    assert len(cb.recording) == 0
    assert cb.recording.layers == ()
    assert list(cb.recording.edges) == []


def test_without_a_device_there_is_a_recording_and_no_program():
    with CommandBuffer(label="step") as cb:
        pass
    with pytest.raises(FailedPreconditionError) as caught:
        cb.replay()
    assert str(caught.value) == (
        "program: this command buffer belongs to no device\n"
        "  where: command buffer 'step'\n"
        "  next: make a program with device.program(command_buffer.recording)"
    )


def test_an_error_in_a_call_leaves_commands_layers_and_resources_as_they_were(cb, x):
    stranger = FakeBuffer(16, "stranger")
    cb.fill_buffer(x, 1, length=8)
    cb.execution_barrier()
    for call in (
        lambda: cb.copy_buffer(stranger, x, length=4096),
        lambda: cb.dispatch(saxpy(), 1, 64, args=[stranger, "no buffer", 1.0, 1]),
        lambda: cb.update_buffer(stranger, b"x" * 17),
    ):
        with pytest.raises(HipGraphError):
            call()
    cb.fill_buffer(x, 2, length=8)
    cb.end()
    assert [command.pattern[0] for command in cb.recording] == [1, 2]
    assert cb.recording.layers == ((0,), (1,))
    assert [entry.label for entry in cb.recording.resources.buffers.values()] == ["x"]
    assert not cb.recording.resources.executables


def test_another_thread_cannot_record(cb):
    """With whatever verb: also not with one that was recorded before in the same way."""
    calls, caught = verbs(cb), []
    for verb in VERBS[:-1]:
        if verb != "end_debug_group":
            calls[verb]()
    recorded = len(cb._table)

    def work():
        for verb in VERBS:
            try:
                calls[verb]()
            except FailedPreconditionError as error:
                caught.append(error.what)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert caught == [f"{verb}: another thread records this command buffer" for verb in VERBS]
    assert cb.state is State.RECORDING
    assert len(cb._table) == recorded


@pytest.mark.parametrize("validate", [True, False])
def test_a_refused_call_holds_nothing_of_its_arguments(validate):
    """Whatever part of the arguments had been taken before the one that is wrong."""
    cb = CommandBuffer(validate=validate).begin()
    for call in (
        lambda stranger: cb.fill_buffer(stranger, 1.5),
        lambda stranger: cb.copy_buffer(stranger, None),
        lambda stranger: cb.update_buffer(stranger, None),
        lambda stranger: cb.copy_buffer_2d(stranger, None, width=4, height=2),
        lambda stranger: cb.fill_buffer_2d(stranger, 0, width=4, height=-1),
        lambda stranger: cb.discard_buffer(stranger, offset=-1),
        lambda stranger: cb.dispatch(saxpy(), 1, 64, args=[stranger, "no buffer", 1.0, 1]),
        lambda stranger: cb.dispatch(saxpy(), 1, 64, args=[stranger, None, 1.0, 1], reads=[None]),
        lambda stranger: cb.dispatch_indirect(saxpy(), stranger, 64, args=[None]),
        lambda stranger: cb.push_descriptor_set(9, [stranger]),
        lambda stranger: cb.host_call(print, reads=[stranger, None]),
        lambda stranger: cb.collective("all_reduce", FakeRank(), stranger, None, type="f32"),
    ):
        stranger = FakeBuffer(64)
        alive = weakref.ref(stranger)
        with pytest.raises(HipGraphError):
            call(stranger)
        del stranger
        assert alive() is None
    cb.end()
    assert not cb.recording.resources.buffers
    assert not cb.recording.resources.executables


def test_a_command_names_its_index_its_label_and_the_recording(cb, x):
    cb.fill_buffer(x, 0)
    with pytest.raises(OutOfRangeError) as caught:
        cb.fill_buffer(x, 0, offset=4096, length=4, label="clear")
    assert caught.value.where == "command 1 'clear' in 'step'"
