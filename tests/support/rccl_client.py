"""Programs of C that use RCCL: HIP and RCCL by ctypes, and what numpy says of each collective."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

POINTER = ctypes.c_size_t
SUM, PROD, MAX, MIN, AVG = range(5)
TYPE_NUMBERS = {
    "int8": 0,
    "uint8": 1,
    "int32": 2,
    "uint32": 3,
    "int64": 4,
    "uint64": 5,
    "float16": 6,
    "float32": 7,
    "float64": 8,
    "bfloat16": 9,
}
"""ncclDataType_t."""
Values = NDArray[Any]


class RcclClient:
    """What a program has: a stream, a communicator for each rank. Codes other than 0 raise AssertionError.

    Args:
        devices: the device of each rank.
        report: says what is known about a failure.
    """

    def __init__(self, devices: Sequence[int], report: Callable[[], str | None]) -> None:
        self.devices = tuple(devices)
        self.hip = ctypes.CDLL("libamdhip64.so")
        self.rccl = ctypes.CDLL("librccl.so.1")
        self._report = report
        self._allocations: list[int] = []
        self.streams = [self._new_stream(device) for device in self.devices]
        handles = (POINTER * len(self.devices))()
        ordinals = (ctypes.c_int * len(self.devices))(*self.devices)
        self.check(self.rccl.ncclCommInitAll(handles, len(self.devices), ordinals))
        self.communicators = [int(handle) for handle in handles]

    @property
    def ranks(self) -> int:
        return len(self.devices)

    def check(self, code: int) -> None:
        assert code == 0, f"code {code}: {self._report()}"

    def call(self, name: str, *arguments: Any) -> int:
        """The code of an RCCL function; Python's integers are passed as 64 bits where they are large, else as int."""
        function = getattr(self.rccl, name)
        code: int = function(*(POINTER(each) if isinstance(each, int) and each > 99 else each for each in arguments))
        return code

    def upload(self, rank: int, values: Values) -> int:
        """Device memory with these bytes."""
        address = self.allocate(rank, values.nbytes)
        self.check(self.hip.hipMemcpy(POINTER(address), _pointer(values), POINTER(values.nbytes), 1))
        return address

    def allocate(self, rank: int, size: int) -> int:
        self.check(self.hip.hipSetDevice(self.devices[rank]))
        out = POINTER()
        self.check(self.hip.hipMalloc(ctypes.byref(out), POINTER(max(size, 16))))
        self._allocations.append(out.value)
        return out.value

    def download(self, address: int, like: Values) -> Values:
        values = np.empty_like(like)
        self.check(self.hip.hipMemcpy(_pointer(values), POINTER(address), POINTER(values.nbytes), 2))
        return values

    def group(self, call: Callable[[int], int], ranks: Sequence[int] | None = None) -> None:
        """Make a call for each rank, in one group."""
        self.check(self.rccl.ncclGroupStart())
        for rank in range(self.ranks) if ranks is None else ranks:
            self.check(call(rank))
        self.check(self.rccl.ncclGroupEnd())

    def synchronize(self) -> None:
        for stream in self.streams:
            self.check(self.hip.hipStreamSynchronize(POINTER(stream)))

    def close(self) -> None:
        for communicator in self.communicators:
            self.check(self.rccl.ncclCommDestroy(POINTER(communicator)))
        for stream in self.streams:
            self.check(self.hip.hipStreamDestroy(POINTER(stream)))
        for address in self._allocations:
            self.check(self.hip.hipFree(POINTER(address)))
        self.check(self.hip.hipSetDevice(0))

    def _new_stream(self, device: int) -> int:
        self.check(self.hip.hipSetDevice(device))
        out = POINTER()
        self.check(self.hip.hipStreamCreateWithFlags(ctypes.byref(out), 1))
        return out.value


def _pointer(values: Values) -> ctypes.c_void_p:
    return ctypes.c_void_p(values.ctypes.data)
