"""A recording launched call by call on a stream, without a graph: for comparing results, and for finding the node that
a fault is in.

The calls are made in the order of the recording. A stream runs them one after the other, so every dependency holds, and
so does more than that: a barrier that is missing does not show here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hipgraph_cb.errors import HipGraphError
from hipgraph_cb.hip.api import bindings
from hipgraph_cb.hip.host_functions import HOST_FUNCTION
from hipgraph_cb.hip.partition import IndirectCalls
from hipgraph_cb.recording.commands import (
    Collectives,
    Command,
    Copy,
    Copy2D,
    Dispatch,
    DispatchIndirect,
    ExecuteCommands,
    Fill,
    Fill2D,
    HostCall,
    SignalEvent,
    Update,
    WaitEvents,
)

if TYPE_CHECKING:
    from hipgraph_cb.backend.nested_scope import NestedScope
    from hipgraph_cb.hip.api import HipApi
    from hipgraph_cb.hip.commands import CommandArguments
    from hipgraph_cb.hip.indirect import IndirectLauncher
    from hipgraph_cb.hip.queue import Queue

_FILLS = {1: "hipMemsetD8Async", 2: "hipMemsetD16Async", 4: "hipMemsetD32Async"}


class StreamCalls:
    """What a program does in mode "stream".

    Args:
        scope: the recording.
        arguments: where the memory of the commands is, the slots included.
        indirect: launches the indirect dispatches.
        timeout: seconds to wait for what stands before one of them, or None.
    """

    def __init__(
        self,
        api: HipApi,
        scope: NestedScope,
        arguments: CommandArguments,
        indirect: IndirectLauncher,
        timeout: float | None,
    ) -> None:
        self._api = api
        self._scope = scope
        self._arguments = arguments
        self._indirect = indirect
        self._timeout = timeout

    def enqueue(self, queue: Queue) -> None:
        """Enqueue every command. After an error the commands before it are on the stream and will run.

        Raises:
            HipError: HIP refused a call; the message names the command.
            OutOfRangeError: workgroup counts in memory that are too large.
        """
        for index in range(len(self._scope.recording)):
            self.enqueue_one(index, queue)

    def enqueue_one(self, index: int, queue: Queue) -> None:
        """Enqueue one command. Raises as `enqueue` does."""
        if self._scope.outer is None and index in self._arguments.disabled:
            return
        command = self._scope.table[index]
        if isinstance(command, HostCall):
            self._host_call(command, index, queue)
        elif isinstance(command, DispatchIndirect):
            calls = IndirectCalls(self._scope, index, index + 1)
            self._indirect.launch(calls, self._arguments, queue, self._timeout)
        elif isinstance(command, ExecuteCommands):
            self._nested(index).enqueue(queue)
        elif type(command) in STREAM_CALLS:
            try:
                STREAM_CALLS[type(command)](self, command, queue)
            except HipGraphError as error:
                raise error.located(self._scope.where(index)) from None

    def _host_call(self, command: HostCall, index: int, queue: Queue) -> None:
        where = self._scope.where(index)
        number = self._arguments.host_call(command, where)
        self._api.call("hipLaunchHostFunc", queue.native, HOST_FUNCTION, number, where=where)

    def _nested(self, index: int) -> StreamCalls:
        scope = self._scope.nested(index)
        return StreamCalls(self._api, scope, self._arguments, self._indirect, self._timeout)

    def _fill(self, command: Fill, queue: Queue) -> None:
        pattern: bytes = self._arguments.known(command).pattern
        address, length = self._arguments.place(command.target)
        if self._arguments.fill_launches is not None:
            self._arguments.fill_launches.launch(self._api, address, pattern, length, queue.native)
            return
        element = len(pattern)
        value = int.from_bytes(pattern, "little", signed=element == 4)
        self._api.call(_FILLS[element], address, value, length // element, queue.native)

    def _update(self, command: Update, queue: Queue) -> None:
        """The host bytes are read when the call runs: the recording, which the program holds, owns them."""
        address, length = self._arguments.place(command.target)
        kind = bindings().hipMemcpyKind.hipMemcpyHostToDevice
        self._api.call("hipMemcpyAsync", address, command.data, length, kind, queue.native)

    def _copy(self, command: Copy, queue: Queue) -> None:
        source, _length = self._arguments.place(command.source)
        target, length = self._arguments.place(command.target)
        kind = bindings().hipMemcpyKind.hipMemcpyDefault
        self._api.call("hipMemcpyAsync", target, source, length, kind, queue.native)

    def _rows(self, command: Copy2D | Fill2D, queue: Queue) -> None:
        source = self._arguments.place(command.source)[0] if isinstance(command, Copy2D) else 0
        target, _length = self._arguments.place(command.target)
        self._arguments.row_launches.launch(self._api, command, target, source, queue.native)

    def _dispatch(self, command: Dispatch, queue: Queue) -> None:
        self._arguments.launch(self._api, command, queue.native)

    def _signal(self, command: SignalEvent, queue: Queue) -> None:
        self._api.call("hipEventRecord", self._arguments.event(command.event), queue.native)

    def _collective(self, command: Collectives, queue: Queue) -> None:
        rank = self._arguments.rank(command.channel)
        rank.enqueue(command.operations, self._arguments.place, queue.native)

    def _wait(self, command: WaitEvents, queue: Queue) -> None:
        for event in command.events:
            self._api.call("hipStreamWaitEvent", queue.native, self._arguments.event(event), 0)


STREAM_CALLS: dict[type[Command], Callable[[StreamCalls, Any, Queue], None]] = {
    Fill: StreamCalls._fill,
    Update: StreamCalls._update,
    Copy: StreamCalls._copy,
    **dict.fromkeys((Copy2D, Fill2D), StreamCalls._rows),
    Dispatch: StreamCalls._dispatch,
    SignalEvent: StreamCalls._signal,
    WaitEvents: StreamCalls._wait,
    Collectives: StreamCalls._collective,
}
"""By the type of a command; others do nothing. A type from outside adds itself."""
