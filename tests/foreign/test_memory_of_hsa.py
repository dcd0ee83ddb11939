"""Memory that somebody else owns, on the HSA backend."""

import weakref

import numpy as np
import pytest
from support.collection import collect
from support.producers import ArrayInterfaceArray, DLPackArray

from hipgraph_cb import Slot, open_device
from hipgraph_cb.errors import FailedPreconditionError, InvalidArgumentError, OutOfRangeError, UnimplementedError


@pytest.fixture(scope="module")
def device():
    with open_device("hsa") as device:
        yield device


def test_imported_memory_is_the_same_memory_whoever_offers_it(device, words):
    tensor = DLPackArray(words, (16,))
    for buffer in (
        device.import_buffer(ArrayInterfaceArray(words), label="theirs"),
        device.import_buffer(tensor),
        device.import_buffer(words.address, size=64),
    ):
        assert (buffer.size, buffer.address) == (64, words.address)
        assert buffer.to_host(np.uint32).tolist() == list(range(16))
    assert tensor.calls == [{"stream": -1}]


def test_commands_and_bindings_take_it(device, words):
    target = device.allocate(64)
    with device.command_buffer(binding_capacity=1) as cb:
        cb.fill_buffer(ArrayInterfaceArray(words), 7, offset=32)
        cb.execution_barrier()
        cb.copy_buffer(ArrayInterfaceArray(words), Slot(0, 0, 64))
    cb.replay(bindings=[ArrayInterfaceArray(target)])
    assert target.to_host(np.uint32).tolist() == [*range(8), *[7] * 8]


def test_it_keeps_the_owner_alive_until_the_launches_are_done(device, words):
    array = ArrayInterfaceArray(words)
    alive = weakref.ref(array)
    with device.command_buffer() as cb:
        cb.fill_buffer(device.import_buffer(array), 3)
    del array
    cb.replay()
    collect()
    assert alive() is not None
    cb.program.close()
    assert words.to_host(np.uint32).tolist() == [3] * 16
    del cb
    collect()
    assert alive() is None


def test_what_is_wrong_is_refused(refused, words):
    host = np.zeros(4, np.uint32)
    assert refused(host.ctypes.data, size=16, kind=InvalidArgumentError) == (
        "import_buffer: the HSA runtime knows of no memory there\n"
        f"  where: the memory at {host.ctypes.data:#x}\n  found: address {host.ctypes.data:#x}"
    )
    assert refused(words.address + 60, size=8, kind=OutOfRangeError) == (
        "import_buffer: the memory reaches past the end of its allocation\n"
        f"  where: the memory at {words.address + 60:#x}\n  found: 8 bytes\n  allowed: 4 bytes"
    )
    assert refused(ArrayInterfaceArray(words, stream=1), kind=UnimplementedError) == (
        "import_buffer: this backend cannot wait for a stream of HIP\n"
        "  where: ArrayInterfaceArray\n"
        "  found: stream 0x1 in the __cuda_array_interface__\n"
        "  next: synchronize the producer, then import the address with size="
    )


def test_memory_that_its_owner_freed_is_refused(device):
    owner, other = device.allocate(64), device.allocate(64)
    buffer, bound = device.import_buffer(owner.address, size=64), device.import_buffer(other.address, size=64)
    with device.command_buffer() as direct:
        direct.fill_buffer(buffer, 1)
    with device.command_buffer(binding_capacity=1) as slots:
        slots.fill_buffer(Slot(0), 1)
    direct.replay()
    slots.replay(bindings=[bound])
    device.synchronize()
    owner.close()
    other.close()
    for use in (
        direct.replay,
        lambda: slots.replay(bindings=[bound]),
        lambda: device.program(direct.recording),
        lambda: buffer.address,
        buffer.to_host,
        lambda: buffer.write(bytes(64)),
    ):
        with pytest.raises(FailedPreconditionError, match="is gone: its owner freed the memory"):
            use()
