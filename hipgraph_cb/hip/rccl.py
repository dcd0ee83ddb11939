"""RCCL through its C interface, which is loaded when the first channel is made."""

from __future__ import annotations

import ctypes
import functools
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hipgraph_cb.abi.rccl import REDUCTIONS, SONAME, TYPES, Result
from hipgraph_cb.collectives.operations import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    ELEMENT_SIZES,
    GATHER,
    PAIRED,
    RECEIVE,
    REDUCE,
    REDUCE_SCATTER,
    REDUCING,
    ROOTED,
    SCATTER,
    SEND,
    Collective,
)
from hipgraph_cb.errors import HipGraphError, RcclError, UnavailableError, UnimplementedError

if TYPE_CHECKING:
    from hipgraph_cb.hip.api import HipApi

logger = logging.getLogger("hipgraph_cb.hip")

CONNECT_AT_ONCE = "NCCL_RUNTIME_CONNECT"
"""RCCL would else connect ranks at their first operation, and wait there for the others: one thread that records for
one rank after the other would wait for ever. Somebody who sets it themselves is followed."""
_FUNCTIONS = {
    ALL_REDUCE: "ncclAllReduce",
    ALL_GATHER: "ncclAllGather",
    REDUCE_SCATTER: "ncclReduceScatter",
    BROADCAST: "ncclBroadcast",
    REDUCE: "ncclReduce",
    ALL_TO_ALL: "ncclAllToAll",
    GATHER: "ncclGather",
    SCATTER: "ncclScatter",
    SEND: "ncclSend",
    RECEIVE: "ncclRecv",
}
_POINTER, _COUNT, _NUMBER = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int


class RcclApi:
    """The functions of RCCL as one device uses them.

    Args:
        hip: of the device; its fault report is appended to errors.

    Attributes:
        library: RCCL.
    """

    def __init__(self, hip: HipApi) -> None:
        self._hip = hip
        self.library = library()

    def call(self, name: str, *arguments: Any, where: str | None = None) -> None:
        """Call a function.

        Raises:
            RcclError: it returned something other than ncclSuccess.
            UnavailableError: this library has no such function.
        """
        function = getattr(self.library, name, None)
        if function is None:
            raise UnavailableError(
                f"RCCL has no function {name}", where=where, next_step="install a newer ROCm, or use backend='hsa'"
            )
        code = function(*arguments)
        if code != Result.SUCCESS:
            report = self._hip.fault_report
            known = {int(result): result.header_name for result in Result}
            raise RcclError(name, code, known.get(code, "unknown"), where=where, detail=report() if report else None)

    def release(self, name: str, handle: Any) -> None:
        """As `HipApi.release`."""
        if self._hip.absence is not None:
            return
        try:
            self._hip.make_current()
            self.call(name, _POINTER(handle))
        except HipGraphError as error:
            logger.warning("a release failed and counts as done: %s", str(error))


@functools.cache
def library() -> ctypes.CDLL:
    """The library, by its name, or as a file of the ROCm installation.

    Raises:
        UnavailableError: it is not there, or cannot be loaded.
    """
    os.environ.setdefault(CONNECT_AT_ONCE, "0")
    folders = [os.environ.get("ROCM_PATH"), "/opt/rocm"]
    names = [SONAME, *(str(Path(folder) / "lib" / SONAME) for folder in folders if folder)]
    reasons = []
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            reasons.append(str(error))
    raise UnavailableError(
        "channel: RCCL cannot be loaded",
        found="; ".join(dict.fromkeys(reasons)),
        allowed=f"{SONAME}, which comes with ROCm",
        next_step="install rccl, set ROCM_PATH, or open the devices with backend='hsa', which needs none",
    )


def call_of(operation: Collective, source: int, target: int) -> tuple[str, tuple[Any, ...]]:
    """The function of an operation, and its arguments in front of the communicator.

    Raises:
        UnimplementedError: RCCL does not reduce integers of 16 bits.
    """
    kind, element, count = operation.kind, operation.type, operation.elements
    if element not in TYPES:
        if kind in REDUCING:
            raise UnimplementedError(
                f"collective: RCCL does not reduce elements of type {element}",
                found=str(operation),
                allowed=", ".join(TYPES),
                next_step="use a wider type, or backend='hsa'",
            )
        element, count = "u8", count * ELEMENT_SIZES[element]
    ends = {SEND: (source,), RECEIVE: (target,)}.get(kind, (source, target))
    numbers = [TYPES[element]]
    if kind in REDUCING:
        numbers.append(REDUCTIONS[operation.reduction])
    if kind in ROOTED or kind in PAIRED:
        numbers.append(operation.root)
    return _FUNCTIONS[kind], (*map(_POINTER, ends), _COUNT(count), *map(_NUMBER, numbers))
