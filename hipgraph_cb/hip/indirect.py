"""Indirect dispatches: the host waits, reads the workgroup counts and launches the kernels on the stream."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, cast

from hipgraph_cb.errors import HipGraphError
from hipgraph_cb.hip.api import bindings
from hipgraph_cb.recording.workgroups import check_grid

if TYPE_CHECKING:
    from hipgraph_cb.code_object.limits import DeviceLimits
    from hipgraph_cb.hip.api import HipApi
    from hipgraph_cb.hip.commands import CommandArguments
    from hipgraph_cb.hip.partition import IndirectCalls
    from hipgraph_cb.hip.queue import Queue
    from hipgraph_cb.recording.commands import Dimensions, DispatchIndirect


def _is_off(calls: IndirectCalls, index: int, arguments: CommandArguments) -> bool:
    return calls.scope.outer is None and index in arguments.disabled


class IndirectLauncher:
    """Launches indirect dispatches of one device."""

    def __init__(self, api: HipApi, limits: DeviceLimits) -> None:
        self._api = api
        self._limits = limits

    def launch(self, calls: IndirectCalls, arguments: CommandArguments, queue: Queue, timeout: float | None) -> None:
        """Wait for the queue, whose lock the caller holds, read all counts, then launch one dispatch after the other.

        Args:
            timeout: seconds to wait for what stands before, or None.

        Raises:
            OutOfRangeError: a grid that is too large; nothing of these calls is launched.
            DeadlineExceededError: what stands before was not done in time.
            HipError: it failed, or HIP refused something.
        """
        indices = [index for index in range(calls.start, calls.stop) if not _is_off(calls, index, arguments)]
        if not indices:
            return
        queue.enqueued += 1  # so that the wait asks, whatever was known to be done
        queue.wait(timeout)
        counts = [self._checked(calls, index, arguments) for index in indices]
        commands = [cast("DispatchIndirect", calls.scope.table[index]) for index in indices]
        for index, command, count in zip(indices, commands, counts, strict=True):
            if 0 not in count:
                try:
                    arguments.launch(self._api, command.with_count(count), queue.native)
                except HipGraphError as error:
                    raise error.located(calls.scope.where(index)) from None

    def _checked(self, calls: IndirectCalls, index: int, arguments: CommandArguments) -> Dimensions:
        command = cast("DispatchIndirect", calls.scope.table[index])
        try:
            count = self._read(command, arguments)
            check_grid(count, command.workgroup_size, self._limits)
        except HipGraphError as error:
            raise error.located(calls.scope.where(index)) from None
        return count

    def _read(self, command: DispatchIndirect, arguments: CommandArguments) -> Dimensions:
        host = (ctypes.c_uint32 * 3)()
        source, size = arguments.place(command.workgroup_count)
        kind = bindings().hipMemcpyKind.hipMemcpyDeviceToHost
        self._api.call("hipMemcpy", ctypes.addressof(host), source, size, kind)
        return (host[0], host[1], host[2])
