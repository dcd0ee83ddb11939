"""Memory offered through DLPack."""

import weakref

import numpy as np
import pytest
from support.collection import collect
from support.producers import DLPackArray

from hipgraph_cb.errors import InvalidArgumentError


@pytest.mark.parametrize("version", [None, (1, 0), (1, 3)])
def test_an_imported_tensor_is_the_same_memory(device, words, version):
    tensor = DLPackArray(words, (3, 5), offset=4, version=version)
    buffer = device.import_buffer(tensor)
    assert (buffer.size, buffer.address) == (60, words.address + 4)
    assert buffer.to_host(np.uint32).tolist() == list(range(1, 16))
    buffer.write(np.arange(15, dtype=np.uint32))
    assert words.to_host(np.uint32).tolist() == [0, *range(15)]


def test_the_producer_is_reported_a_stream_of_ours_and_the_newest_version_that_is_read(device, words):
    new, old = DLPackArray(words, (16,), version=(1, 0)), DLPackArray(words, (16,))
    device.import_buffer(new)
    device.import_buffer(old)
    stream = int(device.queue_of(None).native)
    assert stream > 2
    assert new.calls == [{"stream": stream, "max_version": (1, 0)}]
    assert old.calls == [{"stream": stream}]


def test_what_the_producer_put_on_that_stream_is_waited_for(device, words, monkeypatch):
    asked = []
    monkeypatch.setattr(device.api, "query", lambda _name, handle, where=None: asked.append(handle) or len(asked) > 1)
    device.import_buffer(DLPackArray(words, (16,)))
    monkeypatch.undo()
    assert asked == [device.queue_of(None).native] * 2


def test_it_keeps_the_tensor_alive_and_frees_nothing(device, words):
    tensor = DLPackArray(words, (16,))
    alive = weakref.ref(tensor)
    buffer = device.import_buffer(tensor)
    del tensor
    collect()
    assert alive() is not None
    buffer.close()
    collect()
    assert alive() is None
    assert words.to_host(np.uint32).tolist() == list(range(16))


def test_a_tensor_stands_where_a_buffer_stands(device, words):
    with device.command_buffer() as cb:
        cb.fill_buffer(DLPackArray(words, (16,)), 8)
    cb.replay()
    assert words.to_host(np.uint32).tolist() == [8] * 16


def test_dlpack_goes_before_the_array_interface(device, words):
    class Both(DLPackArray):
        @property
        def __cuda_array_interface__(self):
            pytest.fail("asked for the array interface")

    assert device.import_buffer(Both(words, (16,))).size == 64


def test_strides_count_elements(device, refused, words):
    assert device.import_buffer(DLPackArray(words, (2, 8), (8, 1))).size == 64
    assert device.import_buffer(DLPackArray(words, (), ())).size == 4
    assert refused(DLPackArray(words, (8, 2), (1, 8)), kind=InvalidArgumentError) == (
        "import_buffer: the array is not contiguous\n"
        "  where: DLPackArray\n"
        "  found: shape (8, 2), strides (4, 32) in bytes\n"
        "  allowed: elements one after the other, last axis fastest\n"
        "  next: make a contiguous copy with the library that owns it"
    )


def test_read_only_memory_is_refused(refused, words):
    assert refused(DLPackArray(words, (16,), version=(1, 0), read_only=True)).startswith(
        "import_buffer: the memory is read-only\n  where: DLPackArray\n"
    )


@pytest.mark.parametrize(("device_type", "name"), [(2, "kDLCUDA"), (14, "kDLOneAPI"), (77, "device type 77")])
def test_memory_of_another_kind_of_device_is_refused(refused, words, device_type, name):
    assert refused(DLPackArray(words, (16,), device=(device_type, 1)), kind=InvalidArgumentError) == (
        f"import_buffer: the memory is on another kind of device\n  found: DLPackArray on {name} 1\n  allowed: kDLROCM"
    )


def test_memory_of_another_gpu_is_refused(refused, words):
    assert refused(DLPackArray(words, (16,), device=(10, 5)), kind=InvalidArgumentError) == (
        "import_buffer: the memory belongs to another device\n"
        "  where: DLPackArray\n  found: device 5\n  allowed: device 0"
    )


@pytest.mark.parametrize("kind", [1, 3, 11])
def test_host_memory_is_refused(refused, words, kind):
    assert refused(DLPackArray(words, (16,), device=(kind, 0)), kind=InvalidArgumentError) == (
        "import_buffer: this is host memory\n"
        "  found: DLPackArray\n"
        "  allowed: memory of this device\n"
        "  next: device.from_host(...) makes a buffer with a copy of it"
    )


def test_elements_of_part_of_a_byte_are_refused(refused, words):
    assert refused(DLPackArray(words, (16,), bits=4), kind=InvalidArgumentError) == (
        "import_buffer: the elements are no whole bytes\n  where: DLPackArray\n  found: 4 bits\n  allowed: 8, 16, ..."
    )


def test_a_version_that_is_not_known_is_refused(refused, words):
    assert refused(DLPackArray(words, (16,), version=(2, 0)), kind=InvalidArgumentError) == (
        "import_buffer: not a DLPack tensor\n  where: DLPackArray\n  found: DLPack version 2.0"
    )


def test_a_consumed_capsule_is_refused(refused, words):
    assert refused(DLPackArray(words, (16,), name=b"used_dltensor"), kind=InvalidArgumentError) == (
        "import_buffer: not a DLPack tensor\n  where: DLPackArray\n  found: __dlpack__ gave no unused DLPack capsule"
    )


def test_a_producer_that_refuses_is_quoted(refused, words):
    class Needed(DLPackArray):
        def __dlpack__(self, **_options):
            raise BufferError("the tensor needs a gradient")

    assert refused(Needed(words, (16,)), kind=InvalidArgumentError) == (
        "import_buffer: its owner does not give it away\n  where: Needed\n  found: the tensor needs a gradient"
    )
