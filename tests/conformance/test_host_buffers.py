"""Page-locked memory of the host, in recordings and beside them."""

import gc

import numpy as np
import pytest

from hipgraph_cb import Recording, Slot
from hipgraph_cb.errors import FailedPreconditionError, InvalidArgumentError

MODES = pytest.mark.parametrize("mode", ["graph", "stream"])


@MODES
def test_a_copy_brings_results_back_within_the_recording(device, kernels, run, mode):
    source = device.from_host(np.arange(4, dtype=np.uint32))
    target, host = device.from_host(bytes(16)), device.host_buffer(16)
    host.array[:] = 0

    def record(cb, source, target, host):
        cb.dispatch(kernels["scale_and_offset"], 1, bindings=[source, target], constants=[3, 10])
        cb.execution_barrier()
        cb.copy_buffer(target, host)

    run(record, source, target, host, mode=mode)
    device.synchronize()
    assert host.array.view(np.uint32).tolist() == [10, 13, 16, 19]


@MODES
def test_a_copy_takes_what_the_host_wrote_before_the_replay(device, mode):
    host, target = device.host_buffer(64), device.allocate(64)
    with device.command_buffer() as cb:
        cb.copy_buffer(host.view(16, 32), target.view(8, 32))
    for seed in (1, 2):
        host.array[:] = np.arange(64) + seed
        cb.replay(mode=mode)
        device.synchronize()
        assert target.view(8, 32).to_host().tolist() == list(range(16 + seed, 48 + seed))


def test_kernels_read_and_write_it_in_place(device, kernels):
    host = device.host_buffer(32)
    host.array.view(np.uint32)[:] = [1, 2, 3, 4, 0, 0, 0, 0]
    with device.command_buffer() as cb:
        views = [host.view(0, 16), host.view(16, 16)]
        cb.dispatch(kernels["scale_and_offset"], 1, bindings=views, constants=[2, 1])
    cb.replay()
    device.synchronize()
    assert host.array.view(np.uint32).tolist() == [1, 2, 3, 4, 3, 5, 7, 9]


def test_it_is_filled_updated_written_and_read_like_any_buffer(device):
    host = device.host_buffer(12, "host")
    with device.command_buffer() as cb:
        cb.fill_buffer(host, 0x0102, pattern_length=2, length=4)
        cb.update_buffer(host, b"data", offset=4)
    host.write(bytes(12))
    cb.replay()
    assert host.to_host().tobytes() == b"\x02\x01\x02\x01data\0\0\0\0"
    host.view(8, 4).write(b"tail")
    assert host.array.tobytes() == b"\x02\x01\x02\x01datatail"


def test_a_slot_holds_memory_of_the_device_and_of_the_host_in_turn(device):
    source, host, other = device.from_host(bytes(range(8))), device.host_buffer(8), device.from_host(bytes(8))
    host.array[:] = 0
    with device.command_buffer(binding_capacity=1) as cb:
        cb.copy_buffer(source, Slot(0, 0, 8))
    for target in (other, host, other):
        cb.replay(bindings=[target], check="stream")
    assert host.array.tolist() == other.to_host().tolist() == list(range(8))


def test_an_array_keeps_the_memory_of_a_closed_buffer(device):
    host = device.host_buffer(8)
    array = host.array
    host.close()
    del host
    gc.collect()
    array[:] = range(8)
    assert array.tolist() == list(range(8))


def test_a_program_keeps_the_memory_of_a_closed_buffer(device):
    host, target = device.host_buffer(8), device.from_host(bytes(8))
    host.array[:] = 5
    with device.command_buffer() as cb:
        cb.copy_buffer(host, target)
    host.close()
    cb.replay()
    assert target.to_host().tolist() == [5] * 8


def test_a_closed_one_is_refused(device):
    host = device.host_buffer(8, "host")
    host.close()
    for use in (lambda: host.array, lambda: host.to_host(), lambda: host.view()):
        with pytest.raises(FailedPreconditionError):
            use()
    with pytest.raises(FailedPreconditionError) as caught:
        _ = host.array
    assert str(caught.value) == (
        "array: host buffer `host` of 8 bytes is closed\n"
        "  next: use the host buffer before its close(), or make another one"
    )


def test_it_has_at_least_one_byte(device):
    with pytest.raises(InvalidArgumentError) as caught:
        device.host_buffer(0)
    assert str(caught.value) == ("host_buffer: a buffer needs at least one byte\n  found: 0\n  allowed: 1 or more")


def test_a_file_says_that_it_is_memory_of_the_host(device, tmp_path):
    host, named, plain = device.host_buffer(8), device.host_buffer(8, "out"), device.allocate(8, "in")
    with device.command_buffer() as cb:
        cb.copy_buffer(plain, host)
        cb.copy_buffer(plain, named)
    recording = cb.recording
    recording.save(tmp_path / "a.hgcb")
    loaded = Recording.load(tmp_path / "a.hgcb")
    assert loaded == recording
    assert [entry.memory for entry in loaded.resources.buffers.values()] == ["device", "host", "host"]
    assert [loaded.describe_place(command.target) for command in loaded] == ["host buffer 1[0:8]", "host `out`[0:8]"]
    assert '"memory": "host"' in loaded.to_json()
    assert "host buffer 1" in loaded.to_dot()


def test_memory_of_the_device_may_stand_for_memory_of_the_host(device):
    host, target = device.host_buffer(8, "out"), device.from_host(bytes(8))
    with device.command_buffer() as cb:
        cb.fill_buffer(host, 3, pattern_length=1)
    with device.program(cb.recording, resources={"out": target}) as program:
        program.replay()
    assert target.to_host().tolist() == [3] * 8


def test_a_diff_says_where_memory_has_moved(device):
    from hipgraph_cb.capture.diff import compare

    def filled(buffer):
        with device.command_buffer() as cb:
            cb.fill_buffer(buffer, 0)
        return cb.recording

    found = compare(filled(device.allocate(8, "x")), filled(device.host_buffer(8, "x")))
    assert list(found.lines()) == ["resources", "  host `x`: device -> host memory"]
