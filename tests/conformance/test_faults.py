"""A kernel that faults fails its launch, is reported at the next wait, and leaves a device that works (V4)."""

import numpy as np
import pytest

from hipgraph_cb.errors import HipError, HsaError

RuntimeErrors = (HipError, HsaError)
CODES = {"hip": (700, 719), "hsa": (43,)}


@pytest.fixture
def faulty(device, kernels):
    """A command buffer whose kernel writes sixteen bytes into eight."""
    with device.command_buffer(label="faulty") as cb:
        cb.dispatch(kernels["constants"], 1, bindings=[device.allocate(8)], constants=[1, 2, 3, 4])
    return cb


def works(device, zeros):
    target = zeros(8)
    with device.command_buffer() as cb:
        cb.fill_buffer(target, 3)
    cb.replay()
    return target.to_host(np.uint32).tolist() == [3, 3]


def test_a_fault_is_raised_by_the_next_wait_with_the_report_of_the_device(device, zeros, faulty):
    faulty.replay()
    with pytest.raises(RuntimeErrors) as caught:
        device.synchronize()
    error = caught.value
    assert error.code in CODES[device.backend]
    assert error.where == "command 0 in 'faulty', waiting for the device's own stream, last enqueued: program `faulty`"
    assert error.detail == device.fault_report()
    assert "kernel constants: memory access fault" in str(error)
    device.synchronize()
    assert works(device, zeros)


def test_reading_a_buffer_is_a_wait(device, zeros, faulty):
    buffer = zeros(4)
    faulty.replay()
    with pytest.raises(RuntimeErrors):
        buffer.to_host()
    assert buffer.to_host().tolist() == [0] * 4
    assert works(device, zeros)


def test_what_is_behind_the_fault_on_its_stream_does_not_run(device, zeros, faulty):
    target = zeros(4)
    with device.command_buffer() as behind:
        behind.fill_buffer(target, 1)
    with device.stream("own") as stream:
        faulty.replay(stream=stream)
        behind.replay(stream=stream)
        with pytest.raises(RuntimeErrors):
            stream.synchronize()
    assert target.to_host(np.uint32).tolist() == [0]
    assert works(device, zeros)


def test_a_stream_that_is_closed_before_anybody_waited_reports_the_fault(device, zeros, faulty, caplog):
    stream = device.stream("own")
    faulty.replay(stream=stream)
    reported = None
    try:
        stream.close()
        device.synchronize()
    except RuntimeErrors as error:
        reported = error
    assert reported is not None or "work on stream `own` failed" in caplog.text
    assert works(device, zeros)


def test_a_program_that_faulted_can_be_replayed_and_closed(device, zeros, faulty):
    for _ in range(2):
        faulty.replay()
        with pytest.raises(RuntimeErrors):
            device.synchronize()
    faulty.program.close()
    assert works(device, zeros)


@pytest.mark.parametrize("options", [{"mode": "stream"}, {"check": lambda output: True}], ids=["stream", "check"])
def test_the_index_of_a_faulty_command_is_that_of_the_recording(device, kernels, zeros, options):
    target = zeros(16)
    with device.command_buffer(label="two") as cb:
        cb.fill_buffer(target, 1)
        cb.execution_barrier()
        cb.dispatch(kernels["constants"], 1, bindings=[device.allocate(8)], constants=[1, 2, 3, 4], label="second")
    with pytest.raises(RuntimeErrors) as caught:
        cb.replay(**options)
        device.synchronize()
    assert caught.value.where.startswith("command 1 'second' in 'two', waiting for the device's own stream")


def test_of_several_launches_of_one_kernel_all_are_named_where_the_runtime_does_not_say_which(device, kernels, zeros):
    target = zeros(16)
    with device.command_buffer(label="two") as cb:
        cb.dispatch(kernels["constants"], 1, bindings=[target], constants=[1, 2, 3, 4])
        cb.execution_barrier()
        cb.dispatch(kernels["constants"], 1, bindings=[device.allocate(8)], constants=[1, 2, 3, 4])
    cb.replay()
    with pytest.raises(RuntimeErrors) as caught:
        device.synchronize()
    culprit = "command 0 in 'two' or command 1 in 'two'" if device.backend == "hip" else "command 1 in 'two'"
    assert caught.value.where.startswith(f"{culprit}, waiting for")
