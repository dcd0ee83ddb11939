"""Channels: which ranks they have, what is refused, what stays when something fails, and collectives in files."""

from __future__ import annotations

from collections import Counter
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from support.collection import collect
from support.fakes import FakeBuffer, FakeRank

from hipgraph_cb import Recording, Slot, open_devices
from hipgraph_cb.capture.diff import compare
from hipgraph_cb.errors import (
    DeadlineExceededError,
    FailedPreconditionError,
    HipError,
    HipGraphError,
    HsaError,
    InvalidArgumentError,
    NoSuchIndexError,
    NotFoundError,
    RcclError,
    UnavailableError,
    UnimplementedError,
)
from hipgraph_cb.hip import rccl
from hipgraph_cb.hip.api import HipApi
from hipgraph_cb.hip.rccl import RcclApi
from hipgraph_cb.hsa.api import HsaApi
from hipgraph_cb.hsa.functions import FUNCTIONS
from hipgraph_cb.opening import virtual_runtime
from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.runtime.channel import Channel
from hipgraph_cb.virtual.install import install_rccl


@pytest.fixture
def pair(backend):
    """Two devices of a group that the test may close, connected."""
    with open_devices(backend, devices=[0, 3]) as group, group.channel(label="pair") as channel:
        yield channel


def all_reduced(channel):
    """A command buffer of each rank, and the array that it reduces in place."""
    made = []
    for rank in channel:
        x = rank.device.asarray(np.arange(8, dtype=np.int32) + rank.number)
        with rank.device.command_buffer(label=f"rank {rank.number}") as cb:
            cb.collective("all_reduce", channel, x, x)
        made.append((cb, x))
    return made


def test_a_channel_has_a_rank_on_each_of_some_members(group):
    with group.channel(0b1010, "odd") as channel:
        assert [rank.device for rank in channel] == [group[1], group[3]]
        assert [(rank.number, rank.size) for rank in channel] == [(0, 2), (1, 2)]
        assert channel.on(group[3]) is channel[-1]
        assert channel[:1] == (channel[0],)
        assert repr(channel) == "<channel `odd` of 2 ranks>"
        assert repr(channel[1]) == "<rank `odd`: 1 of 2>"
        with pytest.raises(NoSuchIndexError) as raised:
            channel[2]
        assert str(raised.value) == "channel[...]: no such rank\n  found: 2\n  allowed: 0 to 1"
        with pytest.raises(InvalidArgumentError, match="has no rank on this device"):
            channel.on(group[0])
    assert all(rank.closed for rank in channel)


def test_a_channel_of_one_rank_moves_bytes_within_it(group):
    with group.channel([2]) as channel:
        x, y = group[2].asarray(np.arange(5.0)), group[2].zeros(5, np.float64)
        with group[2].command_buffer() as cb:
            cb.collective("all_reduce", channel, x, y)
        cb.replay()
        np.testing.assert_array_equal(y.to_host(), np.arange(5.0))


def test_a_closed_channel_records_nothing_more_and_programs_go_on(pair):
    made = all_reduced(pair)
    pair.close()
    for cb, _ in made:
        cb.replay()
    for _, x in made:
        assert x.to_host().tolist() == list(range(1, 17, 2))
    with pytest.raises(FailedPreconditionError) as raised, pair[0].device.command_buffer(label="late") as cb:
        cb.collective("all_reduce", pair, made[0][1], made[0][1])
    assert raised.value.what == "on: channel `pair` is closed"
    with pytest.raises(FailedPreconditionError), pair[0].device.command_buffer() as cb:
        cb.collective("all_reduce", pair[0], made[0][1], made[0][1])


def test_what_a_channel_has_goes_with_its_last_user(pair, backend):
    table = install_rccl(virtual_runtime().machine.targets).runtime.communicators
    before = len(table)
    made = all_reduced(pair)
    pair.close()
    collect()
    assert len(table) == before
    for cb, _ in made:
        cb.program.close()
    collect()
    assert len(table) == before - (2 if backend == "hip" else 0)


def message(record):
    """What a call of a command buffer of rank 1 of 2 answers."""
    cb = CommandBuffer(binding_capacity=2).begin()
    with pytest.raises(HipGraphError) as raised:
        record(cb, FakeRank("ring"))
    cb.end()
    assert len(cb.recording) == 0
    assert not cb.recording.resources.buffers
    return str(raised.value).split("\n", 1)[0], raised.value


REFUSED = {
    "operation": (
        lambda cb, rank, x, y: cb.collective("reduce_all", rank, x, y, type="f32"),
        "collective: no such operation",
    ),
    "no operation": (
        lambda cb, rank, x, y: cb.collective(7, rank, x, y, type="f32"),
        "collective: an operation is named by a text",
    ),
    "type": (
        lambda cb, rank, x, y: cb.collective("all_reduce", rank, x, y, type="f8"),
        "collective: no such element type",
    ),
    "no type": (
        lambda cb, rank, x, y: cb.collective("all_reduce", rank, x, y),
        "collective: the type of an element is not known",
    ),
    "reduction": (
        lambda cb, rank, x, y: cb.collective("all_reduce", rank, x, y, type="f32", reduction="xor"),
        "collective: no such reduction",
    ),
    "nothing to reduce": (
        lambda cb, rank, x, y: cb.collective("broadcast", rank, x, y, type="f32", reduction="sum"),
        "collective: broadcast reduces nothing",
    ),
    "root": (lambda cb, rank, x, y: cb.collective("reduce", rank, x, y, type="f32", root=2), "collective: bad root"),
    "no root": (
        lambda cb, rank, x, y: cb.collective("all_reduce", rank, x, y, type="f32", root=1),
        "collective: all_reduce has no root",
    ),
    "itself": (lambda cb, rank, x, y: cb.collective("send", rank, x, type="f32", peer=1), "collective: bad peer"),
    "no peer": (lambda cb, rank, x, y: cb.collective("send", rank, x, type="f32"), "collective: send needs a peer"),
    "peer of all": (
        lambda cb, rank, x, y: cb.collective("all_reduce", rank, x, y, type="f32", peer=0),
        "collective: all_reduce has no peer",
    ),
    "root of two": (
        lambda cb, rank, x, y: cb.collective("send", rank, x, type="f32", peer=0, root=0),
        "collective: send has no root",
    ),
    "no source": (
        lambda cb, rank, x, y: cb.collective("all_reduce", rank, None, y, type="f32"),
        "source is no device memory",
    ),
    "sizes": (
        lambda cb, rank, x, y: cb.collective("all_gather", rank, x, y, type="f32"),
        "collective: how many elements all_gather is of cannot be told",
    ),
    "part of an element": (
        lambda cb, rank, x, y: cb.collective("send", rank, x.view(0, 10), type="f32", peer=0),
        "collective: how many elements send is of cannot be told",
    ),
    "open": (
        lambda cb, rank, x, y: cb.collective("all_reduce", rank, Slot(0), Slot(1), type="f32"),
        "collective: how many elements all_reduce is of cannot be told",
    ),
    "too small": (
        lambda cb, rank, x, y: cb.collective("all_reduce", rank, x, y, type="f32", count=17),
        "collective: the source is too small",
    ),
    "misaligned": (
        lambda cb, rank, x, y: cb.collective("all_reduce", rank, x.view(2, 8), y.view(0, 8), type="f32"),
        "collective: the source of all_reduce sum of 2 f32 is misaligned",
    ),
    "overlap": (
        lambda cb, rank, x, y: cb.collective("all_reduce", rank, x.view(0, 8), x.view(4, 8), type="f32"),
        "collective: source and target of all_reduce sum of 2 f32 overlap",
    ),
    "another rank's block": (
        lambda cb, rank, x, y: cb.collective("all_gather", rank, x.view(0, 8), x.view(0, 16), type="f32"),
        "collective: source and target of all_gather of 2 f32 overlap",
    ),
    "no channel": (
        lambda cb, rank, x, y: cb.collective("all_reduce", x, x, y, type="f32"),
        "collective: not a channel",
    ),
    "no list": (
        lambda cb, rank, x, y: cb.collective_group(rank, {"op": "send"}),
        "calls is not a list",
    ),
    "no mapping": (
        lambda cb, rank, x, y: cb.collective_group(rank, ["send"]),
        "collective_group: not the arguments of an operation",
    ),
    "unknown argument": (
        lambda cb, rank, x, y: cb.collective_group(rank, [{"op": "send", "to": 0}]),
        "collective_group: not the arguments of an operation",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_collective_is_refused_and_leaves_no_trace(name):
    call, expected = REFUSED[name]
    found, _ = message(lambda cb, rank: call(cb, rank, FakeBuffer(64, "x"), FakeBuffer(64, "y")))
    assert found == expected


def test_a_refusal_says_where_and_what_is_allowed():
    x = FakeBuffer(64, "x")
    _, error = message(lambda cb, rank: cb.collective("all_gather", rank, x.view(0, 8), x.view(0, 16), type="f32"))
    assert str(error) == (
        "collective: source and target of all_gather of 2 f32 overlap\n"
        "  where: command 0\n"
        "  found: bytes 0 to 8 and 0 to 16 of one memory\n"
        "  allowed: memory apart, or in place: the smaller one 8 bytes behind the start of the larger one"
    )


def test_overlaps_in_slots_are_refused_at_replay(pair):
    device = pair[0].device
    with device.command_buffer(binding_capacity=2) as cb:
        cb.collective("all_reduce", pair, Slot(0), Slot(1), type="f32", count=4)
    x = device.zeros(8)
    with pytest.raises(InvalidArgumentError, match="overlap"):
        cb.replay(bindings=[x[:4], x[2:6]])


def test_a_rank_on_another_device_is_refused(pair):
    with pytest.raises(InvalidArgumentError, match="belongs to another device"), pair[0].device.command_buffer() as cb:
        cb.collective("all_reduce", pair[1], pair[0].device.zeros(4), pair[0].device.zeros(4))


def test_collectives_are_neither_switched_off_nor_run_twice_to_be_compared(pair):
    cb, _ = all_reduced(pair)[0]
    with pytest.raises(UnimplementedError, match="enabled: collective cannot be switched off"):
        cb.program[0].enabled = False
    with pytest.raises(UnimplementedError, match="other ranks would have to take part in each"):
        cb.replay(check="stream")


def test_a_recording_with_collectives_is_saved_loaded_and_compared(pair, tmp_path):
    (cb, _), (other, _) = all_reduced(pair)
    cb.recording.save(tmp_path / "rank.hgcb")
    loaded = Recording.load(tmp_path / "rank.hgcb")
    assert loaded == cb.recording
    assert [str(each.collective) for each in loaded[0].operations] == ["all_reduce sum of 8 i32"]
    assert "channel `pair`, rank 0 of 2" in loaded.to_dot()
    assert not compare(loaded, other.recording).is_empty
    device = pair[0].device
    x = device.asarray(np.arange(8, dtype=np.int32))
    with pytest.raises(NotFoundError, match="nothing is given for resource"):
        device.program(loaded, resources={1: x.buffer})
    with pytest.raises(InvalidArgumentError) as raised:
        device.program(loaded, resources={0: pair[1], 1: x.buffer})
    assert (raised.value.found, raised.value.allowed) == ("rank 1 of 2", "rank 0 of a channel of 2")
    device.program(loaded, resources={"pair": pair[0], 1: x.buffer}).replay()
    other.replay()
    assert x.to_host().tolist() == list(range(1, 17, 2))


def test_a_rank_whose_partner_does_not_come_is_waited_for_no_longer_than_it_is_said(pair):
    (cb, _), (other, y) = all_reduced(pair)
    cb.replay()
    with pytest.raises(DeadlineExceededError, match="rank 0"):
        pair[0].device.synchronize(timeout=0.05)
    other.replay()
    assert y.to_host().tolist() == list(range(1, 17, 2))


def test_ranks_that_do_not_agree_are_reported(pair, backend):
    (cb, x), _ = all_reduced(pair)
    device = pair[1].device
    y = device.zeros(8, np.int32)
    with device.command_buffer(label="wrong") as wrong:
        wrong.collective("all_reduce", pair, y, y, reduction="max")
    cb.replay()
    texts = "rank 1", "all_reduce max of 8 i32", "all_reduce sum of 8 i32"
    with pytest.raises(HipGraphError) as raised:
        wrong.replay()
        device.synchronize()
    assert all(text in str(raised.value) for text in texts), str(raised.value)
    if backend == "hsa":  # nothing was enqueued: the right operation may follow
        with device.command_buffer() as right:
            right.collective("all_reduce", pair, y, y)
        right.replay()
        assert x.to_host().tolist() == y.to_host().tolist() == list(range(8))
    else:
        with pytest.raises(HipError):
            pair[0].device.synchronize()


def test_without_rccl_a_channel_is_refused_with_the_reason(monkeypatch, tmp_path):
    monkeypatch.setattr(rccl, "SONAME", "librccl.so.missing")
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))
    rccl.library.cache_clear()
    try:
        with open_devices("hip", devices=[0, 3]) as group:
            with pytest.raises(UnavailableError) as raised:
                group.channel()
            assert raised.value.what == "channel: RCCL cannot be loaded"
            assert str(tmp_path / "lib" / "librccl.so.missing") in raised.value.found
            assert "backend='hsa'" in raised.value.next_step
    finally:
        rccl.library.cache_clear()


def test_devices_that_do_not_reach_each_other_are_refused_on_hsa(monkeypatch):
    with open_devices("hsa", devices=[0, 3]) as group:
        monkeypatch.setattr(type(group[0]), "can_access", lambda one, other: one is other)
        with pytest.raises(UnavailableError) as raised:
            group.channel()
        assert raised.value.what == "channel: a device does not reach the memory of another one"


@pytest.mark.parametrize("type_name", ["i16", "u16"])
def test_rccl_does_not_reduce_integers_of_16_bits(groups, type_name):
    with open_devices("hip", devices=[0, 3]) as group, group.channel() as channel:
        x = group[0].zeros(4, np.uint16)
        with pytest.raises(UnimplementedError) as raised, group[0].command_buffer() as cb:
            cb.collective("all_reduce", channel, x, x, type=type_name)
        assert raised.value.what == f"collective: RCCL does not reduce elements of type {type_name}"
        assert raised.value.where == "command 0"


def test_memory_that_other_devices_do_not_reach_is_refused_on_hsa():
    with open_devices("hsa", devices=[0, 3]) as group, group.channel() as channel:
        theirs = group[0].allocate(64)
        imported = group[0].import_buffer(theirs.address, 64)
        with group[0].command_buffer(label="foreign") as cb:
            cb.collective("all_reduce", channel, imported, imported, type="f32")
        with pytest.raises(UnimplementedError) as raised:
            cb.replay()
        assert raised.value.what == "collective: the other ranks do not reach this memory"
        assert raised.value.where == "command 0 in 'foreign'"


CALLS = {HipApi: (999, HipError), RcclApi: (3, RcclError), HsaApi: (0x1000, HsaError)}
"""By class: a code that its functions fail with, and the error."""


NEW = {
    "hip": {
        "ncclCommInitAll",
        "ncclGroupStart",
        "ncclGroupEnd",
        "ncclAllReduce",
        "ncclSend",
        "ncclRecv",
        "ncclCommDestroy",
        "hipStreamBeginCaptureToGraph",
        "hipStreamGetCaptureInfo_v2",
        "hipStreamEndCapture",
    },
    "hsa": {
        "hsa_signal_create",
        "hsa_amd_memory_pool_allocate",
        "hsa_amd_agents_allow_access",
        "hsa_executable_freeze",
    },
}
"""By backend: what channels and collectives call."""


@pytest.fixture
def failing(monkeypatch):
    """Calls of runtimes are listed; the one with the number in `failing.number` fails. It is not made, unless it ends
    a group."""
    listed = SimpleNamespace(calls=[], number=None, failed=[])
    for api, (code, kind) in CALLS.items():

        def call(self, name, *arguments, api=api, real=api.call, code=code, kind=kind, **options):
            if not name.startswith("hsa_") or FUNCTIONS[name].returns_status:
                listed.calls.append(name)
                if len(listed.calls) - 1 == listed.number:
                    listed.failed.append(name)
                    if api is RcclApi:  # a group that is open fails, as with RCCL itself
                        self.library.ncclAllReduce(None, None, 1, 0, 0, None, None)
                    if name != "ncclGroupEnd":
                        raise kind(name, code, "injected")
            return real(self, name, *arguments, **options)

        monkeypatch.setattr(api, "call", call)
    return listed


def twice(step):
    """Do it again where it fails at first."""
    try:
        return step()
    except (HipError, RcclError, HsaError):
        return step()


def record(rank, x, y):
    number, peers = rank.number, {"send": 1 - rank.number, "receive": 1 - rank.number}
    with rank.device.command_buffer(label=f"rank {number}") as cb:
        cb.fill_buffer(y, 0)
        cb.execution_barrier()
        cb.collective_group(
            rank,
            [
                {"op": "all_reduce", "source": x[:4], "target": y[:4]},
                {"op": "receive", "target": y[4:], "peer": peers["receive"]},
                {"op": "send", "source": x[4:], "peer": peers["send"]},
            ],
        )
    return cb


def exchange(devices, arrays):
    """Connect, record, replay and close; each step again where it fails."""
    channel = Channel(twice(lambda: devices[0]._connect(devices, None)), None)
    programs = [twice(partial(record, rank, *ends)) for rank, ends in zip(channel, arrays, strict=True)]
    for mode in ("graph", "stream"):
        for cb in programs:
            twice(partial(cb.replay, mode=mode))
    for device in devices:
        twice(device.synchronize)
    found = [twice(y.to_host).tolist() for _, y in arrays]
    assert found == [[1, 3, 5, 7, 5, 6, 7, 8], [1, 3, 5, 7, 4, 5, 6, 7]]
    for cb in programs:
        cb.program.close()
    channel.close()


def living(devices):
    """How many things the virtual runtimes have, when all that was retired has gone."""
    collect()
    for device in devices:
        device.synchronize()
        device.backlog.sweep()
    rccl_runtime = install_rccl(virtual_runtime().machine.targets).runtime
    hip, hsa = rccl_runtime.hip, virtual_runtime("hsa").runtime
    allocations = Counter(each.label for each in hip.memory.allocations() if each.label != "kernels of collectives")
    tables = (rccl_runtime.communicators, hip.streams, hip.graphs, hip.modules, hsa.executables, hsa.queues)
    return allocations, [len(table) for table in tables]


@pytest.mark.parametrize("which", ["new", pytest.param("all", marks=pytest.mark.long)])
def test_any_failed_call_leaves_nothing_behind_and_the_recorder_usable(backend, pair, failing, caplog, which):
    devices = [rank.device for rank in pair]
    arrays = [
        (device.asarray(np.arange(8) + number), device.zeros(8, np.int64)) for number, device in enumerate(devices)
    ]
    exchange(devices, arrays)
    before = living(devices)
    failing.calls = []
    exchange(devices, arrays)
    calls = failing.calls
    assert NEW[backend] <= set(calls)
    for number, name in enumerate(calls):
        if which != "all" and (calls.index(name) != number or name not in NEW[backend]):
            continue
        failing.calls, failing.number, failing.failed = [], number, []
        caplog.clear()
        exchange(devices, arrays)
        failing.number = None
        assert len(failing.failed) == 1
        after = living(devices)
        if "a release failed and counts as done" not in caplog.text:
            assert after == before, f"call {number}, {name}"
        before = after


def test_a_rank_writes_its_own_memory_while_another_waits_for_it(pair):
    """Rank 1 is under way and waits for rank 0, whose memory no program of rank 1 names."""
    (first, x), (second, y) = all_reduced(pair)
    second.replay()
    x.write(np.full(8, 5, np.int32))
    first.replay()
    expected = (np.arange(8) + 1 + 5).tolist()
    assert [each.to_host().tolist() for each in (x, y)] == [expected, expected]
