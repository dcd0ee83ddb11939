"""Dependencies inferred from accesses: enough of them, and none between commands that share nothing."""

import random
import re

import pytest
from support.fakes import FakeBuffer, FakeEvent
from support.kernels import clang_kernels

from hipgraph_cb.errors import InvalidArgumentError, UnimplementedError
from hipgraph_cb.recording.bindings import resolve
from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.dependencies import CommandNode, JoinPolicy, levels
from hipgraph_cb.recording.resources import Slot


def record(*calls):
    """B puts a barrier."""
    with CommandBuffer(dependencies="inferred") as cb:
        for call in calls:
            cb.execution_barrier() if call == "B" else call(cb)
    return cb.recording


def fill(place, **options):
    return lambda cb: cb.fill_buffer(place, 0, **options)


def copy(source, target, **options):
    return lambda cb: cb.copy_buffer(source, target, **options)


@pytest.fixture
def z():
    return FakeBuffer(4096, "z")


def test_a_reader_waits_for_the_writer_and_a_writer_for_the_readers(x, y, z):
    recording = record(fill(x), copy(x, y), copy(x, z), fill(x), copy(y, x))
    assert recording.dependencies == ((), (0,), (0,), (1, 2), (1, 3))
    assert list(recording.edges) == [(0, 1), (0, 2), (1, 3), (2, 3), (1, 4), (3, 4)]
    assert recording.layers == ((0,), (1, 2), (3,), (4,))


def test_commands_that_share_no_bytes_do_not_wait(x, y):
    recording = record(fill(x, length=64), fill(x, offset=64, length=64), fill(y))
    assert recording.dependencies == ((), (), ())
    assert recording.layers == ((0, 1, 2),)


def test_a_write_of_a_part_waits_for_those_who_touched_that_part(x, y):
    recording = record(
        fill(x, length=32),
        fill(x, offset=32, length=32),
        copy(x.view(16, 32), y.view(0, 32)),
        fill(x, offset=40, length=4),
        fill(x, offset=0, length=8),
    )
    assert recording.dependencies == ((), (), (0, 1), (2,), (0,))


def test_a_kernel_waits_by_its_metadata(x, y, z):
    saxpy = clang_kernels()["saxpy"]

    def launch(out, source):
        return lambda cb: cb.dispatch(saxpy, 1, 64, args=[out, source, 1.0, 1])

    assert record(launch(x, z), launch(y, z), launch(x, y)).dependencies == ((), (), (0, 1))


def test_barriers_hold_as_well(x, y, z):
    recording = record(fill(x), fill(y), "B", fill(z), copy(z, x), "B", fill(y))
    assert recording.dependencies == ((), (), (0, 1), (2,), (3,))


def test_no_joins_are_planned_and_whoever_knows_only_layers_keeps_the_order(x, y, z):
    recording = record(fill(x), copy(x, y), copy(x, z))
    for policy in JoinPolicy:
        assert list(recording.plan(policy)) == [CommandNode(0, ()), CommandNode(1, (0,)), CommandNode(2, (0,))]
    assert recording.layer_starts == (0, 1, 2)
    assert re.findall(r"c\d -> c\d", recording.to_dot()) == ["c0 -> c1", "c0 -> c2"]


def test_a_recording_with_inferred_dependencies_has_no_hazards_and_is_another_value(x, y):
    recording = record(fill(x), copy(x, y))
    assert recording.hazards() == ()
    with CommandBuffer() as cb:
        cb.fill_buffer(x, 0)
        cb.execution_barrier()
        cb.copy_buffer(x, y)
    assert recording != cb.recording


def test_the_levels_are_the_longest_ways():
    assert levels(((), (0,), (), (1, 2), (2,))) == ((0, 2), (1, 4), (3,))


def reachable(dependencies):
    before = []
    for waits in dependencies:
        before.append(set(waits).union(*(before[wait] for wait in waits)))
    return before


@pytest.mark.parametrize("seed", range(8))
def test_every_conflict_is_ordered_and_every_edge_is_a_conflict(seed):
    """Against the definition, byte by byte."""
    numbers = random.Random(seed)
    for _ in range(15):
        buffers = [FakeBuffer(48) for _ in range(3)]
        touched, cb = [], CommandBuffer(dependencies="inferred").begin()
        for _ in range(24):
            target, offset, length = numbers.randrange(3), numbers.randrange(24), 1 + numbers.randrange(20)
            read = set()
            if numbers.random() < 0.6:
                source, start = numbers.choice([each for each in range(3) if each != target]), numbers.randrange(24)
                read = {(source, byte) for byte in range(start, start + length)}
                cb.copy_buffer(
                    buffers[source], buffers[target], source_offset=start, target_offset=offset, length=length
                )
            else:
                cb.update_buffer(buffers[target], bytes(length), offset=offset)
            touched.append((read, {(target, byte) for byte in range(offset, offset + length)}))
        cb.end()
        before = reachable(cb.recording.dependencies)
        for second, (read, written) in enumerate(touched):
            conflicts = {
                first for first in range(second) if touched[first][1] & (read | written) or touched[first][0] & written
            }
            assert conflicts <= before[second]
            assert set(cb.recording.dependencies[second]) <= conflicts


def test_many_reads_of_what_many_wrote_and_many_writes_of_what_many_read_need_edges_in_proportion():
    count, x, y, z = 3000, FakeBuffer(4 * 3000, "x"), FakeBuffer(4 * 3000), FakeBuffer(4 * 3000)
    with CommandBuffer(dependencies="inferred") as cb:
        for _ in range(2):
            for index in range(count):
                cb.fill_buffer(x, index, offset=4 * index, length=4)
            for index in range(count):
                cb.copy_buffer(x, y if index % 2 else z)
            for index in range(count):
                cb.copy_buffer(x.view(4 * index, 4), y.view(0, 4))
    dependencies = cb.recording.dependencies
    assert len(dependencies) == 6 * count
    assert sum(map(len, dependencies)) < 10 * len(dependencies)


@pytest.mark.parametrize("seed", range(12))
def test_every_conflict_is_ordered_where_histories_are_simplified_too(seed, monkeypatch):
    """Against the definition, byte by byte, with a limit that small programs reach."""
    monkeypatch.setattr("hipgraph_cb.recording.inference.MOST_PARTIES", 1 + seed % 3)
    numbers = random.Random(seed)
    for _ in range(12):
        buffers = [FakeBuffer(48) for _ in range(2)]
        touched, cb = [], CommandBuffer(dependencies="inferred").begin()
        for _ in range(40):
            target, length = numbers.randrange(2), numbers.choice([1, 2, 4, 40])
            start, offset = numbers.randrange(49 - length), numbers.randrange(49 - length)
            written, read = {(target, byte) for byte in range(offset, offset + length)}, set()
            if numbers.random() < 0.6:
                read = {(1 - target, byte) for byte in range(start, start + length)}
                places = {"source_offset": start, "target_offset": offset, "length": length}
                cb.copy_buffer(buffers[1 - target], buffers[target], **places)
            else:
                cb.update_buffer(buffers[target], bytes(length), offset=offset)
            touched.append((read, written))
        cb.end()
        before = reachable(cb.recording.dependencies)
        for second, (read, written) in enumerate(touched):
            for first in range(second):
                if touched[first][1] & (read | written) or touched[first][0] & written:
                    assert first in before[second]


def test_unknown_policies_are_refused():
    with pytest.raises(InvalidArgumentError, match="dependencies is no policy"):
        CommandBuffer(dependencies="guessed")


def with_slots(*calls):
    with CommandBuffer(dependencies="inferred", binding_capacity=3, label="step") as cb:
        for call in calls:
            call(cb)
    return cb.recording


def test_a_slot_is_memory_of_its_own(x):
    recording = with_slots(
        fill(Slot(0, 0, 32)),
        fill(Slot(0, 32, 32)),
        fill(Slot(1, 0, 32)),
        copy(Slot(0, 16, 32), x.view(0, 32)),
        fill(Slot(0)),
        copy(x.view(0, 16), Slot(1, 0, 16)),
    )
    assert recording.dependencies == ((), (), (), (0, 1), (0, 1, 3), (2, 3))


def test_slots_that_share_written_memory_are_refused_at_replay(x, y):
    recording = with_slots(
        fill(Slot(0, 0, 32)), copy(Slot(1, 0, 16), Slot(2, 0, 16)), copy(Slot(2, 0, 4), x.view(8, 4))
    )
    place = {"next": "  next: bind memory that does not overlap, or order the commands with barriers"}
    resolve(recording, [y.view(0, 32), y.view(32, 16), y.view(48, 16)])
    resolve(recording, [y.view(0, 40), y.view(32, 16), y.view(48, 16)])  # what nobody touches does not matter
    for table, names, found in (
        ([y.view(0, 32), y.view(24, 16), y.view(48, 16)], "slot 0 and slot 1", "0 to 32 and 24 to 40"),
        ([y.view(0, 32), y.view(40, 16), y.view(16, 16)], "slot 0 and slot 2", "0 to 32 and 16 to 32"),
        ([y.view(0, 32), y.view(40, 16), x.view(0, 16)], "slot 2 and `x`", "0 to 16 and 8 to 12"),
    ):
        with pytest.raises(InvalidArgumentError) as caught:
            resolve(recording, table)
        assert str(caught.value) == (
            f"{names} are the same memory, which inferred dependencies do not allow\n"
            f"  found: bytes {found} of one buffer, one of them written\n"
            "  allowed: slots that hold memory of their own wherever one is written\n"
            f"{place['next']}"
        )


def test_slots_may_share_memory_that_is_only_read(x, y):
    recording = with_slots(copy(Slot(0, 0, 16), x.view(0, 16)), copy(Slot(1, 0, 16), x.view(16, 16)))
    resolve(recording, [y, y])


def test_slots_that_share_memory_are_no_matter_where_barriers_order_them(y):
    with CommandBuffer(binding_capacity=2) as cb:
        cb.fill_buffer(Slot(0, 0, 16), 0)
        cb.execution_barrier()
        cb.fill_buffer(Slot(1, 0, 16), 0)
    resolve(cb.recording, [y, y])


def test_slots_and_events_together_are_refused(x):
    cb = CommandBuffer(dependencies="inferred", binding_capacity=1, label="step").begin()
    cb.fill_buffer(Slot(0, 0, 4), 0)
    cb.signal_event(FakeEvent())
    with pytest.raises(UnimplementedError) as caught:
        cb.end()
    assert str(caught.value) == (
        "end: dependencies cannot be inferred where slots and events come together\n"
        "  where: recording 'step'\n"
        "  found: 1 slots, 1 events\n"
        "  next: use barriers, or record direct buffers"
    )
