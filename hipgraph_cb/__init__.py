"""Record AMD GPU work once, replay it many times, see what it does, and test it without a GPU.

Every class that a program can hold is here. They are loaded on first use, so that `import hipgraph_cb` costs next to
nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from hipgraph_cb.recording.formats import add_package
from hipgraph_cb.version import __version__ as __version__

if TYPE_CHECKING:
    from hipgraph_cb.capture.expected import Expected as Expected
    from hipgraph_cb.code_object.formats import Format as Format
    from hipgraph_cb.code_object.formats import Support as Support
    from hipgraph_cb.code_object.formats import infer_format as infer_format
    from hipgraph_cb.compiler.compile import compile as compile
    from hipgraph_cb.errors import AlreadyExistsError as AlreadyExistsError
    from hipgraph_cb.errors import CancelledError as CancelledError
    from hipgraph_cb.errors import CheckFailedError as CheckFailedError
    from hipgraph_cb.errors import CompileError as CompileError
    from hipgraph_cb.errors import DataLossError as DataLossError
    from hipgraph_cb.errors import DeadlineExceededError as DeadlineExceededError
    from hipgraph_cb.errors import FailedPreconditionError as FailedPreconditionError
    from hipgraph_cb.errors import FileError as FileError
    from hipgraph_cb.errors import FilePermissionError as FilePermissionError
    from hipgraph_cb.errors import HipError as HipError
    from hipgraph_cb.errors import HipGraphError as HipGraphError
    from hipgraph_cb.errors import HostCallError as HostCallError
    from hipgraph_cb.errors import HsaError as HsaError
    from hipgraph_cb.errors import IncompatibleError as IncompatibleError
    from hipgraph_cb.errors import InternalError as InternalError
    from hipgraph_cb.errors import InvalidArgumentError as InvalidArgumentError
    from hipgraph_cb.errors import MissingFileError as MissingFileError
    from hipgraph_cb.errors import NoSuchIndexError as NoSuchIndexError
    from hipgraph_cb.errors import NotFoundError as NotFoundError
    from hipgraph_cb.errors import OutOfRangeError as OutOfRangeError
    from hipgraph_cb.errors import PermissionDeniedError as PermissionDeniedError
    from hipgraph_cb.errors import RcclError as RcclError
    from hipgraph_cb.errors import ResourceExhaustedError as ResourceExhaustedError
    from hipgraph_cb.errors import UnavailableError as UnavailableError
    from hipgraph_cb.errors import UnimplementedError as UnimplementedError
    from hipgraph_cb.group.device_group import DeviceGroup as DeviceGroup
    from hipgraph_cb.group.executable import GroupExecutable as GroupExecutable
    from hipgraph_cb.group.program import GroupProgram as GroupProgram
    from hipgraph_cb.group.stream import GroupStream as GroupStream
    from hipgraph_cb.opening import load_recording as load_recording
    from hipgraph_cb.opening import open_device as open_device
    from hipgraph_cb.opening import open_devices as open_devices
    from hipgraph_cb.opening import recorded as recorded
    from hipgraph_cb.recording.categories import CommandCategory as CommandCategory
    from hipgraph_cb.recording.command_buffer import CommandBuffer as CommandBuffer
    from hipgraph_cb.recording.dependencies import JoinPolicy as JoinPolicy
    from hipgraph_cb.recording.hazard_policy import HazardPolicy as HazardPolicy
    from hipgraph_cb.recording.outputs import Output as Output
    from hipgraph_cb.recording.profile import Profile as Profile
    from hipgraph_cb.recording.recording import Recording as Recording
    from hipgraph_cb.recording.resources import Slot as Slot
    from hipgraph_cb.recording.stages import MemoryAccess as MemoryAccess
    from hipgraph_cb.recording.stages import Stage as Stage
    from hipgraph_cb.recording.transient import Transient as Transient
    from hipgraph_cb.runtime.array import Array as Array
    from hipgraph_cb.runtime.buffer import Buffer as Buffer
    from hipgraph_cb.runtime.buffer import BufferView as BufferView
    from hipgraph_cb.runtime.channel import Channel as Channel
    from hipgraph_cb.runtime.channel import Rank as Rank
    from hipgraph_cb.runtime.device import Device as Device
    from hipgraph_cb.runtime.event import Event as Event
    from hipgraph_cb.runtime.executable import Executable as Executable
    from hipgraph_cb.runtime.executable import Export as Export
    from hipgraph_cb.runtime.host_buffer import HostBuffer as HostBuffer
    from hipgraph_cb.runtime.launch import Launch as Launch
    from hipgraph_cb.runtime.program import Program as Program
    from hipgraph_cb.runtime.stream import Stream as Stream
    from hipgraph_cb.virtual.settings import VirtualSettings as VirtualSettings

_HOMES = {
    "AlreadyExistsError": "hipgraph_cb.errors",
    "Array": "hipgraph_cb.runtime.array",
    "Buffer": "hipgraph_cb.runtime.buffer",
    "BufferView": "hipgraph_cb.runtime.buffer",
    "CancelledError": "hipgraph_cb.errors",
    "Channel": "hipgraph_cb.runtime.channel",
    "CheckFailedError": "hipgraph_cb.errors",
    "CommandCategory": "hipgraph_cb.recording.categories",
    "CommandBuffer": "hipgraph_cb.recording.command_buffer",
    "CompileError": "hipgraph_cb.errors",
    "DataLossError": "hipgraph_cb.errors",
    "NoSuchIndexError": "hipgraph_cb.errors",
    "MissingFileError": "hipgraph_cb.errors",
    "FilePermissionError": "hipgraph_cb.errors",
    "FileError": "hipgraph_cb.errors",
    "DeadlineExceededError": "hipgraph_cb.errors",
    "Device": "hipgraph_cb.runtime.device",
    "DeviceGroup": "hipgraph_cb.group.device_group",
    "Event": "hipgraph_cb.runtime.event",
    "Executable": "hipgraph_cb.runtime.executable",
    "Expected": "hipgraph_cb.capture.expected",
    "Export": "hipgraph_cb.runtime.executable",
    "FailedPreconditionError": "hipgraph_cb.errors",
    "Format": "hipgraph_cb.code_object.formats",
    "GroupExecutable": "hipgraph_cb.group.executable",
    "GroupProgram": "hipgraph_cb.group.program",
    "GroupStream": "hipgraph_cb.group.stream",
    "HazardPolicy": "hipgraph_cb.recording.hazard_policy",
    "HipError": "hipgraph_cb.errors",
    "HipGraphError": "hipgraph_cb.errors",
    "HostBuffer": "hipgraph_cb.runtime.host_buffer",
    "HostCallError": "hipgraph_cb.errors",
    "HsaError": "hipgraph_cb.errors",
    "IncompatibleError": "hipgraph_cb.errors",
    "InternalError": "hipgraph_cb.errors",
    "InvalidArgumentError": "hipgraph_cb.errors",
    "JoinPolicy": "hipgraph_cb.recording.dependencies",
    "Launch": "hipgraph_cb.runtime.launch",
    "MemoryAccess": "hipgraph_cb.recording.stages",
    "NotFoundError": "hipgraph_cb.errors",
    "OutOfRangeError": "hipgraph_cb.errors",
    "Output": "hipgraph_cb.recording.outputs",
    "PermissionDeniedError": "hipgraph_cb.errors",
    "Profile": "hipgraph_cb.recording.profile",
    "Program": "hipgraph_cb.runtime.program",
    "ProgramCommand": "hipgraph_cb.runtime.program_command",
    "Recording": "hipgraph_cb.recording.recording",
    "Rank": "hipgraph_cb.runtime.channel",
    "RcclError": "hipgraph_cb.errors",
    "ResourceExhaustedError": "hipgraph_cb.errors",
    "Slot": "hipgraph_cb.recording.resources",
    "Stage": "hipgraph_cb.recording.stages",
    "Stream": "hipgraph_cb.runtime.stream",
    "Support": "hipgraph_cb.code_object.formats",
    "Transient": "hipgraph_cb.recording.transient",
    "UnavailableError": "hipgraph_cb.errors",
    "UnimplementedError": "hipgraph_cb.errors",
    "VirtualSettings": "hipgraph_cb.virtual.settings",
    "compile": "hipgraph_cb.compiler.compile",
    "infer_format": "hipgraph_cb.code_object.formats",
    "load_recording": "hipgraph_cb.opening",
    "open_device": "hipgraph_cb.opening",
    "recorded": "hipgraph_cb.opening",
    "open_devices": "hipgraph_cb.opening",
}

__all__ = [
    "AlreadyExistsError",
    "Array",
    "Buffer",
    "BufferView",
    "CancelledError",
    "Channel",
    "CheckFailedError",
    "CommandBuffer",
    "CommandCategory",
    "CompileError",
    "DataLossError",
    "DeadlineExceededError",
    "Device",
    "DeviceGroup",
    "Event",
    "Executable",
    "Expected",
    "Export",
    "FailedPreconditionError",
    "FileError",
    "FilePermissionError",
    "Format",
    "GroupExecutable",
    "GroupProgram",
    "GroupStream",
    "HazardPolicy",
    "HipError",
    "HipGraphError",
    "HostBuffer",
    "HostCallError",
    "HsaError",
    "IncompatibleError",
    "InternalError",
    "InvalidArgumentError",
    "JoinPolicy",
    "Launch",
    "MemoryAccess",
    "MissingFileError",
    "NoSuchIndexError",
    "NotFoundError",
    "OutOfRangeError",
    "Output",
    "PermissionDeniedError",
    "Profile",
    "Program",
    "ProgramCommand",
    "Rank",
    "RcclError",
    "Recording",
    "ResourceExhaustedError",
    "Slot",
    "Stage",
    "Stream",
    "Support",
    "Transient",
    "UnavailableError",
    "UnimplementedError",
    "VirtualSettings",
    "__version__",
    "compile",
    "infer_format",
    "load_recording",
    "open_device",
    "open_devices",
    "recorded",
]

# The recording knows no format by name; here is where the package's own are.
add_package("hipgraph_cb.export")
add_package("hipgraph_cb.capture")


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
