"""Programs of one recording are independent of each other, and of the streams they run on."""

import numpy as np
import pytest

from hipgraph_cb.errors import FailedPreconditionError, InvalidArgumentError, OutOfRangeError


def fill_then_copy(device, source, target, label=None):
    with device.command_buffer(label=label) as cb:
        cb.fill_buffer(source, 3)
        cb.execution_barrier()
        cb.copy_buffer(source, target)
    return cb


def test_two_programs_of_one_recording_have_their_own_resources(device, zeros):
    one, two, three, four = zeros(8), zeros(8), zeros(8), zeros(8)
    cb = fill_then_copy(device, one, two)
    ids = {id(live): resource for resource, live in cb.recording.resources.bound.items()}
    other = device.program(cb.recording, resources={ids[id(one)]: three, ids[id(two)]: four})
    other.replay()
    device.synchronize()
    assert two.to_host().tolist() == [0] * 8
    assert four.to_host(np.uint32).tolist() == [3, 3]
    other.close()
    cb.replay()
    assert two.to_host(np.uint32).tolist() == [3, 3]


def test_a_program_runs_on_after_another_one_of_the_recording_was_closed(device, zeros):
    one, two = zeros(8), zeros(8)
    cb = fill_then_copy(device, one, two)
    with device.program(cb.recording) as other:
        other.replay()
    cb.replay()
    assert two.to_host(np.uint32).tolist() == [3, 3]


def test_a_resource_may_be_replaced_by_label(device):
    source, target = device.allocate(8, "source"), device.allocate(8, "target")
    cb = fill_then_copy(device, source, target)
    other = device.from_host(bytes(8))
    device.program(cb.recording, resources={"target": other}).replay()
    assert other.to_host(np.uint32).tolist() == [3, 3]


def test_a_smaller_buffer_cannot_stand_for_a_larger_one(device):
    source, target = device.allocate(8, "source"), device.allocate(8, "target")
    cb = fill_then_copy(device, source, target)
    with pytest.raises(OutOfRangeError):
        device.program(cb.recording, resources={"target": device.allocate(4)})


def test_a_closed_program_refuses_to_be_replayed(device, zeros):
    cb = fill_then_copy(device, zeros(4), zeros(4), label="step")
    cb.program.close()
    cb.program.close()
    with pytest.raises(FailedPreconditionError) as caught:
        cb.replay()
    assert str(caught.value) == (
        "replay: program `step` is closed\n  next: use the program before its close(), or make another one"
    )


def test_work_on_a_stream_of_its_own(device, zeros):
    target = zeros(8)
    cb = fill_then_copy(device, zeros(8), target)
    with device.stream("copies") as stream:
        cb.replay(stream=stream)
        stream.synchronize(timeout=600)
        assert target.to_host(np.uint32).tolist() == [3, 3]


def test_to_host_waits_for_every_stream(device, kernels, zeros):
    buffers = [zeros(4 * 512) for _ in range(3)]
    streams = [device.stream(), device.stream(), None]
    for buffer, stream in zip(buffers, streams, strict=True):
        with device.command_buffer() as cb:
            cb.dispatch(kernels["workgroup_ids"], 512, args=[buffer])
        cb.replay(stream=stream)
    for buffer in buffers:
        assert buffer.to_host(np.uint32).tolist() == list(range(512))
    for stream in streams[:2]:
        stream.close()


def test_a_closed_stream_refuses_work_and_its_work_is_done_nevertheless(device, zeros):
    target, stream = zeros(8), device.stream("copies")
    cb = fill_then_copy(device, zeros(8), target)
    cb.replay(stream=stream)
    stream.close()
    assert target.to_host(np.uint32).tolist() == [3, 3]
    with pytest.raises(FailedPreconditionError) as caught:
        cb.replay(stream=stream)
    assert str(caught.value) == (
        "replay: stream `copies` is closed\n  next: use the stream before its close(), or make another one"
    )


def test_something_else_is_no_stream(device, zeros):
    cb = fill_then_copy(device, zeros(4), zeros(4))
    with pytest.raises(InvalidArgumentError) as caught:
        cb.replay(stream="first")
    assert str(caught.value) == (
        "replay: not a stream\n  found: str\n"
        "  allowed: a stream of this device"
        + (", of hip-python, PyTorch or CuPy, or the address of one" if device.backend == "hip" else "")
    )


def test_a_program_cannot_be_made_with_a_closed_buffer(device):
    source, target = device.allocate(8, "source"), device.allocate(8, "target")
    cb = fill_then_copy(device, source, target)
    target.close()
    with pytest.raises(FailedPreconditionError) as caught:
        device.program(cb.recording)
    assert caught.value.what == "program: buffer `target` of 8 bytes is closed"
