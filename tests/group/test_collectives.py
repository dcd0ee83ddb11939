"""Each collective says what numpy says, on both backends: any number of ranks, in place or not, of any size."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from support.collectives import REDUCTIONS, received, sent_blocks, sent_values

from hipgraph_cb import Slot
from hipgraph_cb.collectives.operations import ELEMENT_SIZES, KINDS, PAIRED, REDUCING, ROOTED, Collective

NUMPY_NAMES = {
    **{f"i{8 * size}": f"int{8 * size}" for size in (1, 2, 4, 8)},
    **{f"u{8 * size}": f"uint{8 * size}" for size in (1, 2, 4, 8)},
    **{f"f{8 * size}": f"float{8 * size}" for size in (2, 4, 8)},
    "bf16": "bfloat16",
}
GUARD = 64
"""Bytes round each memory that nobody may touch."""
WHOLE = [kind for kind in KINDS if kind not in PAIRED]
SIZES = {"none": 0, "one": 1, "odd": 1003, "1 MiB": 1 << 20}
SAMPLE = {(2, "one", False), (3, "odd", True), (4, "none", False)}


def cases():
    types = itertools.cycle(["f32", "i32", "u8", "f64", "i64", "f16", "bf16"])
    for kind, ranks, (name, size), in_place in itertools.product(WHOLE, (2, 3, 4, 8), SIZES.items(), (False, True)):
        if in_place and kind == "all_to_all":
            continue
        is_sample = (ranks, name, in_place) in SAMPLE or (kind, ranks, name) == ("all_reduce", 8, "odd")
        type_name = next(types)
        count = size // ELEMENT_SIZES[type_name] if name == "1 MiB" else size
        identity = f"{kind}-{ranks}-{name}-{'in place' if in_place else 'apart'}"
        marks = [] if is_sample else [pytest.mark.long]
        yield pytest.param(kind, type_name, ranks, count, in_place, id=identity, marks=marks)


class Ends:
    """The memory of one rank for one operation, between bytes that nobody may touch."""

    def __init__(self, device, operation, rank, ranks, values, in_place=False):
        sent, self.received = operation.sent(rank, ranks), operation.received(rank, ranks)
        start, self.start = GUARD, GUARD if in_place else 2 * GUARD + sent
        if in_place and sent and self.received:
            inner = operation.in_place_offset(rank)
            start, self.start = (GUARD + inner, GUARD) if sent < self.received else (GUARD, GUARD + inner)
        end = max(start + sent, self.start + self.received)
        self.before = np.full(-(-end // GUARD + 1) * GUARD + GUARD, 0xAB, np.uint8)
        self.before[start : start + sent] = values.view(np.uint8)[:sent]
        self.buffer = device.from_host(self.before)
        self.source, self.target = self.buffer.view(start, sent), self.buffer.view(self.start, self.received)

    def check(self, expected):
        """What is received is there, and nothing else has changed."""
        end, after = self.start + self.received, self.buffer.to_host()
        if expected is not None:
            np.testing.assert_array_equal(after[self.start : end], expected.view(np.uint8))
        self.before[self.start : end] = after[self.start : end]
        np.testing.assert_array_equal(after, self.before)


def sent(kind, type_name, count, ranks):
    """What every rank sends."""
    return [sent_values(NUMPY_NAMES[type_name], count * sent_blocks(kind, ranks), rank) for rank in range(ranks)]


def facts(kind, ranks, reduction="sum"):
    return reduction if kind in REDUCING else None, ranks - 1 if kind in ROOTED else None


@pytest.mark.parametrize(("kind", "type_name", "ranks", "count", "in_place"), list(cases()))
def test_a_collective_says_what_numpy_says(channels, kind, type_name, ranks, count, in_place):
    channel = channels(ranks)
    reduction, root = facts(kind, ranks)
    values = sent(kind, type_name, count, ranks)
    operation = Collective(kind, type_name, count, reduction or "", root or 0)
    ends, buffers = [], []
    for rank in channel:
        end = Ends(rank.device, operation, rank.number, ranks, values[rank.number], in_place)
        with rank.device.command_buffer() as cb:
            cb.collective(
                kind, rank, end.source, end.target, type=type_name, reduction=reduction, root=root, count=count
            )
        assert len(cb.recording) == (count > 0)
        ends.append(end)
        buffers.append(cb)
    for cb in buffers:
        cb.replay()
    expected = received(kind, values, reduction or "sum", NUMPY_NAMES[type_name], root or 0)
    for end, each in zip(ends, expected, strict=True):
        end.check(each)


@pytest.mark.parametrize("ranks", [2, pytest.param(8, marks=pytest.mark.long)])
def test_elements_of_every_type_are_reduced_in_every_way(channels, backend, ranks):
    channel, count = channels(ranks), 37
    types = [name for name in NUMPY_NAMES if backend == "hsa" or name not in ("i16", "u16")]
    wanted = list(itertools.product(types, REDUCTIONS))
    values = {name: sent("all_reduce", name, count, ranks) for name in types}
    ends, buffers = [], []
    for rank in channel:
        of_rank = [
            Ends(rank.device, Collective("all_reduce", name, count), rank.number, ranks, values[name][rank.number])
            for name, _ in wanted
        ]
        calls = [
            {"op": "all_reduce", "source": end.source, "target": end.target, "type": name, "reduction": reduction}
            for (name, reduction), end in zip(wanted, of_rank, strict=True)
        ]
        with rank.device.command_buffer() as cb:
            cb.collective_group(channel, calls)
        assert len(cb.recording) == 1
        ends.append(of_rank)
        buffers.append(cb)
    for cb in buffers:
        cb.replay()
    for position, (name, reduction) in enumerate(wanted):
        expected = received("all_reduce", values[name], reduction, NUMPY_NAMES[name])
        for of_rank, each in zip(ends, expected, strict=True):
            of_rank[position].check(each)


@pytest.mark.parametrize("type_name", ["i16", "u16"])
def test_integers_of_16_bits_are_moved_everywhere(channels, type_name):
    channel = channels(2)
    values = sent("all_to_all", type_name, 5, 2)
    ends = [
        Ends(rank.device, Collective("all_to_all", type_name, 5), rank.number, 2, values[rank.number])
        for rank in channel
    ]
    for rank, end in zip(channel, ends, strict=True):
        with rank.device.command_buffer() as cb:
            cb.collective("all_to_all", channel, end.source, end.target, type=type_name)
        cb.replay()
    for end, each in zip(ends, received("all_to_all", values, "", NUMPY_NAMES[type_name]), strict=True):
        end.check(each)


@pytest.mark.parametrize("size", [1, 1003, pytest.param(1 << 20, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "ranks", [2, 3, pytest.param(4, marks=pytest.mark.long), pytest.param(8, marks=pytest.mark.long)]
)
def test_ranks_that_send_to_each_other_in_one_group_receive(channels, ranks, size):
    channel = channels(ranks)
    values = [sent_values("uint8", size, rank) for rank in range(ranks)]
    arrays = [(rank.device.asarray(values[rank.number]), rank.device.zeros(size, np.uint8)) for rank in channel]
    for rank, (source, target) in zip(channel, arrays, strict=True):
        with rank.device.command_buffer() as cb:
            cb.collective_group(
                channel,
                [
                    {"op": "receive", "target": target, "peer": (rank.number - 1) % ranks},
                    {"op": "send", "source": source, "peer": (rank.number + 1) % ranks},
                ],
            )
        cb.replay()
    for rank, (_, target) in enumerate(arrays):
        np.testing.assert_array_equal(target.to_host(), values[(rank - 1) % ranks])


def test_one_rank_sends_and_another_receives_while_the_others_take_no_part(channels):
    channel = channels(4)
    source, target = channel[3].device.asarray(np.arange(5.0)), channel[1].device.zeros(5, np.float64)
    with channel[3].device.command_buffer() as first:
        first.collective("send", channel, source, peer=1)
    with channel[1].device.command_buffer() as second:
        second.collective("receive", channel, target=target, peer=3)
    first.replay()
    second.replay()
    np.testing.assert_array_equal(target.to_host(), np.arange(5.0))


@pytest.mark.parametrize("mode", ["graph", "stream"])
def test_each_rank_may_have_a_thread_of_its_own(channels, mode):
    channel = channels(3)

    def work(rank):
        x = rank.device.asarray(np.full(100, rank.number + 1, np.int32))
        with rank.device.command_buffer() as cb:
            cb.collective("all_reduce", channel, x, x)
            cb.execution_barrier()
            cb.collective("all_reduce", channel, x, x, reduction="max")
        for _ in range(3):
            cb.replay(mode=mode)
        return x.to_host()

    with ThreadPoolExecutor(3) as threads:
        for result in threads.map(work, channel):
            np.testing.assert_array_equal(result, np.full(100, 6 * 3 * 3, np.int32))


def test_replays_of_several_programs_meet_in_the_order_in_which_they_are_called(channels):
    channel, programs, arrays = channels(2), [], []
    for rank in channel:
        x, y = (rank.device.asarray(np.full(3, rank.number + add, np.int64)) for add in (1, 10))
        with rank.device.command_buffer() as first:
            first.collective("all_reduce", channel, x, x)
        with rank.device.command_buffer() as second:
            second.collective("all_reduce", channel, y, y, reduction="prod")
        programs.append((first, second))
        arrays.append((x, y))
    for of_rank in programs:  # one rank is three replays ahead of the other
        for number in (0, 1, 0):
            of_rank[number].replay()
    for x, y in arrays:
        assert (x.to_host().tolist(), y.to_host().tolist()) == ([6] * 3, [110] * 3)


@pytest.mark.parametrize("dependencies", ["barriers", "inferred"])
def test_what_is_before_and_behind_a_collective_is_in_order(channels, dependencies):
    channel, results = channels(2), []
    for rank in channel:
        device = rank.device
        x, y, z = (device.zeros(64, np.uint32) for _ in range(3))
        with device.command_buffer(dependencies=dependencies) as cb:
            for step in range(3):
                cb.fill_buffer(x, rank.number + 10 * step)
                cb.execution_barrier() if dependencies == "barriers" else None
                cb.collective("all_gather", channel, x.view(np.uint32)[:32], y)
                cb.execution_barrier() if dependencies == "barriers" else None
                cb.copy_buffer(y, z)
        assert cb.recording.dependencies is None or 4 in cb.recording.dependencies[5]
        cb.replay()
        cb.replay()
        results.append((device, z))
    for _, z in results:
        assert z.to_host().tolist() == [20] * 32 + [21] * 32


@pytest.mark.parametrize("mode", ["graph", "stream"])
def test_memory_in_slots_is_another_at_each_replay(channels, mode):
    channel, programs = channels(2), []
    for rank in channel:
        with rank.device.command_buffer(binding_capacity=2) as cb:
            cb.fill_buffer(Slot(1, 0, 16), 0)
            cb.execution_barrier()
            cb.collective("reduce_scatter", channel, Slot(0), Slot(1, 4), type="u32", count=2)
        programs.append(cb)
    for step in range(3):
        arrays = [
            (rank.device.asarray(np.arange(4, dtype=np.uint32) * (rank.number + step)), rank.device.ones(4, np.uint32))
            for rank in channel
        ]
        for cb, (source, target) in zip(programs, arrays, strict=True):
            cb.replay(bindings=[source, target], mode=mode)
        for number, (_, target) in enumerate(arrays):
            total = np.arange(4, dtype=np.uint32) * (2 * step + 1)
            assert target.to_host().tolist() == [0, *total[2 * number : 2 * number + 2], 0]


def test_collectives_that_share_no_memory_come_in_the_recorded_order_on_every_rank(channels):
    channel, results = channels(2), []
    for rank in channel:
        device = rank.device
        x, y = device.zeros(8, np.uint32), device.asarray(np.arange(8, dtype=np.uint32))
        with device.command_buffer(dependencies="inferred") as cb:
            if rank.number:
                cb.fill_buffer(x, 5)
                cb.fill_buffer(x, 7)
            cb.collective("all_reduce", channel, x, x)
            cb.collective("all_reduce", channel, y, y, reduction="max", count=8 - 4)
        assert cb.recording.dependencies[-1] == (len(cb.recording) - 2,)
        cb.replay()
        results.append((x, y))
    for x, y in results:
        assert (x.to_host().tolist(), y.to_host().tolist()) == ([7] * 8, list(range(8)))


def test_a_nested_recording_has_collectives(channels):
    channel, results = channels(2), []
    for rank in channel:
        x = rank.device.asarray(np.arange(6, dtype=np.float32) * (rank.number + 1))
        with rank.device.command_buffer(binding_capacity=1) as inner:
            inner.collective("all_reduce", rank, Slot(0), Slot(0), type="f32", count=6, reduction="avg")
        with rank.device.command_buffer() as outer:
            outer.execute_commands(inner, [x])
            outer.execution_barrier()
            outer.execute_commands(inner, [x])
        outer.replay()
        results.append(x)
    for x in results:
        np.testing.assert_array_equal(x.to_host(), np.arange(6, dtype=np.float32) * 1.5)


def test_commands_are_timed_where_every_rank_times_them(channels):
    channel = channels(2)

    def work(rank):
        x = rank.device.ones(16, np.int32)
        with rank.device.command_buffer() as cb:
            cb.collective("all_reduce", channel, x, x)
        profile = cb.program.profile(1)
        return len(profile.commands), x.to_host()[0]

    with ThreadPoolExecutor(2) as threads:
        assert [times for times, _ in threads.map(work, channel)] == [1, 1]
