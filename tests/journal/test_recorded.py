"""What a block does with HIP becomes a recording that gives the same bytes elsewhere."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from support.hip_program import done
from support.mapped_memory import mapped_pieces
from support.random_streams import RandomProgram

from hipgraph_cb import Recording, open_device, recorded
from hipgraph_cb.capture.hgcb import load
from hipgraph_cb.errors import FailedPreconditionError, UnimplementedError

N = 256


def saxpy(x, y, a):
    return (np.float32(a) * x + y).astype(np.float32)


@pytest.fixture
def vectors(program):
    """Two arrays on the device, and what they hold."""
    x, y = np.arange(N, dtype=np.float32), np.full(N, 0.5, np.float32)
    return program.upload(x), program.upload(y), x, y


@pytest.fixture
def stream(hip):
    stream = done(hip.hipStreamCreateWithFlags(1))
    yield stream
    done(hip.hipStreamDestroy(stream))


def edges(path):
    return sorted(Recording.load(path).edges)


@pytest.mark.parametrize("backend", ["hip", "hsa"])
def test_launches_copies_and_fills_are_replayed_on_either_backend(
    program, vectors, stream, tmp_path, replayed, backend
):
    x, y, x_values, y_values = vectors
    function = program.function()
    with recorded(tmp_path / "step.hgcb"):
        done(program.launch(function, program.saxpy(y, x, 2.0, N), 4, 64, stream))
        done(program.hip.hipMemcpyDtoDAsync(x, y, 4 * N, stream))
        done(program.hip.hipMemsetD8Async(y, 0, 2 * N, stream))
        done(program.launch(function, program.saxpy(y, x, 3.0, N), 4, 64, stream))
        done(program.hip.hipStreamSynchronize(stream))
        result = program.download(y, N)
    first = saxpy(x_values, y_values, 2.0)
    half = np.concatenate([np.zeros(N // 2, np.float32), first[N // 2 :]])
    expected = saxpy(first, half, 3.0)
    assert (result == expected).all()
    found = replayed(tmp_path / "step.hgcb", backend)
    assert (found["read 1"].view(np.float32) == expected).all()


def test_what_the_block_read_and_left_is_expected_in_the_file(program, vectors, tmp_path):
    x, y, x_values, y_values = vectors
    function = program.function()
    with recorded(tmp_path / "step.hgcb", label="one step"):
        done(program.launch(function, program.saxpy(y, x, 2.0, N), 4, 64))
        program.download(y, N)
        done(program.hip.hipMemset(y, 1, 4 * N))
        done(program.hip.hipDeviceSynchronize())
    capture = load(tmp_path / "step.hgcb")
    labels = {id: entry.label for id, entry in capture.recording.resources.buffers.items()}
    assert capture.recording.label == "one step"
    contents = {labels[id]: bytes(data) for id, data in capture.contents.items()}
    expected = {labels[id]: bytes(each.data) for id, each in capture.expected.items()}
    y_label, x_label = "device memory 0", "device memory 1"
    assert contents == {x_label: x_values.tobytes(), y_label: y_values.tobytes()}
    assert expected == {
        "read 1": saxpy(x_values, y_values, 2.0).tobytes(),
        x_label: x_values.tobytes(),
        y_label: b"\1" * (4 * N),
    }


def test_streams_are_ordered_by_events_and_by_nothing_else(hip, program, vectors, stream, tmp_path):
    x, y, *_ = vectors
    other = done(hip.hipStreamCreateWithFlags(1))
    event = done(hip.hipEventCreate())
    with recorded(tmp_path / "step.hgcb"):
        done(hip.hipMemsetD8Async(x, 1, N, stream))  # 0
        done(hip.hipMemsetD8Async(y, 2, N, other))  # 1
        done(hip.hipEventRecord(event, stream))
        done(hip.hipMemsetD8Async(x, 3, 8, stream))  # 2
        done(hip.hipStreamWaitEvent(other, event, 0))
        done(hip.hipMemsetD8Async(y, 4, 8, other))  # 3
        done(hip.hipDeviceSynchronize())
    found = Recording.load(tmp_path / "step.hgcb")
    numbers = {each.pattern[0]: index for index, each in enumerate(found)}
    assert sorted(found.edges) == sorted((numbers[a], numbers[b]) for a, b in [(1, 3), (1, 4), (2, 4)])
    for each in (other,):
        done(hip.hipStreamDestroy(each))
    done(hip.hipEventDestroy(event))


@pytest.mark.parametrize("wait", ["stream", "event", "device", "query", "copy"])
def test_what_the_program_waited_for_comes_before_what_it_does_next(hip, program, vectors, stream, tmp_path, wait):
    x, y, *_ = vectors
    other = done(hip.hipStreamCreateWithFlags(1))
    event = done(hip.hipEventCreate())
    with recorded(tmp_path / "step.hgcb"):
        done(hip.hipMemsetD8Async(x, 1, N, stream))
        done(hip.hipEventRecord(event, stream))
        if wait == "stream":
            done(hip.hipStreamSynchronize(stream))
        elif wait == "event":
            done(hip.hipEventSynchronize(event))
        elif wait == "device":
            done(hip.hipDeviceSynchronize())
        elif wait == "query":
            while hip.hipEventQuery(event)[0] != hip.hipError_t.hipSuccess:
                pass
        else:
            done(hip.hipMemcpyWithStream(np.zeros(N, np.uint8), x, N, hip.hipMemcpyKind.hipMemcpyDeviceToHost, stream))
        done(hip.hipMemsetD8Async(y, 2, N, other))
    assert edges(tmp_path / "step.hgcb") == ([(0, 1), (1, 2)] if wait == "copy" else [(0, 1)])
    done(hip.hipStreamDestroy(other))
    done(hip.hipEventDestroy(event))


def test_streams_that_nothing_orders_are_not_ordered(hip, vectors, stream, tmp_path):
    x, y, *_ = vectors
    other = done(hip.hipStreamCreateWithFlags(1))
    with recorded(tmp_path / "step.hgcb"):
        done(hip.hipMemsetD8Async(x, 1, N, stream))
        done(hip.hipMemsetD8Async(y, 2, N, other))
        done(hip.hipStreamSynchronize(stream))
        done(hip.hipStreamSynchronize(other))
    assert edges(tmp_path / "step.hgcb") == []
    done(hip.hipStreamDestroy(other))


def test_a_graph_gives_its_edges_at_every_launch(hip, program, vectors, stream, tmp_path):
    x, y, *_ = vectors
    graph = done(hip.hipGraphCreate(0))
    first = done(hip.hipGraphAddMemsetNode(graph, None, 0, program.memset_params(x, 1, 1, N)))
    second = done(hip.hipGraphAddMemsetNode(graph, None, 0, program.memset_params(y, 2, 1, N)))
    both = (ctypes.c_void_p * 2)(int(first), int(second))
    join = done(hip.hipGraphAddEmptyNode(graph, both, 2))
    behind = (ctypes.c_void_p * 1)(int(join))
    done(hip.hipGraphAddMemcpyNode1D(graph, behind, 1, x, y, N, hip.hipMemcpyKind.hipMemcpyDeviceToDevice))
    executable = program.instantiate(graph)
    with recorded(tmp_path / "step.hgcb"):
        done(hip.hipGraphLaunch(executable, stream))
        done(hip.hipGraphLaunch(executable, stream))
        done(hip.hipStreamSynchronize(stream))
    assert edges(tmp_path / "step.hgcb") == [(0, 2), (1, 2), (2, 3), (2, 4), (3, 5), (4, 5)]
    done(hip.hipGraphExecDestroy(executable))
    done(hip.hipGraphDestroy(graph))


def test_an_address_that_is_used_again_is_other_memory(hip, tmp_path, replayed):
    with recorded(tmp_path / "step.hgcb"):
        for value in (1, 2):
            place = done(hip.hipMalloc(64))
            done(hip.hipMemset(place, value, 64))
            done(hip.hipMemcpy(np.zeros(64, np.uint8), place, 64, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
            done(hip.hipFree(place))
    found = replayed(tmp_path / "step.hgcb")
    assert sorted(found) == ["device memory 0", "device memory 1", "read 1", "read 2"]
    assert (found["read 1"] == 1).all()
    assert (found["read 2"] == 2).all()


def test_what_the_program_writes_into_pinned_memory_between_launches_is_replayed(
    hip, program, stream, tmp_path, replayed
):
    pinned = done(hip.hipHostMalloc(4 * N, 0))
    y = program.upload(np.zeros(N, np.float32))
    view = np.frombuffer((ctypes.c_char * (4 * N)).from_address(int(pinned)), np.float32)
    function = program.function()
    view[:] = 1
    with recorded(tmp_path / "step.hgcb"):
        done(program.launch(function, program.saxpy(y, int(pinned), 1.0, N), 4, 64, stream))
        done(hip.hipStreamSynchronize(stream))
        view[3] = 7
        done(program.launch(function, program.saxpy(y, int(pinned), 1.0, N), 4, 64, stream))
        done(hip.hipStreamSynchronize(stream))
        result = program.download(y, N)
    expected = np.full(N, 2, np.float32)
    expected[3] = 8
    assert (result == expected).all()
    assert (replayed(tmp_path / "step.hgcb")["read 1"].view(np.float32) == expected).all()
    done(hip.hipHostFree(pinned))


@pytest.mark.parametrize("backend", ["hip", "hsa"])
def test_rows_between_host_and_device_are_replayed(hip, program, tmp_path, replayed, backend):
    pitch, width, height = 64, 24, 3
    device, other = program.upload(np.zeros(pitch * height, np.uint8)), program.upload(np.zeros(256, np.uint8))
    rows = np.arange(width * height, dtype=np.uint8)
    result = np.zeros((height, width), np.uint8)
    kinds = hip.hipMemcpyKind
    with recorded(tmp_path / "step.hgcb"):
        done(hip.hipMemcpy2D(device, pitch, rows, width, width, height, kinds.hipMemcpyHostToDevice))
        done(hip.hipMemcpy2D(other, 80, device, pitch, width, height, kinds.hipMemcpyDeviceToDevice))
        done(hip.hipMemset2D(device, pitch, 9, 8, height))
        done(hip.hipMemcpy2D(result, width, other, 80, width, height, kinds.hipMemcpyDeviceToHost))
    assert (result.ravel() == rows).all()
    found = replayed(tmp_path / "step.hgcb", backend)
    assert (np.concatenate([found[f"read {row}"] for row in (1, 2, 3)]) == rows).all()
    filled = np.zeros((height, pitch), np.uint8)
    filled[:, :width] = rows.reshape(height, width)
    filled[:, :8] = 9
    assert (found["device memory 0"] == filled.ravel()).all()


def test_what_this_package_replays_is_recorded_too(tmp_path, replayed):
    with open_device() as device:
        x = device.asarray(np.arange(16, dtype=np.uint32))
        y = device.zeros(16, np.uint32)
        with device.command_buffer() as cb:
            cb.copy_buffer(x, y)
        with recorded(tmp_path / "step.hgcb"):
            cb.replay()
            device.synchronize()
    found = replayed(tmp_path / "step.hgcb")
    assert (found["device memory 1"].view(np.uint32) == np.arange(16)).all()


def test_a_block_that_raises_leaves_what_was_over(hip, vectors, tmp_path, replayed):
    x, *_ = vectors
    with pytest.raises(ZeroDivisionError), recorded(tmp_path / "step.hgcb"):
        done(hip.hipMemset(x, 5, 4 * N))
        _ = 1 // 0
    assert (replayed(tmp_path / "step.hgcb")["device memory 0"] == 5).all()


def test_a_block_that_does_nothing_is_refused(hip, tmp_path):
    with pytest.raises(FailedPreconditionError) as raised, recorded(tmp_path / "step.hgcb"):
        pass
    assert str(raised.value) == (
        "record: the program has launched, copied and filled nothing\n  next: run it with a GPU in use"
    )
    assert not (tmp_path / "step.hgcb").exists()


def test_one_block_inside_another_is_refused(hip, vectors, tmp_path):
    x, *_ = vectors
    with recorded(tmp_path / "outer.hgcb"):
        done(hip.hipMemset(x, 5, 4 * N))
        with pytest.raises(FailedPreconditionError) as raised, recorded(tmp_path / "inner.hgcb"):
            pass
    assert str(raised.value) == (
        "recorded: this process is being recorded already\n  next: end the other recording first"
    )
    assert len(Recording.load(tmp_path / "outer.hgcb")) == 1


def test_addresses_in_memory_are_lost_by_name(hip, program, vectors, tmp_path):
    x, y, *_ = vectors
    table = program.upload(np.array([0, x + 8], np.uint64))
    with pytest.raises(UnimplementedError) as raised, recorded(tmp_path / "step.hgcb"):
        done(hip.hipMemcpyDtoD(y, table, 16))
    assert str(raised.value) == (
        "record: the program does what a recording cannot keep\n"
        "  found: 1 thing\n"
        "  next: record another stretch of it: --from and --count\n"
        f"  memcpy of 16 bytes from {table:#x} to {y:#x}: device memory holds the address {x + 8:#x} at byte 8: "
        f"{_described(x + 8)}"
    )
    assert not (tmp_path / "step.hgcb").exists()


def test_mapped_memory_and_addresses_in_it_are_lost_by_name(hip, program, vectors, tmp_path):
    x, *_ = vectors
    with mapped_pieces(2, 1) as address:
        table = program.upload(np.array([address + 8, 0], np.uint64))
        with pytest.raises(UnimplementedError) as raised, recorded(tmp_path / "step.hgcb"):
            done(hip.hipMemcpyDtoD(x, address, 16))
            done(hip.hipMemcpyDtoD(x, table, 16))
        described = [_described(address + offset) for offset in (0, 8)]
    assert str(raised.value).splitlines()[3:] == [
        f"  memcpy of 16 bytes from {address:#x} to {x:#x}: {described[0]}: memory that hipMemMap has mapped, "
        "which may be at several addresses",
        f"  memcpy of 16 bytes from {table:#x} to {x:#x}: device memory holds the address {address + 8:#x} at byte 0: "
        f"{described[1]}",
    ]


def _described(address):
    from hipgraph_cb.opening import virtual_runtime

    return virtual_runtime("hip").runtime.memory.describe(address)


def test_work_on_queues_of_hsa_is_lost_by_name(hip, vectors, tmp_path):
    x, *_ = vectors
    with open_device("hsa") as device:
        memory = device.allocate(64)
        with device.command_buffer() as cb:
            cb.fill_buffer(memory, 1)
        with (
            pytest.raises(UnimplementedError, match="a packet of an HSA queue: it is not made of HIP's commands"),
            recorded(tmp_path / "step.hgcb"),
        ):
            done(hip.hipMemset(x, 5, 4 * N))
            cb.replay()
            device.synchronize()


def test_random_programs_are_replayed_as_they_ran(hip, program, tmp_path, replayed):
    for number in range(12):
        made = RandomProgram(hip, program, number)
        path = tmp_path / f"{number}.hgcb"
        with recorded(path):
            made.run()
            result = made.result()
        assert (result == made.model).all()
        made.close()
        found = replayed(path, ("hip", "hsa")[number % 2])
        last = [found[f"read {index + 1}"] for index in range(len(made.buffers))]
        assert (np.stack(last) == made.model).all(), number


def test_the_argument_of_a_kernel_that_points_nowhere_is_lost_by_name(hip, program, vectors, tmp_path):
    _, y, *_ = vectors
    function = program.function()
    gone = program.upload(np.zeros(16, np.uint8))
    done(hip.hipFree(gone))
    with (
        pytest.raises(UnimplementedError, match=r"kernel saxpy: argument .* was freed"),
        recorded(tmp_path / "step.hgcb"),
    ):
        done(program.launch(function, program.saxpy(y, gone, 1.0, 0), 1, 64))
        done(hip.hipDeviceSynchronize())


def test_work_on_another_kind_of_gpu_is_lost_by_name(hip, tmp_path):
    with (
        pytest.raises(UnimplementedError, match="it runs on gfx1100, and a recording is for one kind of GPU"),
        recorded(tmp_path / "step.hgcb"),
    ):
        done(hip.hipSetDevice(1))
        place = done(hip.hipMalloc(64))
        done(hip.hipMemset(place, 1, 64))
        done(hip.hipFree(place))
        done(hip.hipSetDevice(0))
