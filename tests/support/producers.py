"""Arrays of an imaginary library on the GPU, which offer their memory as real ones do."""

from __future__ import annotations

import ctypes

from hipgraph_cb.foreign.dlpack import Unversioned, Versioned

ROCM = 10


class ArrayInterfaceArray:
    """Offers `__cuda_array_interface__` for the memory of a buffer; `facts` override what it says."""

    def __init__(self, buffer, typestr="<u4", **facts):
        interface = dict(buffer.__cuda_array_interface__)
        itemsize = int(typestr[2:])
        interface.update(typestr=typestr, shape=(interface["shape"][0] // itemsize,))
        interface.update(facts)
        self.__cuda_array_interface__ = interface
        self.buffer_behind_it = buffer


class DLPackArray:
    """Offers DLPack for the memory of a buffer, as a tensor of 32-bit words.

    Attributes:
        calls: the keyword arguments of every `__dlpack__`.
    """

    def __init__(
        self, buffer, shape, strides=None, device=(ROCM, 0), version=None, read_only=False, offset=0, bits=32, name=None
    ):
        self.buffer_behind_it = buffer
        self.calls = []
        self._device = device
        self._version = version
        self._name = name or (b"dltensor" if version is None else b"dltensor_versioned")
        self._shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        self._strides = None if strides is None else (ctypes.c_int64 * len(strides))(*strides)
        self._struct = Unversioned() if version is None else Versioned()
        if version is not None:
            self._struct.major, self._struct.minor = version
            self._struct.flags = int(read_only)
        tensor = self._struct.tensor
        tensor.data = buffer.address
        tensor.device.type, tensor.device.id = device
        tensor.ndim = len(shape)
        tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = 1, bits, 1
        tensor.shape = ctypes.cast(self._shape, ctypes.POINTER(ctypes.c_int64))
        if strides is not None:
            tensor.strides = ctypes.cast(self._strides, ctypes.POINTER(ctypes.c_int64))
        tensor.byte_offset = offset

    def __dlpack_device__(self):
        return self._device

    def __dlpack__(self, *, stream=None, **version):
        if version and self._version is None:
            raise TypeError("no max_version before DLPack 1")
        self.calls.append({"stream": stream, **version})
        new = ctypes.pythonapi.PyCapsule_New
        new.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        new.restype = ctypes.py_object
        return new(ctypes.addressof(self._struct), self._name, None)
