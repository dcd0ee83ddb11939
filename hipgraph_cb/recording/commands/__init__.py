"""The commands of a recording, as immutable values: a file for each type, which says all that is peculiar to it.

A command names memory as `(resource id, offset, length)` or as a slot of the binding table, and a kernel as
`(executable id, export name)`; it holds neither an address nor an object of a backend (R7).
"""

from __future__ import annotations

from hipgraph_cb.recording.commands.collectives import Collectives, Operation
from hipgraph_cb.recording.commands.copy import Copy
from hipgraph_cb.recording.commands.copy_2d import Copy2D
from hipgraph_cb.recording.commands.dispatch import Dispatch, DispatchIndirect, KernelLaunch
from hipgraph_cb.recording.commands.events import ResetEvent, SignalEvent, WaitEvents
from hipgraph_cb.recording.commands.execute import ExecuteCommands
from hipgraph_cb.recording.commands.fill import Fill
from hipgraph_cb.recording.commands.fill_2d import Fill2D
from hipgraph_cb.recording.commands.host_call import HostCall
from hipgraph_cb.recording.commands.places import (
    Access,
    Constant,
    Location,
    Number,
    Place,
    Pointers,
    Range,
    SlotNumber,
    SlotRange,
)
from hipgraph_cb.recording.commands.types import type_of
from hipgraph_cb.recording.commands.update import Update
from hipgraph_cb.recording.workgroups import Dimensions

Command = (
    Fill
    | Fill2D
    | Update
    | Copy
    | Copy2D
    | Dispatch
    | DispatchIndirect
    | ExecuteCommands
    | HostCall
    | Collectives
    | SignalEvent
    | ResetEvent
    | WaitEvents
)


def content(command: Command) -> tuple[object, ...]:
    """What a command does: its type and fields without the label."""
    return (type(command), *command[:-1])


__all__ = [
    "Access",
    "Collectives",
    "Command",
    "Constant",
    "Copy",
    "Copy2D",
    "Dimensions",
    "Dispatch",
    "DispatchIndirect",
    "ExecuteCommands",
    "Fill",
    "Fill2D",
    "HostCall",
    "KernelLaunch",
    "Location",
    "Number",
    "Operation",
    "Place",
    "Pointers",
    "Range",
    "ResetEvent",
    "SignalEvent",
    "SlotNumber",
    "SlotRange",
    "Update",
    "WaitEvents",
    "content",
    "type_of",
]
