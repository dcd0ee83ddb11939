"""The structs of the DLPack C header, versions 0 and 1, and reading a capsule.

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
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
CODES_BY_NAME = {
    "bfloat16": 4,
    "float8_e3m4": 7,
    "float8_e4m3": 8,
    "float8_e4m3b11fnuz": 9,
    "float8_e4m3fn": 10,
    "float8_e4m3fnuz": 11,
    "float8_e5m2": 12,
    "float8_e5m2fnuz": 13,
    "float8_e8m0fnu": 14,
}
"""DLDataTypeCode of the DLPack header: by the kind of a numpy type, and of those of ml_dtypes by name."""
READ_ONLY = 1
MAJOR_VERSION = 1


class DLDevice(ctypes.Structure):
    """DLDevice."""

    _fields_ = (("type", ctypes.c_int32), ("id", ctypes.c_int32))


class DataType(ctypes.Structure):
    """DLDataType."""

    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Unversioned(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = (("tensor", Tensor), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


class DescribedTensor(NamedTuple):
    """What a capsule says.

    Attributes:
        device: (device type, device id).
        code, bits: of one element: DLDataTypeCode, and the bits of all of its lanes.
        strides: in elements, or None for C order.
    """

    address: int
    device: tuple[int, int]
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    code: int
    bits: int
    read_only: bool


class CapsuleError(Exception):
    """The capsule cannot be read; the text says why."""


def read_capsule(capsule: Any) -> DescribedTensor:
    """The tensor in a capsule, which has to outlive every use of the memory.

    Raises:
        CapsuleError: no capsule, one that was consumed, or of an unknown version.
    """
    for name, versioned in ((b"dltensor_versioned", True), (b"dltensor", False)):
        if _is_valid(capsule, name):
            address = _pointer(capsule, name)
            if not versioned:
                return _described(Tensor.from_address(address), read_only=False)
            managed = Versioned.from_address(address)
            if managed.major != MAJOR_VERSION:
                raise CapsuleError(f"DLPack version {managed.major}.{managed.minor}")
            return _described(managed.tensor, read_only=bool(managed.flags & READ_ONLY))
    raise CapsuleError("__dlpack__ gave no unused DLPack capsule")


def element_name(code: int, bits: int) -> str | None:
    """What numpy or ml_dtypes calls elements of a DLDataTypeCode and so many bits; None where neither has them."""
    for name, known in CODES_BY_NAME.items():
        if known == code:
            return name
    kinds = [kind for kind, known in CODES.items() if known == code and kind != "b"]
    if code == CODES["b"] and bits == 8:
        return "bool"
    return f"{kinds[0]}{bits // 8}" if kinds else None


def device_name(device_type: int) -> str:
    return DEVICE_NAMES.get(device_type, f"device type {device_type}")


def _described(tensor: Tensor, read_only: bool) -> DescribedTensor:
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None
    return DescribedTensor(
        (tensor.data or 0) + tensor.byte_offset,
        (tensor.device.type, tensor.device.id),
        tuple(tensor.shape[: tensor.ndim]) if tensor.ndim else (),
        strides,
        tensor.dtype.code,
        tensor.dtype.bits * tensor.dtype.lanes,
        read_only,
    )


_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes = (ctypes.py_object, ctypes.c_char_p)
_is_valid.restype = ctypes.c_int
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
_pointer.restype = ctypes.c_void_p
