"""A recording launched call by call on a stream, without a graph: for comparing results, and for finding the node that
a fault is in.

The calls are made in the order of the recording. A stream runs them one after the other, so every dependency holds, and
so does more than that: a barrier that is missing does not show here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from hipgraph_cb.errors import HipGraphError, UnimplementedError
from hipgraph_cb.recording.commands import Command, Copy, Dispatch, Fill, Update

if TYPE_CHECKING:
    from hipgraph_cb.hip.api import HipApi
    from hipgraph_cb.hip.commands import CommandArguments
    from hipgraph_cb.recording.recording import Recording

_FILLS = {1: "hipMemsetD8Async", 2: "hipMemsetD16Async", 4: "hipMemsetD32Async"}


class StreamCalls:
    """What a program does in mode "stream".

    Args:
        arguments: where the memory of the commands is, the slots included.
    """

    def __init__(self, api: HipApi, recording: Recording, arguments: CommandArguments) -> None:
        self._api = api
        self._recording = recording
        self._arguments = arguments
        self._calls: dict[type[Command], Callable[[Any, Any], None]] = {
            Fill: self._fill,
            Update: self._update,
            Copy: self._copy,
            Dispatch: self._dispatch,
        }

    def enqueue(self, stream: Any) -> None:
        """Enqueue every command. After an error the commands before it are on the stream and will run.

        Raises:
            HipError: HIP refused a call; the message names the command.
            UnimplementedError: a command that exists in graphs only.
        """
        for index in range(len(self._recording)):
            self.enqueue_one(index, stream)

    def enqueue_one(self, index: int, stream: Any) -> None:
        """Enqueue one command. Raises as `enqueue` does."""
        command = self._recording.commands[index]
        call = self._calls.get(type(command))
        try:
            if call is None:
                raise UnimplementedError(
                    "replay: this command cannot be launched call by call",
                    found=type(command).__name__,
                    next_step='replay with mode="graph"',
                )
            call(command, stream)
        except HipGraphError as error:
            raise error.located(self._recording.where(index)) from None

    def _fill(self, command: Fill, stream: Any) -> None:
        address, length = self._arguments.place(command.target)
        element = len(command.pattern)
        value = int.from_bytes(command.pattern, "little", signed=element == 4)
        self._api.call(_FILLS[element], address, value, length // element, stream)

    def _update(self, command: Update, stream: Any) -> None:
        self._api.call("hipMemcpyAsync", *self._arguments.preparations[Update](command), stream)

    def _copy(self, command: Copy, stream: Any) -> None:
        self._api.call("hipMemcpyAsync", *self._arguments.preparations[Copy](command), stream)

    def _dispatch(self, command: Dispatch, stream: Any) -> None:
        function, table = self._arguments.kernel(command)
        shape = cast("Sequence[int]", (*command.workgroup_count, *command.workgroup_size, command.dynamic_lds))
        self._api.call("hipModuleLaunchKernel", function, *shape, stream, table, None)
