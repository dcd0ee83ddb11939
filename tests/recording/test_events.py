"""Signals and waits: what depends on what inside a recording, and what a recording asks of others."""

import pytest
from support.fakes import FakeBuffer, FakeDevice, FakeEvent

from hipgraph_cb.errors import FailedPreconditionError, InvalidArgumentError, OutOfRangeError
from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.commands import ResetEvent, SignalEvent, WaitEvents
from hipgraph_cb.recording.stages import MemoryAccess, Stage

E, F = FakeEvent("e"), FakeEvent("f")


def record(steps, **options):
    """`.` fills a buffer of its own, `|` is a barrier; S, R and W (with `E` or `F` behind them) are for events."""
    with CommandBuffer(**options) as cb:
        for step in steps.split():
            events = [{"E": E, "F": F}[name] for name in step[1:]]
            if step == ".":
                cb.fill_buffer(FakeBuffer(16), 0)
            elif step == "|":
                cb.execution_barrier()
            elif step[0] == "S":
                cb.signal_event(*events)
            elif step[0] == "R":
                cb.reset_event(*events)
            else:
                cb.wait_events(events)
    return cb.recording


@pytest.mark.parametrize(
    ("steps", "dependencies"),
    [
        (". SE . WE .", ((), (0,), (), (1,), (3,))),
        (". . SE WE . .", ((), (), (0, 1), (2,), (3,), (3,))),
        (". | . SE . WE .", ((), (0,), (1,), (0,), (2,), (4,))),
        (". SE . | . WE .", ((), (0,), (), (1, 2), (1, 2), (4,))),
        (". SE . SF . WEF .", ((), (0,), (), (1, 2), (), (1, 3), (5,))),
        (". SE SE WE .", ((), (0,), (1,), (2,), (3,))),
        ("WE .", ((), (0,))),
        (". WE . | .", ((), (), (1,), (0, 2))),
        ("SE WE RE . | .", ((), (0,), (0, 1), (1,), (3,))),
        ("WE RE SE", ((), (0,), (0,))),
        ("| SE |", ((),)),
    ],
)
def test_what_waits_for_what(steps, dependencies):
    assert record(steps).dependencies == dependencies


def test_a_recording_without_events_has_no_dependencies_of_its_own():
    assert record(". | . .").dependencies is None


def test_events_and_inferred_dependencies_hold_together():
    x, y = FakeBuffer(16), FakeBuffer(16)
    with CommandBuffer(dependencies="inferred") as cb:
        cb.fill_buffer(x, 0)
        cb.signal_event(E)
        cb.fill_buffer(y, 0)
        cb.fill_buffer(y, 1)
        cb.wait_events([E])
        cb.copy_buffer(y, x)
    assert cb.recording.dependencies == ((), (0,), (), (2,), (1,), (0, 3, 4))


def test_commands_name_events_by_resource_id_and_waits_name_each_event_once():
    x = FakeBuffer(16)
    with CommandBuffer() as cb:
        cb.fill_buffer(x, 0)
        cb.signal_event(E, label="ready")
        cb.wait_events([E, F, E], label="both")
        cb.reset_event(E)
    assert cb.recording[1:] == (SignalEvent(1, "ready"), WaitEvents((1, 2), "both"), ResetEvent(1))
    assert {key: entry.name for key, entry in cb.recording.resources.events.items()} == {1: "`e`", 2: "`f`"}
    assert cb.recording.resources.bound[1] is E


def test_a_wait_for_no_events_records_nothing():
    with CommandBuffer() as cb:
        cb.wait_events([])
    assert len(cb.recording) == 0


@pytest.mark.parametrize(
    ("steps", "awaited", "outcomes"),
    [
        ("SE WE", set(), {0: True}),
        ("WE SE", {0}, {0: True}),
        ("WE RE", {0}, {0: False}),
        ("SE RE SE WE RE", set(), {0: False}),
        ("WEF", {0, 1}, {}),
        (". .", set(), {}),
    ],
)
def test_what_a_recording_asks_of_others_and_leaves_behind(steps, awaited, outcomes):
    use = record(steps)._event_use
    assert (use.awaited, use.outcomes) == (awaited, outcomes)


def test_a_wait_behind_a_reset_is_refused_and_leaves_no_trace():
    cb = CommandBuffer(label="step").begin()
    cb.signal_event(E)
    cb.reset_event(E)
    with pytest.raises(FailedPreconditionError) as caught:
        cb.wait_events([F, E])
    assert str(caught.value) == (
        "wait_events: `e` was reset before and is not signalled again\n"
        "  where: command 2 in 'step'\n"
        "  next: signal it between the reset and the wait, or reset it after the wait"
    )
    cb.end()
    assert len(cb.recording) == 2
    assert set(cb.recording.resources.events) == {0}


def test_what_is_no_event_is_refused():
    cb = CommandBuffer(owner=FakeDevice()).begin()
    with pytest.raises(InvalidArgumentError) as caught:
        cb.signal_event(FakeBuffer(4))
    assert str(caught.value).splitlines()[0] == "event is no event"
    with pytest.raises(InvalidArgumentError) as caught:
        cb.wait_events(E)
    assert str(caught.value) == (
        "wait_events: not a list of events\n"
        "  where: command 0\n"
        "  found: FakeEvent\n"
        "  allowed: a list or a tuple of events"
    )
    with pytest.raises(InvalidArgumentError, match="`theirs` belongs to another device"):
        cb.reset_event(FakeEvent("theirs", device=FakeDevice("other", 1)))
    with pytest.raises(FailedPreconditionError, match="`old` is closed"):
        cb.signal_event(FakeEvent("old", closed=True))


def test_equal_work_with_events_is_equal_and_other_events_are_not():
    assert record(". SE . WE .") == record(". SE . WE .")
    assert hash(record(". SE . WE .")) == hash(record(". SE . WE ."))
    assert record(". SE . WE .") != record(". SE WE . .")
    assert record("SE WE") != record("SE WF")


def test_a_wide_barrier_shares_one_tuple_of_dependencies():
    recording = record(". " * 200 + "| " + ". " * 200 + "SE")
    assert len({id(waits) for waits in recording.dependencies[200:400]}) == 1
    assert recording.dependencies[400] == tuple(range(200, 400))


def test_stages_of_events_are_checked_and_change_nothing():
    """The masks say what would be enough: all stages are ordered all the same."""

    def record_with(source=None, target=None):
        with CommandBuffer(label="step") as cb:
            cb.fill_buffer(FakeBuffer(16), 0)
            cb.signal_event(E, source_stages=source)
            cb.wait_events([E], source_stages=source, target_stages=target)
            cb.reset_event(E, source_stages=source)
        return cb.recording

    assert list(record_with(Stage.TRANSFER, Stage.DISPATCH).edges) == list(record_with().edges)
    for call in (
        lambda cb: cb.signal_event(E, source_stages=64),
        lambda cb: cb.reset_event(E, source_stages=64),
        lambda cb: cb.wait_events([E], source_stages=64),
    ):
        cb = CommandBuffer(label="step").begin()
        with pytest.raises(OutOfRangeError) as raised:
            call(cb)
        assert str(raised.value) == (
            "source_stages has unknown bits\n  where: command 0 in 'step'\n  found: 0x40\n  allowed: bits of 0x3f"
        )
    with pytest.raises(InvalidArgumentError, match="target_stages is no mask"):
        CommandBuffer().begin().wait_events([E], target_stages=MemoryAccess.HOST_READ)
