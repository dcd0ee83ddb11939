"""The header of RCCL: result codes, types of elements, reductions, structures."""

from __future__ import annotations

from ctypes import Structure, c_int, c_size_t, c_ubyte, c_uint
from enum import IntEnum

SONAME = "librccl.so.1"
"""The name by which programs ask for the library."""
UNIQUE_ID_SIZE = 128
CONFIG_MAGIC = 0xCAFEBEEF
UNSET = -(2**31)
"""A number of a configuration that the program leaves to the library."""
NO_COLOR = -1
"""The color of a rank that a split leaves out."""


class Result(IntEnum):
    """ncclResult_t: number, name in the header, text of ncclGetErrorString."""

    header_name: str
    text: str

    def __new__(cls, number: int, header_name: str, text: str) -> Result:
        result = int.__new__(cls, number)
        result._value_ = number
        result.header_name = header_name
        result.text = text
        return result

    SUCCESS = 0, "ncclSuccess", "no error"
    UNHANDLED_HIP_ERROR = 1, "ncclUnhandledCudaError", "unhandled cuda error (run with NCCL_DEBUG=INFO for details)"
    SYSTEM_ERROR = 2, "ncclSystemError", "unhandled system error (run with NCCL_DEBUG=INFO for details)"
    INTERNAL_ERROR = (
        3,
        "ncclInternalError",
        "internal error - please report this issue to the NCCL developers",
    )
    INVALID_ARGUMENT = 4, "ncclInvalidArgument", "invalid argument (run with NCCL_DEBUG=WARN for details)"
    INVALID_USAGE = 5, "ncclInvalidUsage", "invalid usage (run with NCCL_DEBUG=WARN for details)"
    REMOTE_ERROR = 6, "ncclRemoteError", "remote process exited or there was a network error"
    IN_PROGRESS = 7, "ncclInProgress", "NCCL operation in progress"


TYPES = {"i8": 0, "u8": 1, "i32": 2, "u32": 3, "i64": 4, "u64": 5, "f16": 6, "f32": 7, "f64": 8, "bf16": 9}
"""ncclDataType_t by our names of types. There are no integers of 16 bits."""
REDUCTIONS = {"sum": 0, "prod": 1, "max": 2, "min": 3, "avg": 4}
"""ncclRedOp_t."""


class UniqueId(Structure):
    """ncclUniqueId."""

    _fields_ = (("internal", c_ubyte * UNIQUE_ID_SIZE),)


class Config(Structure):
    """The fields of ncclConfig_t that every version has."""

    _fields_ = (
        ("size", c_size_t),
        ("magic", c_uint),
        ("version", c_uint),
        ("blocking", c_int),
    )
