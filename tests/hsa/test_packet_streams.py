"""Golden packet streams: which packets a recording becomes, with their barrier bits and scopes."""

import pytest
from support.fakes import FakeEvent
from support.packets import Desk, buffers, record

from hipgraph_cb.recording.resources import Slot


@pytest.fixture(scope="module")
def desk():
    return Desk()


def test_two_independent_dispatches_run_beside_each_other_and_a_barrier_packet_ends_them(desk):
    x, y = buffers(16, 16)

    def commands(cb):
        cb.dispatch(desk["negate"], 1, args=[x, y])
        cb.dispatch(desk["twice"], 1, args=[x, x])

    assert desk.stream(record(commands)) == [
        "dispatch acquire=system release=agent: negate 4x1x1",
        "dispatch release=agent: twice 4x1x1",
        "barrier-and barrier acquire=agent release=system",
    ]


def test_a_barrier_is_no_packet_but_a_bit_on_the_next_one(desk):
    x, y = buffers(16, 16)

    def commands(cb):
        cb.dispatch(desk["negate"], 1, args=[x, y])
        cb.execution_barrier()
        cb.dispatch(desk["twice"], 1, args=[y, x])
        cb.dispatch(desk["negate"], 1, args=[y, y])

    assert desk.stream(record(commands)) == [
        "dispatch acquire=system release=agent: negate 4x1x1",
        "dispatch barrier acquire=agent release=agent: twice 4x1x1",
        "dispatch release=agent: negate 4x1x1",
        "barrier-and barrier acquire=agent release=system",
    ]


def test_leading_doubled_and_trailing_barriers_change_nothing(desk):
    x, y = buffers(16, 16)

    def commands(cb, barriers):
        for _ in range(barriers):
            cb.execution_barrier()
        cb.dispatch(desk["negate"], 1, args=[x, y])
        for _ in range(1 + barriers):
            cb.execution_barrier()
        cb.dispatch(desk["twice"], 1, args=[y, x])
        for _ in range(barriers):
            cb.execution_barrier()

    expected = [
        "dispatch acquire=system release=agent: negate 4x1x1",
        "dispatch barrier acquire=agent release=system: twice 4x1x1",
    ]
    for barriers in (0, 1, 2):
        assert desk.stream(record(lambda cb, barriers=barriers: commands(cb, barriers))) == expected


def test_every_command_in_front_of_a_barrier_releases_since_any_may_be_the_last_to_finish(desk):
    x, y = buffers(16, 16)

    def commands(cb):
        for _ in range(3):
            cb.dispatch(desk["negate"], 1, args=[x, y])
        cb.execution_barrier()
        cb.dispatch(desk["twice"], 1, args=[y, x])

    assert desk.stream(record(commands)) == [
        "dispatch acquire=system release=agent: negate 4x1x1",
        "dispatch release=agent: negate 4x1x1",
        "dispatch release=agent: negate 4x1x1",
        "dispatch barrier acquire=agent release=system: twice 4x1x1",
    ]


def test_fill_dispatch_and_copy_are_three_launches(desk):
    x, y, z = buffers(1024, 1024, 1024)

    def commands(cb):
        cb.fill_buffer(x, 0)
        cb.execution_barrier()
        cb.dispatch(desk["saxpby"], 4, 64, args=[y, x, x, 2.0, 256])
        cb.execution_barrier()
        cb.copy_buffer(y, z)

    assert desk.stream(record(commands)) == [
        "dispatch acquire=system release=agent: fill_once_16 256x1x1",
        "dispatch barrier acquire=agent release=agent: saxpby 256x1x1",
        "dispatch barrier acquire=agent release=system: copy_once_16 256x1x1",
    ]


def test_an_indirect_dispatch_is_a_patch_and_a_packet_that_is_not_published_yet(desk):
    x, counts = buffers(4096, 16)

    def commands(cb):
        cb.fill_buffer(counts, 1)
        cb.execution_barrier()
        cb.dispatch_indirect(desk["workgroup_ids"], counts.view(0, 12), args=[x])
        cb.execution_barrier()
        cb.fill_buffer(x, 0)

    recording = record(commands)
    assert desk.stream(recording) == [
        "dispatch acquire=system release=agent: fill_once_16 256x1x1",
        "dispatch barrier acquire=agent release=agent: patch 1x1x1",
        "invalid: workgroup_ids 1x1x1",
        "dispatch barrier acquire=agent release=system: fill_once_16 256x1x1",
    ]
    template, _ = desk.lower(recording)
    (indirect,) = template.indirect
    header = int.from_bytes(template.kernargs[indirect.address + 16 : indirect.address + 20], "little")
    from hipgraph_cb.abi.hsa.aql import AGENT_SCOPE, KERNEL_DISPATCH
    from hipgraph_cb.hsa.packets import header_word

    assert header == header_word(KERNEL_DISPATCH, acquire=AGENT_SCOPE, release=AGENT_SCOPE)


def test_an_indirect_dispatch_at_the_end_waits_for_everything(desk):
    from hipgraph_cb.abi.hsa.aql import AGENT_SCOPE, KERNEL_DISPATCH, SYSTEM_SCOPE
    from hipgraph_cb.hsa.packets import header_word

    x, counts = buffers(4096, 16)
    recording = record(lambda cb: cb.dispatch_indirect(desk["workgroup_ids"], counts.view(0, 12), args=[x]))
    template, _ = desk.lower(recording)
    (indirect,) = template.indirect
    header = int.from_bytes(template.kernargs[indirect.address + 16 : indirect.address + 20], "little")
    assert header == header_word(KERNEL_DISPATCH, barrier=True, acquire=AGENT_SCOPE, release=SYSTEM_SCOPE)


def test_a_nested_recording_becomes_packets_in_place(desk):
    x, y = buffers(64, 64)

    def inside(cb):
        cb.fill_buffer(Slot(0, 0, 32), 1)
        cb.execution_barrier()
        cb.fill_buffer(y, 2)

    nested = record(inside, binding_capacity=1)

    def commands(cb):
        cb.fill_buffer(y, 3)
        cb.execution_barrier()
        cb.execute_commands(nested, bindings=[x])
        cb.execution_barrier()
        cb.fill_buffer(x, 4)

    recording = record(commands)
    assert desk.stream(recording) == [
        "dispatch acquire=system release=agent: fill_once_16 256x1x1",
        "dispatch barrier acquire=agent release=agent: fill_once_16 256x1x1",
        "dispatch barrier acquire=agent release=agent: fill_once_16 256x1x1",
        "dispatch barrier acquire=agent release=system: fill_once_16 256x1x1",
    ]
    template, _ = desk.lower(recording)
    assert [template.where(packet) for packet in range(len(template.packets))] == [
        "command 0",
        "command 1, command 0",
        "command 1, command 1",
        "command 2",
    ]


def test_an_event_of_another_recording_is_waited_for_by_a_packet(desk):
    x, ready = buffers(64)[0], FakeEvent("ready")

    def commands(cb):
        cb.wait_events([ready])
        cb.fill_buffer(x, 4)

    recording = record(commands)
    assert desk.stream(recording) == [
        "barrier-and acquire=system release=agent",
        "dispatch barrier acquire=agent release=system: fill_once_16 256x1x1",
    ]
    template, _ = desk.lower(recording)
    assert template.waits == ((0, 1, recording[0].events[0]),)


def test_more_events_than_a_packet_names_take_two(desk):
    events = [FakeEvent() for _ in range(6)]
    template, _ = desk.lower(record(lambda cb: cb.wait_events(events)))
    assert [(wait.packet, wait.word) for wait in template.waits] == [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 1)]


def test_a_signal_is_a_packet_and_the_last_packet_has_the_signal_of_the_queue(desk):
    x, ready = buffers(64)[0], FakeEvent("ready")

    def commands(cb):
        cb.fill_buffer(x, 4)
        cb.signal_event(ready)

    recording = record(commands)
    assert desk.stream(recording) == [
        "dispatch acquire=system release=agent: fill_once_16 256x1x1",
        "barrier-and barrier acquire=agent release=agent",
        "barrier-and barrier acquire=agent release=system",
    ]
    template, _ = desk.lower(recording)
    assert [(signal.packet, signal.word) for signal in template.signals] == [(1, 7)]


def test_a_wait_for_a_signal_of_the_same_recording_is_order_alone(desk):
    x, ready = buffers(64)[0], FakeEvent("ready")

    def commands(cb):
        cb.fill_buffer(x, 4)
        cb.signal_event(ready)
        cb.wait_events([ready])
        cb.fill_buffer(x, 5)

    template, _ = desk.lower(record(commands))
    assert template.waits == ()
    assert len(template.packets) == 3


def test_one_command_after_the_other_for_comparing(desk):
    x, y = buffers(16, 16)

    def commands(cb):
        cb.dispatch(desk["negate"], 1, args=[x, y])
        cb.dispatch(desk["twice"], 1, args=[x, x])
        cb.dispatch(desk["twice"], 1, args=[x, x])

    assert desk.stream(record(commands), in_order=True) == [
        "dispatch acquire=system release=agent: negate 4x1x1",
        "dispatch barrier acquire=agent release=agent: twice 4x1x1",
        "dispatch barrier acquire=agent release=agent: twice 4x1x1",
        "barrier-and barrier acquire=agent release=system",
    ]


@pytest.mark.parametrize("width", [1, 2, 5])
def test_only_a_last_layer_wider_than_one_ends_with_a_packet_of_its_own(desk, width):
    x, y = buffers(64, 64)

    def commands(cb):
        cb.fill_buffer(x, 1)
        cb.fill_buffer(y, 1)
        cb.execution_barrier()
        for index in range(width):
            cb.fill_buffer(x.view(4 * index, 4), index)

    recording = record(commands)
    template, _ = desk.lower(recording)
    assert len(template.packets) == 2 + width + (width > 1)
    assert template.has_end == (width > 1)
    assert [line for line in desk.stream(recording) if "release=system" in line] == [desk.stream(recording)[-1]]


def test_an_empty_recording_is_no_packet(desk):
    template, payload = desk.lower(record(lambda cb: None))
    assert (len(template.packets), len(template.words), template.kernargs, payload) == (0, 0, b"", b"")


def test_a_host_call_is_shown_what_was_written_and_shows_what_it_writes(desk):
    x, y = buffers(16, 16)

    def commands(cb):
        cb.dispatch(desk["negate"], 1, args=[x, y])
        cb.execution_barrier()
        cb.host_call(print)
        cb.execution_barrier()
        cb.dispatch(desk["twice"], 1, args=[y, x])

    assert desk.stream(record(commands)) == [
        "dispatch acquire=system release=agent: negate 4x1x1",
        "barrier-and barrier acquire=agent release=system",
        "barrier-and acquire=system release=agent",
        "dispatch barrier acquire=agent release=system: twice 4x1x1",
    ]
