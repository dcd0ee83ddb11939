"""Bare addresses as buffers, and host data that has no buffer protocol."""

import numpy as np
import pytest
from support.producers import ArrayInterfaceArray, DLPackArray

from hipgraph_cb.errors import InvalidArgumentError, OutOfRangeError


def test_an_address_with_a_size_is_a_buffer(device, words):
    from rocm.bindings.util.types import Pointer

    for address in (words.address + 4, Pointer(words.address + 4)):
        buffer = device.import_buffer(address, size=8)
        assert buffer.to_host(np.uint32).tolist() == [1, 2]


def test_an_address_needs_a_size(refused, words):
    assert refused(words.address, kind=InvalidArgumentError) == (
        "import_buffer: an address does not say how many bytes there are\n"
        f"  found: int {words.address:#x}\n"
        "  next: pass size="
    )


def test_an_address_reaches_to_the_end_of_its_allocation(refused, words):
    assert refused(words.address + 60, size=8, kind=OutOfRangeError) == (
        "import_buffer: the memory reaches past the end of its allocation\n"
        f"  where: the memory at {words.address + 60:#x}\n  found: 8 bytes\n  allowed: 4 bytes"
    )


def test_a_size_beside_an_array_must_be_its_own(device, refused, words):
    assert device.import_buffer(ArrayInterfaceArray(words), size=64).size == 64
    assert refused(ArrayInterfaceArray(words), size=32, kind=InvalidArgumentError) == (
        "import_buffer: the memory has another size\n"
        "  where: ArrayInterfaceArray\n  found: 64 bytes\n  allowed: size=32"
    )


@pytest.mark.parametrize("source", [None, "text", 1.5, [1, 2], object(), True])
def test_what_is_no_memory_is_refused(refused, source):
    assert refused(source, size=16, kind=InvalidArgumentError) == (
        "import_buffer: not device memory\n"
        f"  found: {type(source).__name__}\n"
        "  allowed: an object with __dlpack__ on an AMD device or __cuda_array_interface__, or an address with size="
    )


@pytest.mark.parametrize("source", [b"bytes", bytearray(4), np.zeros(4, np.uint8)])
def test_host_memory_is_refused_with_the_way_to_copy_it(refused, source):
    assert refused(source, kind=InvalidArgumentError) == (
        "import_buffer: this is host memory\n"
        f"  found: {type(source).__name__}\n"
        "  allowed: memory of this device\n"
        "  next: device.from_host(...) makes a buffer with a copy of it"
    )


class ArrayInterfaceOnly:
    """Host data without the buffer protocol."""

    def __init__(self, array):
        self._array = array

    @property
    def __array_interface__(self):
        return self._array.__array_interface__


class DLPackOnly:
    """A CPU tensor without the buffer protocol, as PyTorch has them."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


@pytest.mark.parametrize("wrap", [ArrayInterfaceOnly, DLPackOnly])
def test_host_arrays_of_others_are_host_data(device, wrap):
    data = np.arange(8, dtype=np.float32)
    buffer = device.from_host(wrap(data))
    assert buffer.to_host(np.float32).tolist() == data.tolist()
    buffer.write(wrap(data + 1))
    assert buffer.to_host(np.float32).tolist() == (data + 1).tolist()
    with device.command_buffer() as cb:
        cb.update_buffer(buffer, wrap(data + 2))
    cb.replay()
    assert buffer.to_host(np.float32).tolist() == (data + 2).tolist()


def test_read_only_host_data_is_taken_since_it_is_only_read(device):
    data = np.arange(8, dtype=np.float32)
    data.flags.writeable = False
    assert device.from_host(data).to_host(np.float32).tolist() == data.tolist()


@pytest.mark.parametrize("wrap", [ArrayInterfaceOnly, DLPackOnly])
def test_strided_host_data_is_refused_where_it_would_be_copied_as_it_is(device, wrap):
    with pytest.raises(InvalidArgumentError) as caught:
        device.from_host(wrap(np.zeros((4, 4), np.float32)[:, ::2]))
    assert str(caught.value) == (
        "from_host: the array is not contiguous\n"
        "  found: shape (4, 2), strides (16, 8)\n"
        "  allowed: elements one after the other, last axis fastest\n"
        "  next: numpy.ascontiguousarray(array) makes a contiguous copy"
    )


def test_device_memory_is_no_host_data(device, words):
    for source in (ArrayInterfaceArray(words), DLPackArray(words, (16,))):
        with pytest.raises(InvalidArgumentError) as caught:
            device.from_host(source)
        assert str(caught.value) == (
            "from_host: not host data\n"
            f"  found: {type(source).__name__}, which is device memory\n"
            "  allowed: bytes, a numpy array, or anything else with the buffer protocol\n"
            "  next: device.import_buffer(...) makes a buffer of it, to copy from in a command buffer"
        )
        with pytest.raises(InvalidArgumentError) as caught, device.command_buffer() as cb:
            cb.update_buffer(words, source)
        assert str(caught.value) == (
            "data is device memory\n"
            "  where: command 0\n"
            f"  found: {type(source).__name__}\n"
            "  allowed: bytes or an object with the buffer protocol, such as a NumPy array\n"
            "  next: copy it with copy_buffer"
        )


class CudaStream:
    def __init__(self, stream):
        self.stream = stream

    def __cuda_stream__(self):
        return 0, int(self.stream)


class TorchStream:
    def __init__(self, stream):
        self.cuda_stream = int(stream)


class CupyStream:
    def __init__(self, stream):
        self.ptr = int(stream)


@pytest.mark.parametrize("wrap", [int, lambda stream: stream, CudaStream, TorchStream, CupyStream])
def test_streams_of_others_are_taken(device, words, wrap):
    from hip import hip

    _, native = hip.hipStreamCreate()
    with device.command_buffer() as cb:
        cb.fill_buffer(words, 6)
    cb.replay(stream=wrap(native))
    hip.hipStreamSynchronize(native)
    assert words.to_host(np.uint32).tolist() == [6] * 16
    hip.hipStreamDestroy(native)


@pytest.mark.parametrize("stream", [0, 1])
def test_the_legacy_default_stream_has_two_names(device, words, stream):
    with device.command_buffer() as cb:
        cb.fill_buffer(words, 6)
    cb.replay(stream=stream)
    assert device.queue_of(stream) is device.queue_of(0)
    assert words.to_host(np.uint32).tolist() == [6] * 16


def test_the_stream_of_each_thread_is_refused(device, words):
    with device.command_buffer() as cb:
        cb.fill_buffer(words, 6)
    with pytest.raises(InvalidArgumentError) as caught:
        cb.replay(stream=2)
    assert str(caught.value) == (
        "replay: stream 2 is another stream in every thread\n"
        "  found: the per-thread default stream\n"
        "  allowed: a stream that all threads call the same\n"
        "  next: make one with device.stream()"
    )
