"""The functions of libroctx64 (ROCTX 4.1), and of the library that has its place in newer releases."""

from __future__ import annotations

from hipgraph_cb.virtual.exported import HANDLE, INT, POINTER, UINT, UINT64, ApiFunction, exporter
from hipgraph_cb.virtual.hip.native import load_text
from hipgraph_cb.virtual.roctx.ranges import Ranges

FUNCTIONS: dict[str, ApiFunction] = {}
api = exporter(FUNCTIONS)
NO_RANGE = -1
VERSION = 4, 1


@api("roctx_version_major", result=UINT, on_error=0, remembers=False, fallback=VERSION[0])
def version_major(ranges: Ranges) -> int:
    return VERSION[0]


@api("roctx_version_minor", result=UINT, on_error=0, remembers=False, fallback=VERSION[1])
def version_minor(ranges: Ranges) -> int:
    return VERSION[1]


@api("roctxMarkA", POINTER, result=None, on_error=0, remembers=False)
def mark(ranges: Ranges, message: int) -> None:
    """A point in time: nothing here has one."""


@api("roctxRangePushA", POINTER, result=INT, on_error=NO_RANGE, remembers=False, fallback=NO_RANGE)
def push(ranges: Ranges, message: int) -> int:
    """Returns the level of the range that begins, from 0."""
    ranges.stack.append(load_text(message) if message else "")
    return len(ranges.stack) - 1


@api("roctxRangePop", result=INT, on_error=NO_RANGE, remembers=False, fallback=NO_RANGE)
def pop(ranges: Ranges) -> int:
    """Returns the level of the range that ends; negative where none is open."""
    if not ranges.stack:
        return NO_RANGE
    ranges.stack.pop()
    return len(ranges.stack)


@api("roctxRangeStartA", POINTER, result=UINT64, on_error=0, remembers=False, fallback=0)
def start(ranges: Ranges, message: int) -> int:
    return ranges.start(load_text(message) if message else "")


@api("roctxRangeStop", UINT64, result=None, on_error=0, remembers=False)
def stop(ranges: Ranges, number: int) -> None:
    ranges.stop(number)


@api("roctxProfilerPause", UINT64, fallback=0)
@api("roctxProfilerResume", UINT64, fallback=0)
def profiler(ranges: Ranges, thread: int) -> None:
    """No profiler listens."""


@api("roctxNameOsThread", POINTER, fallback=0)
def name_thread(ranges: Ranges, name: int) -> None:
    """Names are for profilers."""


@api("roctxNameHsaAgent", POINTER, POINTER, fallback=0)
@api("roctxNameHipStream", POINTER, HANDLE, fallback=0)
def name_handle(ranges: Ranges, name: int, handle: int) -> None:
    """Names are for profilers."""


@api("roctxNameHipDevice", POINTER, INT, fallback=0)
def name_device(ranges: Ranges, name: int, ordinal: int) -> None:
    """Names are for profilers."""
