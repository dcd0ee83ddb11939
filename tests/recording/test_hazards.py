"""Hazards: barriers that are missing, and barriers that order nothing."""

import itertools
import random

import pytest
from support import elf
from support.containers import Export, wrapped
from support.fakes import POINTER, FakeBuffer, FakeExecutable, FakeLayout, FakeParameter, FakeVerifiedExport, executable
from support.kernels import clang_kernels
from support.steps import steps

from hipgraph_cb.code_object.verify import inspect
from hipgraph_cb.code_object.wrapper import BindingFlag
from hipgraph_cb.errors import FailedPreconditionError, InvalidArgumentError
from hipgraph_cb.recording.command_buffer import CommandBuffer, State
from hipgraph_cb.recording.commands import Range, SlotRange
from hipgraph_cb.recording.hazard_policy import HazardPolicy, HazardWarning
from hipgraph_cb.recording.hazards import HazardKind, IdleBarrier, MissingBarrier, findings
from hipgraph_cb.recording.resources import Slot


def record(*calls, label="step"):
    """B puts a barrier."""
    with CommandBuffer(label=label, binding_capacity=4) as cb:
        for call in calls:
            cb.execution_barrier() if call == "B" else call(cb)
    return cb.recording


def fake_kernel(export, **access):
    """A kernel with one pointer, of which the metadata says `access`."""
    parameter = FakeParameter(0, "p", 0, 8, POINTER, "float*")
    facts = {"access": None, "is_const": False} | access
    for name, value in facts.items():
        object.__setattr__(parameter, name, value)
    return FakeVerifiedExport(export, FakeLayout((parameter,), 8))


def kernel(**access):
    return executable(fake_kernel("k", **access))["k"]


def fill(place, **options):
    return lambda cb: cb.fill_buffer(place, 0, **options)


def copy(source, target, **options):
    return lambda cb: cb.copy_buffer(source, target, **options)


def launch(export, *args, **options):
    return lambda cb: cb.dispatch(export, 1, 64, args=args, **options)


@pytest.fixture
def z():
    return FakeBuffer(4096, "z")


def test_a_copy_from_what_is_filled_without_a_barrier_is_named(x, y):
    (finding,) = record(fill(x, label="clear"), copy(x.view(0, 64), y.view(0, 64))).hazards()
    assert finding == MissingBarrier(
        0,
        1,
        Range(0, 0, 64),
        HazardKind.READ_AFTER_WRITE,
        True,
        "command 1 in 'step' reads `x`[0:64], which command 0 'clear' in 'step' writes: no barrier between them",
    )


def test_the_three_kinds_are_told_apart(x, y, z):
    (war,) = record(copy(x, y), fill(x)).hazards()
    (waw,) = record(fill(x), fill(x)).hazards()
    assert (war.kind, war.certain) == (HazardKind.WRITE_AFTER_READ, True)
    assert (
        str(war) == "command 1 in 'step' writes `x`[0:4096], which command 0 in 'step' reads: no barrier between them"
    )
    assert (waw.kind, waw.certain) == (HazardKind.WRITE_AFTER_WRITE, True)
    assert record(copy(x, y), copy(x, z)).hazards() == ()


def test_a_barrier_orders_everything_across_it(x, y, z):
    assert record(fill(x), "B", copy(x, y), "B", copy(y, z)).hazards() == ()


@pytest.mark.parametrize(("offset", "found"), [(63, True), (64, False)])
def test_only_shared_bytes_conflict(x, offset, found):
    finding = record(fill(x, length=64), lambda cb: cb.update_buffer(x, b"ab", offset=offset)).hazards()
    assert [each.place for each in finding] == ([Range(0, 63, 1)] if found else [])


def test_the_metadata_says_what_a_kernel_does(x):
    for access, kinds in (
        ({"access": "read_only"}, []),
        ({"is_const": True}, []),
        ({"access": "write_only"}, [(HazardKind.WRITE_AFTER_WRITE, True)]),
        ({"access": "read_write"}, [(HazardKind.READ_AFTER_WRITE, True)]),
        ({}, [(HazardKind.READ_AFTER_WRITE, False)]),
    ):
        recording = record(launch(kernel(**access), x), launch(kernel(**access), x))
        assert [(each.kind, each.certain) for each in recording.hazards()] == kinds


def test_an_unknown_access_says_may(x):
    (finding,) = record(fill(x), launch(kernel(), x)).hazards()
    assert str(finding) == (
        "command 1 in 'step' may read `x`[0:4096], which command 0 in 'step' writes: no barrier between them"
    )
    assert list(findings(record(fill(x), launch(kernel(), x)), certain_only=True)) == []


def test_the_caller_may_declare_what_a_kernel_does(x, y):
    reading = launch(kernel(), x, reads=[x])
    assert record(reading, reading).hazards() == ()
    (finding,) = record(reading, launch(kernel(), x, writes=[x])).hazards()
    assert (finding.kind, finding.certain) == (HazardKind.WRITE_AFTER_READ, True)
    (both,) = record(fill(x), launch(kernel(), x, reads=[x], writes=[x])).hazards()
    assert (both.kind, both.certain) == (HazardKind.READ_AFTER_WRITE, True)


def test_memory_reached_by_other_ways_than_an_argument_can_be_declared(x, y):
    (finding,) = record(fill(y), launch(kernel(is_const=True), x, reads=[y.view(8, 8)])).hazards()
    assert finding.place == Range(0, 8, 8)


def test_a_real_kernel_is_known_by_its_const_pointers(x, y, z):
    saxpy = clang_kernels()["saxpy"]
    recording = record(launch(saxpy, x, z, 1.0, 1), launch(saxpy, y, z, 1.0, 1))
    assert recording.hazards() == ()
    chained = record(launch(saxpy, x, z, 1.0, 1), launch(saxpy, y, x, 1.0, 1)).hazards()
    assert [(each.kind, each.certain, each.place) for each in chained] == [
        (HazardKind.READ_AFTER_WRITE, False, Range(0, 0, 4096))
    ]


def test_one_command_never_conflicts_with_itself(x):
    saxpy = clang_kernels()["saxpy"]
    assert record(launch(saxpy, x, x, 1.0, 1)).hazards() == ()


def test_a_slot_conflicts_with_itself_and_its_open_end_reaches_far():
    (finding,) = record(fill(Slot(1, 8)), fill(Slot(1, 1 << 40, 4))).hazards()
    assert finding.place == SlotRange(1, 1 << 40, 4)
    (open_end,) = record(fill(Slot(1, 8)), fill(Slot(1, 4))).hazards()
    assert open_end.place == SlotRange(1, 8, None)
    assert "writes slot 1[8:], which" in str(open_end)
    assert record(fill(Slot(1)), fill(Slot(2))).hazards() == ()


def test_a_barrier_between_what_shares_nothing_is_named(x, y, z):
    recording = record(fill(x), "B", fill(y), "B", copy(y, z))
    assert recording.hazards() == (IdleBarrier(1, "the barrier before command 1 in 'step' orders nothing"),)


def test_a_barrier_between_readers_is_idle(x, y, z):
    assert [each.before for each in record(copy(x, y), "B", copy(x, z)).hazards()] == [1]


def test_a_barrier_that_may_order_something_is_not_called_idle(x, y):
    assert record(launch(kernel(), x), "B", launch(kernel(), x)).hazards() == ()
    assert record(fill(Slot(0)), "B", fill(x)).hazards() == ()
    assert record(fill(Slot(0)), "B", fill(Slot(1))).hazards() == ()


def test_findings_come_in_the_order_of_the_commands(x, y, z):
    recording = record(fill(x), fill(x), fill(x), "B", fill(y), fill(y))
    assert [each.position for each in recording.hazards()] == [(1, 0), (3, -1), (4, 3)]


def test_pairs_of_the_same_kinds_on_the_same_buffer_are_one_finding_with_the_first_pair_and_a_count(x, y):
    saxpy = clang_kernels()["saxpy"]
    reading = launch(saxpy, y, x, 1.0, 1, reads=[x], writes=[y])
    found = record(fill(x, label="clear"), reading, fill(x), "B", fill(x), fill(x)).hazards()
    assert [str(each) for each in found] == [
        "command 1 in 'step' reads `x`[0:4096], which command 0 'clear' in 'step' writes: no barrier between them, "
        "nor for 1 more of fill_buffer and kernel saxpy on `x`",
        "command 2 in 'step' writes `x`[0:4096], which command 0 'clear' in 'step' writes: no barrier between them, "
        "nor for 1 more of fill_buffer and fill_buffer on `x`",
    ]
    assert [each.count for each in found] == [2, 2]


def test_fifty_thousand_commands_that_all_conflict_are_counted_and_not_listed(x):
    count = 50_000
    (finding,) = record(*[fill(x)] * count).hazards()
    assert (finding.position, finding.count) == ((1, 0), count * (count - 1) // 2)


def test_kernels_are_not_told_apart_where_there_are_too_many_of_them(x):
    rows = [fake_kernel(f"k{number}") for number in range(40)]
    exports = executable(*rows)
    (finding,) = record(*[launch(exports[row.name], x) for row in rows]).hazards()
    assert (finding.count, finding.certain) == (40 * 39 // 2, False)
    assert str(finding).endswith(", nor for 779 more of dispatch and dispatch on `x`")


def test_findings_are_those_of_comparing_every_pair():
    """Against the definition, on random transfers: same layer, shared bytes, at least one write."""
    random_numbers = random.Random(5)
    for _ in range(60):
        buffers = [FakeBuffer(64, str(number)) for number in range(2)]
        layers, cb, layer = [], CommandBuffer().begin(), 0
        for _ in range(14):
            if random_numbers.random() < 0.3:
                cb.execution_barrier()
                layer += 1
                continue
            source, target = random_numbers.sample(range(2), 2)
            start, offset, length = (random_numbers.randrange(28) for _ in range(3))
            length += 1
            cb.copy_buffer(buffers[source], buffers[target], source_offset=start, target_offset=offset, length=length)
            layers.append(
                (
                    layer,
                    {(source, byte) for byte in range(start, start + length)},
                    {(target, byte) for byte in range(offset, offset + length)},
                )
            )
        cb.end()
        expected = {}
        for (first, one), (second, other) in itertools.combinations(enumerate(layers), 2):
            for before, after in ((1, 2), (2, 1), (2, 2)):
                if one[0] == other[0] and (shared := one[before] & other[after]):
                    group = min(shared)[0], before == after
                    expected.setdefault(group, []).append((second, first))
        found = [each for each in cb.recording.hazards() if isinstance(each, MissingBarrier)]
        assert {
            (
                int(cb.recording.resources.buffers[each.place.resource].label),
                each.kind is HazardKind.WRITE_AFTER_WRITE,
            ): (each.position, each.count)
            for each in found
        } == {group: (min(pairs), len(pairs)) for group, pairs in expected.items()}
        assert len(found) == len(expected)
        idle = {each.before for each in cb.recording.hazards() if isinstance(each, IdleBarrier)}
        groups = [[layers[index] for index in group] for group in cb.recording.layers]
        assert idle == {
            group[0]
            for group, before, after in zip(cb.recording.layers[1:], groups, groups[1:], strict=False)
            if not any(one[2] & (other[1] | other[2]) or one[1] & other[2] for one in before for other in after)
        }


def test_many_readers_of_one_buffer_are_not_compared_with_each_other():
    x, export = FakeBuffer(64), kernel(is_const=True)
    recordings = [record(*[launch(export, x)] * count) for count in (2_000, 16_000)]
    assert all(recording.hazards() == () for recording in recordings)
    few, many = (steps(lambda recording=recording: recording.hazards()) for recording in recordings)
    # Eight times the readers: a quadratic comparison would cost 64 times as much.
    assert many < 8.1 * few


def ended(policy, *calls):
    with CommandBuffer(label="step", hazards=policy) as cb:
        for call in calls:
            call(cb)
    return cb


def test_a_command_buffer_may_refuse_what_certainly_misses_a_barrier(x):
    cb = CommandBuffer(label="step", hazards="raise").begin()
    cb.fill_buffer(x, 0)
    cb.fill_buffer(x, 1)
    with pytest.raises(FailedPreconditionError) as caught:
        cb.end()
    assert str(caught.value) == (
        "a barrier is missing\n"
        "  where: recording 'step'\n"
        "  next: call execution_barrier() between the two commands\n"
        "command 1 in 'step' writes `x`[0:4096], which command 0 in 'step' writes: no barrier between them"
    )
    assert cb.state is State.FAILED


def test_what_is_only_possible_never_raises_and_is_warned_of(x):
    calls = (fill(x), launch(kernel(), x))
    assert ended("raise", *calls).state is State.FINAL
    with pytest.warns(HazardWarning, match="command 1 in 'step' may read") as caught:
        ended("warn", *calls)
    assert caught[0].filename == __file__


def test_by_default_nothing_is_said(x, recwarn):
    assert ended("ignore", fill(x), fill(x)).state is State.FINAL
    assert CommandBuffer()._hazards is HazardPolicy.IGNORE
    assert not recwarn.list


def test_a_message_lists_twenty_findings_and_says_that_there_are_more():
    with pytest.raises(FailedPreconditionError) as caught:
        ended("raise", *[fill(buffer) for buffer in [FakeBuffer(64) for _ in range(30)] * 2])
    assert caught.value.what == "barriers are missing"
    assert len(caught.value.detail.splitlines()) == 21
    assert caught.value.detail.endswith("\n...")


def test_another_policy_is_refused():
    with pytest.raises(InvalidArgumentError) as caught:
        CommandBuffer(hazards="shout")
    assert str(caught.value) == "hazards is no policy\n  found: 'shout'\n  allowed: 'ignore', 'warn', 'raise'"


def test_a_binding_that_a_wrapper_calls_read_only_is_no_write(x, y):
    """The same kernel, with and without the flag on its second binding."""
    rows = elf.kernel("k", [elf.pointer(0), elf.pointer(8)])
    found = {}
    for flag in (0, BindingFlag.READ_ONLY):
        data = wrapped(b"AMD1", [Export("k.kd", (64, 1, 1), 0, (0, flag))], [elf.code_object(rows)])
        export = FakeExecutable(inspect(data))["k"]
        calls = [lambda cb, b=b, e=export: cb.dispatch(e, 1, bindings=[b, y]) for b in (x.view(0, 64), x.view(64, 64))]
        found[flag] = [finding.certain for finding in record(*calls).hazards()]
    assert found == {0: [False], BindingFlag.READ_ONLY: []}
