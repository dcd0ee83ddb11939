"""The verb of a command buffer for functions of the host."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from hipgraph_cb.recording.commands import HostCall
from hipgraph_cb.recording.validation import check_list, text

if TYPE_CHECKING:
    from hipgraph_cb.recording.commands import Command
    from hipgraph_cb.recording.resource_builder import ResourceBuilder
    from hipgraph_cb.recording.resources import RangeLike, Slot


class HostVerbs(ABC):
    """Calls of functions of the host, in order with the other commands."""

    @abstractmethod
    def _record_value(
        self, verb: str, label: str | None, make: Callable[..., Command | None], *arguments: object
    ) -> None: ...

    def host_call(
        self,
        function: Callable[[], Any],
        *,
        reads: Sequence[RangeLike | Slot] | None = None,
        writes: Sequence[RangeLike | Slot] | None = None,
        label: str | None = None,
    ) -> None:
        """Call a function on the host, on another thread, when everything that the command waits for is done.

        What waits for the command starts when the function has returned. What it returns is ignored. An exception is
        raised by the next wait for this work, as the cause of a HostCallError; the commands behind it run nevertheless.

        The function must not use the device, this library's calls included: it would wait for itself. It works on the
        arrays of host buffers, and on whatever else the host has.

        Args:
            function: what can be called without arguments. The recording keeps it.
            reads, writes: memory that it reads and writes, for hazards and inferred order: without them only barriers
                order it.

        Raises:
            InvalidArgumentError: not a function, or an entry that is no memory.
        """
        self._record_value("host_call", label, _make_host_call, function, reads, writes)


def _make_host_call(
    resources: ResourceBuilder, function: object, reads: Any, writes: Any, label: str | None
) -> HostCall:
    text(label)
    for name, given in (("reads", reads), ("writes", writes)):
        if given is not None:
            check_list(given, name, "buffers, views and slots")
    number = resources.function(function)
    read = [(resources.locate(value, "an entry of reads"), True, False) for value in reads or ()]
    written = [(resources.locate(value, "an entry of writes"), False, True) for value in writes or ()]
    return HostCall(number, (*read, *written), label)
