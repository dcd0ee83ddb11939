"""Which command of a program a fault is in: HIP does not say which node of a graph failed, and a report may name the
kernel."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hipgraph_cb.recording.commands import Dispatch, DispatchIndirect

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording

MOST_NAMED = 4
_KERNEL_LINE = re.compile(r"^ *kernel: (.+)$", re.M)


def culprit(recording: Recording, report: str | None) -> str | None:
    """How messages call the commands of `recording` that launch the kernel of the report; None where there is no such
    kernel, or a nested recording may have launched it."""
    found = None if report is None else _KERNEL_LINE.search(report)
    if found is None or _launches(recording, found[1], nested=True):
        return None
    commands = _launches(recording, found[1])
    if len(commands) > MOST_NAMED:
        return f"one of the {len(commands)} commands that launch {found[1]}"
    return " or ".join(recording.where(index) for index in commands) or None


def _launches(recording: Recording, kernel: str, nested: bool = False) -> list[int]:
    """The commands that launch a kernel of this name; those of nested recordings instead."""
    if nested:
        inner = [entry.recording for entry in recording.resources.recordings.values()]
        return [index for each in inner for index in _launches(each, kernel)]
    return [
        index
        for index, command in enumerate(recording)
        if isinstance(command, (Dispatch, DispatchIndirect)) and command.export == kernel
    ]
