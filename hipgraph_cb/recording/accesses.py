"""What each command of a recording does to memory.

What a transfer does is known. What a kernel does is known where the caller declares it, where the metadata states an
access, and for pointers to const; elsewhere a pointer counts as read and written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hipgraph_cb.recording.commands.places import Access
from hipgraph_cb.recording.commands.types import type_of

if TYPE_CHECKING:
    from hipgraph_cb.recording.commands import KernelLaunch
    from hipgraph_cb.recording.recording import Recording

_STATED = {
    "read_only": (True, False, True),
    "write_only": (False, True, True),
    "read_write": (True, True, True),
}
_UNKNOWN = (True, True, False)


class AccessReader:
    """Reads the accesses of the commands of one recording."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._parameters: dict[tuple[int, str], dict[int, tuple[bool, bool, bool]]] = {}
        self._nested: dict[int, list[Access]] = {}

    def of(self, index: int) -> list[Access]:
        """The accesses of one command."""
        command = self._recording[index]
        return type_of(command).accesses(command, self)

    def nested(self, recording: int) -> list[Access]:
        """What all commands of a nested recording do, in its own places."""
        known = self._nested.get(recording)
        if known is None:
            inner = self._recording.resources.recordings[recording].recording
            reader = AccessReader(inner)
            known = self._nested[recording] = [access for index in range(len(inner)) for access in reader.of(index)]
        return known

    def parameters_of(self, command: KernelLaunch) -> dict[int, tuple[bool, bool, bool]]:
        """By the offset of each parameter: whether it is read, whether it is written, and whether that is known."""
        key = command.executable, command.export
        known = self._parameters.get(key)
        if known is None:
            verified = self._recording.resources.executables[command.executable].verified
            parameters = verified.exports[command.export].layout.parameters
            known = self._parameters[key] = {parameter.offset: _by_metadata(parameter) for parameter in parameters}
        return known


def _by_metadata(parameter: Any) -> tuple[bool, bool, bool]:
    if parameter.is_const:
        return True, False, True
    return _STATED.get(parameter.access or "", _UNKNOWN)
