"""Memory offered through `__cuda_array_interface__`, and ours offered to others."""

import weakref

import numpy as np
import pytest
from support.collection import collect
from support.producers import ArrayInterfaceArray

from hipgraph_cb.errors import (
    DeadlineExceededError,
    FailedPreconditionError,
    HipError,
    InvalidArgumentError,
    OutOfRangeError,
    UnimplementedError,
)

NEXT = "  next: make a contiguous copy with the library that owns it"


def test_an_imported_buffer_is_the_same_memory(device, words):
    buffer = device.import_buffer(ArrayInterfaceArray(words), label="theirs")
    assert (buffer.size, buffer.address, buffer.label) == (64, words.address, "theirs")
    assert buffer.to_host(np.uint32).tolist() == list(range(16))
    buffer.view(4, 4).write(np.uint32(99))
    assert words.to_host(np.uint32).tolist() == [0, 99, *range(2, 16)]


def test_commands_work_on_it(device, words):
    target = device.allocate(64)
    buffer = device.import_buffer(ArrayInterfaceArray(words))
    with device.command_buffer() as cb:
        cb.fill_buffer(buffer, 7, offset=32)
        cb.execution_barrier()
        cb.copy_buffer(buffer, target)
    cb.replay()
    assert target.to_host(np.uint32).tolist() == [*range(8), *[7] * 8]


def test_it_keeps_the_owner_alive_and_frees_nothing(device, words):
    array = ArrayInterfaceArray(words)
    alive = weakref.ref(array)
    buffer = device.import_buffer(array)
    del array
    collect()
    assert alive() is not None
    buffer.close()
    collect()
    assert alive() is None
    assert words.to_host(np.uint32).tolist() == list(range(16))


def test_a_program_keeps_the_owner_until_its_launches_are_done(device, words):
    array = ArrayInterfaceArray(words)
    alive = weakref.ref(array)
    with device.command_buffer() as cb:
        cb.fill_buffer(device.import_buffer(array), 3)
    del array
    cb.replay()
    cb.program.close()
    device.synchronize()
    del cb
    collect()
    assert words.to_host(np.uint32).tolist() == [3] * 16
    assert alive() is None


def test_arrays_of_hip_python_are_taken(device):
    from hip import hip

    _, array = hip.hipMalloc(64)
    buffer = device.import_buffer(array)
    assert buffer.size == 64
    buffer.write(np.arange(16, dtype=np.uint32))
    assert buffer.to_host(np.uint32).tolist() == list(range(16))
    buffer.close()
    hip.hipFree(array)


def test_arrays_stand_where_buffers_stand_in_commands_and_bindings(device, words):
    from hipgraph_cb import Slot

    theirs = ArrayInterfaceArray(words)
    target = device.allocate(64)
    with device.command_buffer(binding_capacity=1) as cb:
        cb.fill_buffer(theirs, 5, length=4)
        cb.execution_barrier()
        cb.copy_buffer(theirs, Slot(0, 0, 64))
    assert len(cb.recording.resources.buffers) == 1
    cb.replay(bindings=[ArrayInterfaceArray(target)])
    assert target.to_host(np.uint32).tolist() == [5, *range(1, 16)]


def test_a_part_of_an_array_that_is_known_is_a_range_of_it(device, words):
    with device.command_buffer(label="step") as cb:
        cb.fill_buffer(ArrayInterfaceArray(words), 5)
        with pytest.raises(InvalidArgumentError) as caught:
            cb.copy_buffer(words.view(0, 8), ArrayInterfaceArray(words.view(4, 8)))
    assert str(caught.value) == (
        "buffer 1 shares memory with buffer 0\n"
        "  where: command 1 in 'step'\n"
        f"  found: 64 bytes at {words.address:#x}, 64 bytes at {words.address:#x}\n"
        "  next: import the memory once and take views of it"
    )
    with device.command_buffer(label="step") as cb:
        cb.fill_buffer(ArrayInterfaceArray(words), 5)
        cb.execution_barrier()
        with pytest.raises(InvalidArgumentError) as caught:
            cb.copy_buffer(ArrayInterfaceArray(words.view(0, 8)), ArrayInterfaceArray(words.view(4, 8)))
    assert str(caught.value) == (
        "source and target of the copy overlap\n"
        "  where: command 1 in 'step'\n"
        "  found: bytes 0 to 8 and 4 to 12 of buffer 0\n"
        "  next: copy through a scratch buffer"
    )


@pytest.mark.parametrize("strides", [(32, 4), (999, 4)])
def test_strides_of_c_order_are_taken_and_those_of_single_elements_do_not_matter(device, words, strides):
    shape = (2, 8) if strides[0] == 32 else (1, 16)
    assert device.import_buffer(ArrayInterfaceArray(words, shape=shape, strides=strides)).size == 64


@pytest.mark.parametrize(("shape", "strides"), [((2, 4), (32, 8)), ((4, 2), (4, 16)), ((8,), (-4,)), ((2, 2), (0, 4))])
def test_other_strides_are_refused(refused, words, shape, strides):
    message = refused(ArrayInterfaceArray(words, shape=shape, strides=strides), kind=InvalidArgumentError)
    assert message == (
        "import_buffer: the array is not contiguous\n"
        "  where: ArrayInterfaceArray\n"
        f"  found: shape {shape}, strides {strides} in bytes\n"
        "  allowed: elements one after the other, last axis fastest\n"
        f"{NEXT}"
    )


def test_read_only_memory_is_refused(refused, words):
    assert refused(ArrayInterfaceArray(words, data=(words.address, True)), kind=InvalidArgumentError) == (
        "import_buffer: the memory is read-only\n"
        "  where: ArrayInterfaceArray\n"
        "  found: its owner does not let others write to it\n"
        "  allowed: memory that commands may write to\n"
        "  next: copy it with the library that owns it"
    )


def test_an_array_without_elements_is_refused(refused, words):
    assert refused(ArrayInterfaceArray(words, shape=(0, 5)), kind=InvalidArgumentError) == (
        "import_buffer: there is no memory\n  where: ArrayInterfaceArray\n  found: shape (0, 5)"
    )


def test_a_masked_array_is_refused(refused, words):
    assert refused(ArrayInterfaceArray(words, mask=object()), kind=UnimplementedError) == (
        "import_buffer: masked arrays are not taken\n  where: ArrayInterfaceArray\n  next: import the data alone"
    )


def test_an_interface_without_data_is_refused(refused):
    class Broken:
        __cuda_array_interface__ = {"shape": (4,), "typestr": "<u4"}  # noqa: RUF012

    assert refused(Broken(), kind=InvalidArgumentError) == (
        "import_buffer: the __cuda_array_interface__ cannot be read\n"
        "  where: Broken\n"
        "  found: KeyError: 'data'\n"
        "  allowed: a dict with shape, typestr and data"
    )


def test_a_producer_that_does_not_give_its_memory_away_is_quoted(refused):
    class Needed:
        @property
        def __cuda_array_interface__(self):
            raise RuntimeError("the tensor needs a gradient")

    assert refused(Needed(), kind=InvalidArgumentError) == (
        "import_buffer: its owner does not give it away\n  where: Needed\n  found: the tensor needs a gradient"
    )


def test_host_memory_behind_the_interface_is_refused(refused, words):
    host = np.zeros(4, np.uint32)
    message = refused(ArrayInterfaceArray(words, data=(host.ctypes.data, False), shape=(4,)), kind=InvalidArgumentError)
    assert message == (
        "import_buffer: HIP knows of no memory there\n"
        f"  where: ArrayInterfaceArray\n  found: address {host.ctypes.data:#x}"
    )


def test_more_than_was_allocated_is_refused(refused, words):
    array = ArrayInterfaceArray(words, data=(words.address + 32, False))
    assert refused(array, kind=OutOfRangeError) == (
        "import_buffer: the memory reaches past the end of its allocation\n"
        "  where: ArrayInterfaceArray\n  found: 64 bytes\n  allowed: 32 bytes"
    )


def test_memory_that_its_owner_freed_is_refused_before_the_runtime_sees_it(device):
    from hip import hip

    _, array = hip.hipMalloc(64)
    buffer = device.import_buffer(array, label="theirs")
    with device.command_buffer() as cb:
        cb.fill_buffer(buffer, 1)
    hip.hipFree(array)
    for use in (lambda: device.program(cb.recording), buffer.to_host, lambda: buffer.write(bytes(64))):
        with pytest.raises(FailedPreconditionError) as caught:
            use()
        assert str(caught.value).startswith("buffer `theirs` of 64 bytes is gone: its owner freed the memory\n")


def test_a_program_does_not_launch_on_memory_that_was_freed_since(device):
    from hip import hip

    from hipgraph_cb import Slot

    _, array = hip.hipMalloc(64)
    _, other = hip.hipMalloc(64)
    buffer, bound = device.import_buffer(array), device.import_buffer(other)
    with device.command_buffer() as direct:
        direct.fill_buffer(buffer, 1)
    with device.command_buffer(binding_capacity=1) as slots:
        slots.fill_buffer(Slot(0), 1)
    buffer.close()
    for mode in ("graph", "stream"):
        direct.replay(mode=mode)
        slots.replay(bindings=[bound], mode=mode)
    device.synchronize()
    hip.hipFree(array)
    hip.hipFree(other)
    for mode in ("graph", "stream"):
        for cb in (direct, slots):
            with pytest.raises(FailedPreconditionError, match="is gone: its owner freed the memory"):
                cb.replay(mode=mode)
    device.synchronize()


@pytest.mark.parametrize(
    ("stream", "native"), [(1, 0), (2, 2), (0x7000, 0x7000)], ids=["legacy", "per thread", "its own"]
)
def test_the_work_on_the_producers_stream_is_waited_for(device, words, monkeypatch, stream, native):
    asked = []

    def query(name, handle, where=None):
        asked.append((name, handle, where))
        return len(asked) > 2

    monkeypatch.setattr(device.api, "query", query)
    device.import_buffer(ArrayInterfaceArray(words, stream=stream))
    monkeypatch.undo()
    names = {0: "the legacy default stream", 2: "the default stream of this thread", 0x7000: "the stream at 0x7000"}
    where = f"waiting for {names[native]}, last enqueued: what ArrayInterfaceArray is made by"
    assert asked == [("hipStreamQuery", native, where)] * 3


def test_a_producer_that_needs_no_wait_is_not_waited_for(device, words, monkeypatch):
    array = ArrayInterfaceArray(words, stream=None)
    monkeypatch.setattr(device.api, "query", lambda *_arguments, **_where: pytest.fail("asked for a stream"))
    device.import_buffer(array)


def test_stream_zero_is_refused_as_the_interface_demands(refused, words):
    assert refused(ArrayInterfaceArray(words, stream=0), kind=InvalidArgumentError) == (
        "import_buffer: stream 0 says nothing\n"
        "  where: ArrayInterfaceArray\n"
        "  found: stream 0 in the __cuda_array_interface__\n"
        "  allowed: None, 1 (the legacy default stream), 2 (the per-thread one) or the address of a stream"
    )


def test_a_stream_that_is_none_is_the_runtimes_error(refused, words):
    message = refused(ArrayInterfaceArray(words, stream=0x7123), kind=HipError)
    assert message.startswith("hipStreamQuery returned 709")


def test_a_producer_that_does_not_finish_is_a_timeout(device, words, monkeypatch):
    array = ArrayInterfaceArray(words, stream=1)
    monkeypatch.setattr(device.api, "query", lambda *_arguments, **_where: False)
    monkeypatch.setattr(device, "timeout", 0.01)
    with pytest.raises(DeadlineExceededError) as caught:
        device.import_buffer(array)
    monkeypatch.undo()
    assert "the legacy default stream" in str(caught.value)


def test_ours_offers_the_interface_for_the_whole_and_for_a_view(device, words):
    assert words.__cuda_array_interface__ == {
        "shape": (64,),
        "typestr": "|u1",
        "data": (words.address, False),
        "strides": None,
        "stream": None,
        "version": 3,
    }
    view = words.view(8, 16).__cuda_array_interface__
    assert (view["shape"], view["data"]) == ((16,), (words.address + 8, False))


def test_ours_is_offered_when_the_work_on_it_is_done(device, words):
    with device.command_buffer() as cb:
        for value in range(50):
            cb.fill_buffer(words, value)
            cb.execution_barrier()
    cb.replay()
    from hip import hip

    interface = words.__cuda_array_interface__
    host = np.zeros(16, np.uint32)
    hip.hipMemcpy(host, interface["data"][0], 64, hip.hipMemcpyKind.hipMemcpyDeviceToHost)
    assert host.tolist() == [49] * 16


def test_a_closed_buffer_offers_nothing(device):
    buffer = device.allocate(16, "x")
    buffer.close()
    with pytest.raises(FailedPreconditionError):
        buffer.__cuda_array_interface__  # noqa: B018
