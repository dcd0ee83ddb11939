"""Our memory as a DLPack capsule: what it says, and how long it lives."""

import ctypes
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from support.child import HANGING
from support.collection import collect

from hipgraph_cb import open_device
from hipgraph_cb.foreign import dlpack_export
from hipgraph_cb.foreign.dlpack import Unversioned, Versioned, read_capsule

ROCM = 10


@pytest.fixture(scope="module", params=["hip", "hsa"])
def device(request):
    with open_device(request.param) as device:
        yield device


class Consumer:
    """Takes a capsule as the protocol says: renames it, and calls the deleter when it is done."""

    def __init__(self, array, version=(1, 0)):
        self.capsule = array.__dlpack__(max_version=version)
        name = b"dltensor_versioned" if version else b"dltensor"
        api = ctypes.pythonapi
        api.PyCapsule_GetPointer.restype = ctypes.c_void_p
        self.address = api.PyCapsule_GetPointer(ctypes.py_object(self.capsule), name)
        self._name = b"used_" + name
        api.PyCapsule_SetName(ctypes.py_object(self.capsule), self._name)
        self.managed = (Versioned if version else Unversioned).from_address(self.address)

    def release(self):
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.managed.deleter)(self.address)


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 3)])
def test_the_capsule_says_where_the_array_is(device, version):
    array = device.asarray(np.arange(12, dtype=np.float32).reshape(2, 3, 2))[1:]
    capsule = array.__dlpack__(max_version=version)
    tensor = read_capsule(capsule)
    assert (tensor.address, tensor.device, tensor.shape, tensor.strides) == (
        array.address,
        (ROCM, device.ordinal),
        (1, 3, 2),
        (6, 2, 1),
    )
    assert (tensor.code, tensor.bits, tensor.read_only) == (2, 32, False)
    assert ('"dltensor_versioned"' in repr(capsule)) == (version is not None and version[0] == 1)


@pytest.mark.parametrize(
    ("dtype", "code", "bits"),
    [
        (np.int8, 0, 8),
        (np.uint64, 1, 64),
        (np.float16, 2, 16),
        (np.complex64, 5, 64),
        (bool, 6, 8),
        (ml_dtypes.bfloat16, 4, 16),
        (ml_dtypes.float8_e4m3fn, 10, 8),
        (ml_dtypes.float8_e5m2fnuz, 13, 8),
    ],
)
def test_element_types_have_the_codes_of_the_header(device, dtype, code, bits):
    array = device.empty(3, dtype)
    tensor = read_capsule(array.__dlpack__())
    assert (tensor.code, tensor.bits) == (code, bits)
    assert device.asarray(_Wrapped(array)).dtype == np.dtype(dtype)


def test_what_dlpack_has_no_name_for_is_refused(device):
    with pytest.raises(BufferError, match="no name for"):
        device.empty(3, "V8").__dlpack__()


def test_numpy_takes_a_copy_on_the_host(device):
    array = device.asarray(np.arange(6, dtype=np.int32).reshape(2, 3))
    taken = np.from_dlpack(array, device="cpu")
    np.testing.assert_array_equal(taken, [[0, 1, 2], [3, 4, 5]])


def test_requests_that_cannot_be_met_are_buffer_errors(device):
    array = device.zeros(4)
    for request in ({"copy": True}, {"dl_device": (2, 0)}, {"dl_device": (1, 0), "copy": False}):
        with pytest.raises(BufferError):
            array.__dlpack__(**request)


def test_a_buffer_is_exported_as_bytes(device):
    tensor = read_capsule(device.from_host(bytes(5)).__dlpack__())
    assert (tensor.shape, tensor.code, tensor.bits) == ((5,), 1, 8)


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_the_memory_lives_until_its_consumer_releases_it(device, version):
    values = np.arange(4, dtype=np.float32)
    array = device.asarray(values)
    consumer = Consumer(array, version)
    known = len(dlpack_export._exports)
    handle = array.buffer.handle
    array.buffer.close()
    del array
    collect()
    dlpack_export.sweep()
    assert len(dlpack_export._exports) == known
    assert handle.is_alive
    consumer.release()
    device.zeros(1)  # any later allocation
    assert len(dlpack_export._exports) == known - 1


def test_a_capsule_that_nobody_took_gives_the_memory_back(device):
    dlpack_export.sweep()
    known = len(dlpack_export._exports)
    capsule = device.zeros(4).__dlpack__()
    dlpack_export.sweep()
    assert len(dlpack_export._exports) == known + 1
    del capsule
    dlpack_export.sweep()
    assert len(dlpack_export._exports) == known


def test_an_array_of_ours_goes_through_another_library_and_back(device):
    array = device.asarray(np.arange(6, dtype=np.int16).reshape(2, 3))
    back = device.asarray(_Wrapped(array))
    assert (back.shape, back.dtype, back.address) == ((2, 3), np.int16, array.address)
    back[0].write(7)
    assert array.to_host().tolist() == [[7, 7, 7], [3, 4, 5]]


def test_a_consumer_may_release_after_python_has_ended():
    program = """
import atexit, ctypes
from hipgraph_cb import open_device
from hipgraph_cb.foreign.dlpack import Unversioned
array = open_device().zeros(4)
capsule = array.__dlpack__()
api = ctypes.pythonapi
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
address = api.PyCapsule_GetPointer(ctypes.py_object(capsule), b"dltensor")
api.PyCapsule_SetName(ctypes.py_object(capsule), b"used_dltensor")
deleter = Unversioned.from_address(address).deleter
# The C library calls what is registered here after the interpreter has been finalised.
ctypes.CDLL(None).__cxa_atexit(ctypes.c_void_p(deleter), ctypes.c_void_p(address), None)
print("registered", flush=True)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=HANGING)
    assert (done.returncode, done.stdout) == (0, "registered\n"), done.stderr


class _Wrapped:
    """An array of another library around the same memory."""

    def __init__(self, array):
        self._array = array

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()

    def __dlpack__(self, **arguments):
        return self._array.__dlpack__(**arguments)


def test_memory_is_given_up_once_however_many_threads_look(device, monkeypatch):
    consumers, freed, free = [Consumer(device.zeros(4)) for _ in range(3)], [], dlpack_export._free

    def free_while_another_looks(block):
        freed.append(block)
        if len(freed) == 1:
            dlpack_export.sweep()

    monkeypatch.setattr(dlpack_export, "_free", free_while_another_looks)
    for consumer in consumers:
        consumer.release()
    dlpack_export.sweep()
    assert sorted(freed) == sorted(consumer.address for consumer in consumers)
    for block in freed:
        free(block)
