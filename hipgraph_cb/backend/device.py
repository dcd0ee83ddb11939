"""The life of a device: its queues, what was made from it, and closing all of that in order."""

from __future__ import annotations

import itertools
import logging
import time
import weakref
from abc import abstractmethod
from collections.abc import Sequence
from threading import get_ident
from typing import Any, TypeVar

from hipgraph_cb.backend.absence import Absence
from hipgraph_cb.backend.address_map import AddressMap
from hipgraph_cb.backend.collected import finalizer, release_collected
from hipgraph_cb.backend.host_calls import refuse_in_host_call
from hipgraph_cb.backend.launch import QueueLaunch
from hipgraph_cb.backend.lifetime import Backlog, ReleasingApi
from hipgraph_cb.backend.queue import LaunchQueue, seconds
from hipgraph_cb.backend.stream import QueueStream
from hipgraph_cb.errors import DeadlineExceededError, FailedPreconditionError, HipGraphError, InvalidArgumentError
from hipgraph_cb.foreign import dlpack_export
from hipgraph_cb.runtime.buffer import Buffer
from hipgraph_cb.runtime.device import DEFAULT_TIMEOUT, Device
from hipgraph_cb.runtime.event import Event
from hipgraph_cb.runtime.executable import Executable
from hipgraph_cb.runtime.program import Program
from hipgraph_cb.runtime.resource import Resource
from hipgraph_cb.runtime.stream import Stream

logger = logging.getLogger("hipgraph_cb")

Child = TypeVar("Child", bound=Resource)
QueueType = TypeVar("QueueType", bound=LaunchQueue)


class BackendDevice(Device):
    """A device with queues. A backend adds what the queues are and how memory, code and programs are made.

    Attributes:
        queues: all that may have work, the device's own first.
        backlog: what must outlive its owner because launches may still use it.
        address_map: names the buffers whose addresses are in a runtime's report.
        api: the functions of the runtime.
        absence: why it cannot be used any more although it is open, or None.
    """

    api: ReleasingApi
    absence: Absence | None = None

    def __init__(self, ordinal: int, is_virtual: bool) -> None:
        super().__init__()
        self.ordinal = ordinal
        self.is_virtual = is_virtual
        self.backlog = Backlog()
        self.address_map = AddressMap()
        self.queues: list[LaunchQueue] = []
        self._children: weakref.WeakValueDictionary[int, Resource] = weakref.WeakValueDictionary()
        self._numbers = itertools.count()
        self._neighbours: weakref.WeakSet[BackendDevice] = weakref.WeakSet()
        self._reached: weakref.WeakSet[Device] = weakref.WeakSet()
        self._borrowers: weakref.WeakSet[BackendDevice] = weakref.WeakSet()
        self._drain = finalizer(self, _drain, self.queues, self.backlog)
        release_collected()

    def take_away(self, absence: Absence) -> None:
        """The runtime's threads have ended or will: nothing more is done, waited for or released."""
        self.absence = self.api.absence = absence
        for queue in tuple(self.queues):
            queue.forsake()

    def _check_open(self, action: str) -> None:
        if self.absence is not None:
            self.absence.refuse(action)
        refuse_in_host_call(action)
        super()._check_open(action)
        release_collected()

    def can_access(self, other: Device) -> bool:
        return other is self or any(other is each for each in self._reached)

    def accepts(self, resource: Any) -> bool:
        device = getattr(resource, "device", None)
        if device is self:
            return True
        if isinstance(resource, Buffer):
            if resource.is_host:
                return device in self._neighbours
            return device in self._reached and not (resource.is_global or resource.is_imported)
        return isinstance(resource, Event) and device in self._neighbours

    def _join(self, others: Sequence[Any]) -> None:
        self._neighbours.update(others)
        self._reached.update(other for other in others if self._reach(other))

    @abstractmethod
    def _reach(self, other: Any) -> bool:
        """Get access to the memory of another device of this backend, if the runtime gives it."""

    def synchronize(self, timeout: float | None = None) -> None:
        if self.absence is not None:
            self.absence.skip("synchronize")
            return
        self._check_open("synchronize")
        self._wait(self.timeout if timeout is None else seconds(timeout, "synchronize"))

    def wait_for_queues(self) -> None:
        """Wait, within the device's timeout, for everything that is not known to be done, and for that of the devices
        whose programs use its memory."""
        self._wait(self.timeout)
        for borrower in tuple(self._borrowers):
            borrower._wait(self.timeout)

    @property
    def has_neighbours(self) -> bool:
        """It is in a group of several."""
        return bool(self._neighbours)

    def lend(self, borrower: BackendDevice) -> None:
        """A program of another device uses memory of this one. Of others nothing is waited for: a collective there may
        wait for this device in turn."""
        if borrower is not self:
            self._borrowers.add(borrower)

    def wait_for_stream(self, stream: Stream) -> None:
        """Wait, within the device's timeout, for the work of one stream of this device."""
        if not isinstance(stream, QueueStream):
            raise InvalidArgumentError(
                "to_host: not a stream of this device", found=type(stream).__name__, allowed="device.stream(), or None"
            )
        self._queue_of_stream(stream, "to_host")
        stream.synchronize()

    def close(self) -> None:
        """Wait for all work, then close everything that was made from this device, then the device.

        Raises:
            DeadlineExceededError: work was not done in time; the device stays open.
            HipError, HsaError: work failed that no call had waited for; everything is closed nevertheless.
        """
        if self._closed:
            return
        if self.absence is not None:
            self._closed = True
            return
        refuse_in_host_call("close")
        release_collected()
        failure: HipGraphError | None = None
        try:
            self._wait(self.timeout)
        except DeadlineExceededError:
            raise
        except HipGraphError as error:
            failure = error
        super().close()
        if failure is not None:
            raise failure

    def _release(self) -> None:
        """Calls of other threads end first, within the timeout; a call releases what only it still uses."""
        deadline = None if self.timeout is None else time.monotonic() + self.timeout
        try:
            self.calls.wait_for_others(deadline)
            self._close_all(Program)
            for queue in tuple(self.queues):
                queue.calls.wait_for_others(deadline)
        finally:
            for kind in (Program, Executable, Buffer, Event, Stream):
                self._close_all(kind)
            dlpack_export.sweep()
            self._drain()
            for queue in tuple(self.queues):
                queue.release()
            self.queues.clear()

    def _close_all(self, kind: type) -> None:
        children = [reference() for reference in self._children.valuerefs()]
        for child in reversed(children):
            if isinstance(child, Resource) and isinstance(child, kind):
                _close(child)

    def _wait(self, timeout: float | None) -> None:
        deadline = None if timeout is None else time.monotonic() + timeout
        for queue in tuple(self.queues):
            if queue.busy or queue.failed:
                queue.wait(None if deadline is None else max(deadline - time.monotonic(), 0.0), timeout)
        self.backlog.sweep()

    def _adopt(self, child: Child) -> Child:
        """Note what was made from this device, so that it is closed with it."""
        self._children[next(self._numbers)] = child
        if self._closed:  # by a finalizer in the middle of the call
            _close(child)
            raise self._closed_error(f"a new {child.kind}")
        if isinstance(child, Buffer):
            self.address_map.note(child)
        return child

    def _add_queue(self, queue: QueueType) -> QueueType:
        self.queues.append(queue)
        return queue

    @abstractmethod
    def queue_of(self, stream: Any) -> Any:
        """The queue of anything that `replay(stream=...)` takes."""

    def _launched(self, stream: Any, name: str) -> QueueLaunch:
        return QueueLaunch(self, self.queue_of(stream), name)

    def enter_queue(self, stream: Any) -> Any:
        """The queue of a stream, for a call that must leave it. A stream that is closed meanwhile is released then."""
        queue = self.queue_of(stream)
        queue.calls.append(get_ident())
        try:
            if isinstance(stream, QueueStream):
                stream._check_open("replay")
        except BaseException:
            queue.calls.remove(get_ident())
            if queue.is_released:
                queue.release_if_unused()
            raise
        return queue

    def _queue_of_stream(self, stream: QueueStream, action: str = "replay") -> Any:
        """The queue of a stream that a call was given."""
        stream._check_open(action)
        if stream.device is not self:
            raise FailedPreconditionError(
                f"{action}: the stream belongs to another device",
                found=stream.device.describe(),
                allowed=f"{self.describe()}, opened where the program was made",
            )
        return stream.queue


def _close(child: Resource) -> None:
    """Close one of many: its error must not keep the others open."""
    try:
        child.close()
    except HipGraphError as error:
        logger.warning("while the device closed %s: %s", child.describe(), error)


def _drain(queues: list[LaunchQueue], backlog: Backlog) -> None:
    """The device was collected: what its launches use is released when they are done."""
    for queue in tuple(queues):
        if queue.busy or queue.failed:
            try:
                queue.wait(DEFAULT_TIMEOUT)
            except HipGraphError as error:
                logger.warning("a device was released with work in flight: %s", error)
    backlog.sweep()
