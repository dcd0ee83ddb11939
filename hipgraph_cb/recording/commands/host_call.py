"""Calls of functions of the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hipgraph_cb.recording.commands.fields import ACCESSES, FUNCTION, LABEL
from hipgraph_cb.recording.commands.places import Access, Location, same_type_only
from hipgraph_cb.recording.commands.types import CommandType, register

if TYPE_CHECKING:
    from hipgraph_cb.recording.accesses import AccessReader
    from hipgraph_cb.recording.checking import CommandChecker
    from hipgraph_cb.recording.recording import Recording


@same_type_only
class HostCall(NamedTuple):
    """Call the function with this resource id on the host.

    Attributes:
        accesses: what the caller declares: `(place, whether it is read, whether it is written)`.
    """

    function: int
    accesses: tuple[tuple[Location, bool, bool], ...] = ()
    label: str | None = None


def _accesses(command: HostCall, _reader: AccessReader) -> list[Access]:
    return [Access(*access) for access in command.accesses]


def _check(command: HostCall, checker: CommandChecker) -> None:
    checker.check_function(command)
    for place, _reads, _writes in command.accesses:
        checker.check_place(place, empty=True)


def _details(command: HostCall, recording: Recording) -> list[str]:
    lines = [recording.resources.functions[command.function].name]
    for place, reads, writes in command.accesses:
        words = " and ".join([*["reads"] * reads, *["writes"] * writes])
        lines.append(f"{words} {recording.describe_place(place)}")
    return lines


HOST_CALL = register(
    CommandType(
        HostCall,
        "host_call",
        "host_call",
        {"function": FUNCTION, "accesses": ACCESSES, "label": LABEL},
        accesses=_accesses,
        check=_check,
        details=_details,
    )
)
