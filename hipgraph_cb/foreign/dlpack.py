"""Reading a DLPack capsule: the structs of the DLPack C header, versions 0 and 1.

The capsule is not consumed: the memory lives as long as it does, and its own destructor releases the memory to the
producer.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

ROCM = 10
DEVICE_NAMES = {
    1: "kDLCPU",
    2: "kDLCUDA",
    3: "kDLCUDAHost",
    4: "kDLOpenCL",
    7: "kDLVulkan",
    8: "kDLMetal",
    10: "kDLROCM",
    11: "kDLROCMHost",
    13: "kDLCUDAManaged",
    14: "kDLOneAPI",
}
READ_ONLY = 1
MAJOR_VERSION = 1


class _Device(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("id", ctypes.c_int32))


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


class Tensor(NamedTuple):
    """What a capsule says.

    Attributes:
        device: (device type, device id).
        bits: of one element, all of its lanes.
        strides: in elements, or None for C order.
    """

    address: int
    device: tuple[int, int]
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    bits: int
    read_only: bool


class CapsuleError(Exception):
    """The capsule cannot be read; the text says why."""


def read_capsule(capsule: Any) -> Tensor:
    """The tensor in a capsule, which has to outlive every use of the memory.

    Raises:
        CapsuleError: no capsule, one that was consumed, or of an unknown version.
    """
    for name, versioned in ((b"dltensor_versioned", True), (b"dltensor", False)):
        if _is_valid(capsule, name):
            address = _pointer(capsule, name)
            if not versioned:
                return _tensor(_Tensor.from_address(address), read_only=False)
            managed = _Versioned.from_address(address)
            if managed.major != MAJOR_VERSION:
                raise CapsuleError(f"DLPack version {managed.major}.{managed.minor}")
            return _tensor(managed.tensor, read_only=bool(managed.flags & READ_ONLY))
    raise CapsuleError("__dlpack__ gave no unused DLPack capsule")


def device_name(device_type: int) -> str:
    return DEVICE_NAMES.get(device_type, f"device type {device_type}")


def _tensor(tensor: _Tensor, read_only: bool) -> Tensor:
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None
    return Tensor(
        (tensor.data or 0) + tensor.byte_offset,
        (tensor.device.type, tensor.device.id),
        tuple(tensor.shape[: tensor.ndim]) if tensor.ndim else (),
        strides,
        tensor.dtype.bits * tensor.dtype.lanes,
        read_only,
    )


_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes = (ctypes.py_object, ctypes.c_char_p)
_is_valid.restype = ctypes.c_int
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
_pointer.restype = ctypes.c_void_p
