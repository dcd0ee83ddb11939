"""Memory that a recording has for itself, on both backends."""

import gc
import weakref

import numpy as np
import pytest

from hipgraph_cb import Recording, Slot
from hipgraph_cb.capture.hgcb import load
from hipgraph_cb.capture.session import Session
from hipgraph_cb.errors import FailedPreconditionError, InvalidArgumentError, OutOfRangeError

MODES = pytest.mark.parametrize("mode", ["graph", "stream"])


def chain(cb, kernels, source, target, steps=4):
    """x -> 3x + 1, so many times, through a transient buffer for each step."""
    before = source
    for step in range(steps):
        after = target if step == steps - 1 else cb.transient(16, f"step {step}")
        cb.dispatch(kernels["scale_and_offset"], 1, bindings=[before, after], constants=[3, 1])
        cb.execution_barrier()
        before = after


@MODES
@pytest.mark.parametrize("dependencies", ["barriers", "inferred"])
def test_a_chain_of_kernels_goes_through_two_buffers(device, kernels, mode, dependencies):
    source, target = device.from_host(np.arange(4, dtype=np.uint32)), device.allocate(16)
    with device.command_buffer(dependencies=dependencies) as cb:
        chain(cb, kernels, source, target, steps=6)
    assert cb.recording.peak_transient_bytes == 256 + 16
    for _ in range(2):
        cb.replay(mode=mode)
    expected = np.arange(4, dtype=np.uint32)
    for _ in range(6):
        expected = expected * 3 + 1
    assert target.to_host(np.uint32).tolist() == expected.tolist()


def test_programs_of_one_recording_have_memory_of_their_own(device):
    x, y = device.from_host(b"\1" * 8), device.from_host(bytes(8))
    with device.command_buffer(binding_capacity=1) as cb:
        t = cb.transient(8)
        cb.copy_buffer(Slot(0, 0, 8), t)
        cb.execution_barrier()
        cb.copy_buffer(t, y)
    with device.stream() as one, device.stream() as two, device.program(cb.recording) as other:
        cb.replay(stream=one, bindings=[x])
        other.replay(stream=two, bindings=[x])
    assert y.to_host().tolist() == [1] * 8


@MODES
def test_rows_host_calls_and_views_use_it(device, mode):
    x, host, seen = device.from_host(np.arange(64, dtype=np.uint8)), device.host_buffer(16), []
    with device.command_buffer() as cb:
        t = cb.transient(32, "t")
        cb.copy_buffer_2d(x, t.view(8, 16), width=4, height=4, source_pitch=16)
        cb.execution_barrier()
        cb.copy_buffer(t.view(8, 16), host)
        cb.execution_barrier()
        cb.host_call(lambda: seen.append(host.array.tolist()), reads=[host])
    cb.replay(mode=mode)
    device.synchronize()
    assert seen == [[16 * row + column for row in range(4) for column in range(4)]]


def test_a_nested_recording_keeps_its_own(device):
    x, y = device.from_host(bytes(range(16))), device.from_host(bytes(16))
    with device.command_buffer(binding_capacity=2) as inner:
        t = inner.transient(16, "inner")
        inner.copy_buffer(Slot(0, 0, 16), t)
        inner.execution_barrier()
        inner.copy_buffer(t, Slot(1, 0, 16))
    with device.command_buffer() as outer:
        u = outer.transient(16, "outer")
        outer.execute_commands(inner, bindings=[x, u])
        outer.execution_barrier()
        outer.execute_commands(inner, bindings=[u, y])
    assert outer.recording.peak_transient_bytes == 256 + 16
    assert outer.recording.hazards() == ()
    outer.replay()
    assert y.to_host().tolist() == list(range(16))


def test_a_watched_replay_looks_into_it(device, kernels):
    source, target = device.from_host(np.arange(4, dtype=np.uint32)), device.allocate(16)
    with device.command_buffer() as cb:
        chain(cb, kernels, source, target, steps=3)
    names = []
    cb.replay(check=lambda output: names.append(output.place))
    assert names[:1] == ["transient `step 0`[0:16]"]
    cb.replay(check="stream")
    assert target.to_host(np.uint32).tolist() == [13, 40, 67, 94]


def test_a_file_keeps_it_as_what_it_is(device, kernels, tmp_path):
    source, target = device.from_host(np.arange(4, dtype=np.uint32), "source"), device.allocate(16, "target")
    with device.command_buffer() as cb:
        chain(cb, kernels, source, target, steps=3)
    recording = cb.recording
    expected = {"target": np.arange(4, dtype=np.uint32) * 27 + 13}
    contents = {"source": np.arange(4, dtype=np.uint32), "target": bytes(16)}
    recording.save(tmp_path / "a.hgcb", contents=contents, expected=expected)
    loaded = Recording.load(tmp_path / "a.hgcb")
    assert loaded == recording
    assert loaded.peak_transient_bytes == recording.peak_transient_bytes == 256 + 16
    with Session(load(tmp_path / "a.hgcb"), device) as session:
        session.restore()
        session.replay()
        assert list(session.differences()) == []
        session.restore()
        for index in range(len(loaded)):
            session.replay_commands(session.recording.part(range(index, index + 1)))
        assert list(session.differences()) == []
    with pytest.raises(InvalidArgumentError) as caught:
        recording.save(tmp_path / "b.hgcb", contents={**contents, "step 0": bytes(16)})
    assert "contents are given for a transient buffer\n" in str(caught.value)
    assert "transient `step 0`" in recording.to_dot()
    assert '"memory": "transient"' in recording.to_json()
    assert [recording.resources.buffers[id].label for id in recording.snapshot()] == ["source", "target"]


def test_a_buffer_may_take_its_place(device, kernels):
    source, target = device.from_host(np.arange(4, dtype=np.uint32)), device.allocate(16)
    with device.command_buffer() as cb:
        chain(cb, kernels, source, target, steps=2)
    mine = device.allocate(16)
    with device.program(cb.recording, resources={"step 0": mine}) as program:
        program.replay()
    assert mine.to_host(np.uint32).tolist() == [1, 4, 7, 10]


def test_its_memory_goes_with_the_program(device):
    with device.command_buffer() as cb:
        cb.fill_buffer(cb.transient(64, "t"), 0)
    cb.replay()
    handle = weakref.ref(cb.program._resources.objects[0].handle)
    device.synchronize()
    assert handle() is not None
    cb.program.close()
    del cb
    gc.collect()
    assert handle() is None


def test_it_belongs_to_its_command_buffer(device):
    with device.command_buffer() as cb:
        t = cb.transient(8, "t")
        cb.fill_buffer(t, 0)
    with pytest.raises(FailedPreconditionError):
        cb.transient(8)
    other = device.command_buffer(label="other").begin()
    with pytest.raises(InvalidArgumentError) as caught:
        other.fill_buffer(t, 0)
    assert str(caught.value) == (
        "transient `t` belongs to another command buffer\n"
        "  where: command 0 in 'other'\n"
        "  found: <transient buffer 't' of 8 bytes>\n"
        "  allowed: what transient() of this command buffer gives"
    )
    other.end()
    assert not other.recording.resources.buffers


def test_a_slot_does_not_hold_it(device):
    with device.command_buffer(binding_capacity=1) as cb:
        t = cb.transient(8, "t")
        cb.fill_buffer(Slot(0, 0, 8), 0)
    with pytest.raises(InvalidArgumentError) as caught:
        cb.replay(bindings=[t])
    assert "slot 0 of the binding table holds a transient buffer" in str(caught.value)


def test_it_stands_beside_imported_memory(device):
    theirs = device.from_host(bytes(range(8)))
    y = device.from_host(bytes(8))
    with device.command_buffer() as cb:
        first, second = cb.transient(8), cb.transient(8)
        cb.fill_buffer(first, 0)
        cb.copy_buffer(device.import_buffer(theirs.address, size=8), second)
        cb.execution_barrier()
        cb.copy_buffer(second, y)
        cb.fill_buffer(cb.transient(8), 0)
    cb.replay()
    assert y.to_host().tolist() == list(range(8))


def test_it_has_at_least_one_byte(device):
    with device.command_buffer() as cb:
        with pytest.raises(OutOfRangeError) as caught:
            cb.transient(0)
        assert str(caught.value) == "transient: a buffer needs at least one byte\n  found: 0\n  allowed: 1 or more"
        with pytest.raises(OutOfRangeError) as caught:
            cb.transient(8).view(4, 8)
        assert str(caught.value) == (
            "view: the range is outside\n"
            "  where: <transient buffer of 8 bytes>\n"
            "  found: offset 4, length 8\n"
            "  allowed: bytes 0 to 8"
        )
