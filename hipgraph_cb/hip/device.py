"""The HIP backend's device."""

from __future__ import annotations

import itertools
import time
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from hipgraph_cb.device import DEFAULT_TIMEOUT, Device, Resource
from hipgraph_cb.errors import FailedPreconditionError, HipError, HipGraphError, InvalidArgumentError, NotFoundError
from hipgraph_cb.executable.target_id import TargetId
from hipgraph_cb.hip.api import STREAM_NON_BLOCKING, HipApi, logger
from hipgraph_cb.hip.backlog import Backlog
from hipgraph_cb.hip.buffer import HipBuffer
from hipgraph_cb.hip.executable import HipExecutable
from hipgraph_cb.hip.handle import Handle
from hipgraph_cb.hip.limits import limits_from_properties
from hipgraph_cb.hip.program import HipProgram
from hipgraph_cb.hip.queue import Queue
from hipgraph_cb.hip.stream import HipStream

if TYPE_CHECKING:
    from hipgraph_cb.executable.verify import VerifiedExecutable
    from hipgraph_cb.recording.dependencies import JoinPolicy
    from hipgraph_cb.recording.recording import Recording

Child = TypeVar("Child", bound=Resource)


class HipDevice(Device):
    """GPU number `ordinal` of the HIP runtime.

    Args:
        ordinal: as HIP counts.
        is_virtual: what `open_device` knows about the library behind the C ABI.
        fault_report: gives the text of the last fault, where the library behind the C ABI can tell.

    Raises:
        NotFoundError: HIP has no such device.
        UnavailableError: hip-python or the HIP library is missing.
    """

    backend = "hip"

    def __init__(
        self, ordinal: int = 0, *, is_virtual: bool = False, fault_report: Callable[[], str | None] | None = None
    ) -> None:
        self.ordinal = ordinal
        self.is_virtual = is_virtual
        self.api = HipApi(ordinal, fault_report)
        self.backlog = Backlog()
        self.queues: list[Queue] = []
        self._foreign: dict[int, Queue] = {}
        self._children: weakref.WeakValueDictionary[int, Resource] = weakref.WeakValueDictionary()
        self._numbers = itertools.count()
        self._check_ordinal()
        properties = self.api.call("hipGetDeviceProperties", ordinal)
        self.name = _text(properties.name)
        self.target = TargetId.parse(_text(properties.gcnArchName))
        self.limits = limits_from_properties(properties)
        self._queue = self._new_queue("the device's own stream")
        self._drain = weakref.finalize(self, _drain, self.queues, self.backlog)
        self._drain.atexit = False

    def fault_report(self) -> str | None:
        return None if self.api.fault_report is None else self.api.fault_report()

    def synchronize(self, timeout: float | None = None) -> None:
        self.check_open("synchronize")
        self._wait(self.timeout if timeout is None else timeout)

    def wait_for_queues(self) -> None:
        """Wait, within the device's timeout, for everything that is not known to be done."""
        self._wait(self.timeout)

    def queue_of(self, stream: Any) -> Queue:
        """The queue behind whatever `replay(stream=...)` takes."""
        if stream is None:
            return self._queue
        if isinstance(stream, HipStream):
            stream.check_open("replay")
            if stream.device is not self:
                raise FailedPreconditionError(
                    "replay: the stream belongs to another device",
                    found=stream.device.describe(),
                    allowed=self.describe(),
                )
            return stream.queue
        return self._foreign_queue(stream)

    def close(self) -> None:
        """Wait for all work, then close everything that was made from this device, then the device.

        Raises:
            DeadlineExceededError: work was not done in time; the device stays open.
            HipError: work failed that nobody had waited for; everything is closed nevertheless.
        """
        if self._closed:
            return
        failure: HipError | None = None
        try:
            self._wait(self.timeout)
        except HipError as error:
            failure = error
        super().close()
        if failure is not None:
            raise failure

    def _release(self) -> None:
        children = list(self._children.values())
        for kind in (HipProgram, HipExecutable, HipBuffer, HipStream):
            for child in reversed(children):
                if isinstance(child, kind):
                    _close(child)
        self._drain()
        for queue in self.queues:
            queue.release()
        self.queues.clear()

    def _wait(self, timeout: float | None) -> None:
        deadline = None if timeout is None else time.monotonic() + timeout
        for queue in tuple(self.queues):
            if queue.busy or queue.failed:
                queue.wait(None if deadline is None else max(deadline - time.monotonic(), 0.0))
        self.backlog.sweep()

    def _allocate(self, size: int, label: str | None) -> HipBuffer:
        return self._adopt(HipBuffer.allocate(self, size, label))

    def _load(self, verified: VerifiedExecutable, label: str | None) -> HipExecutable:
        return self._adopt(HipExecutable(self, verified, label))

    def _program(
        self, recording: Recording, resources: Mapping[int | str, Any] | None, policy: JoinPolicy
    ) -> HipProgram:
        self.check_open("program")
        self.backlog.sweep()
        return self._adopt(HipProgram(self, recording, resources, policy))

    def _stream(self, label: str | None) -> HipStream:
        self.backlog.sweep()
        queue = self._new_queue("a stream" if label is None else f"stream `{label}`")
        return self._adopt(HipStream(self, queue, label))

    def _adopt(self, child: Child) -> Child:
        self._children[next(self._numbers)] = child
        return child

    def _new_queue(self, name: str) -> Queue:
        self.api.make_current()
        native = self.api.call("hipStreamCreateWithFlags", STREAM_NON_BLOCKING)
        queue = Queue(self.api, native, name, Handle(self.api, native, "hipStreamDestroy"))
        self.queues.append(queue)
        return queue

    def _foreign_queue(self, stream: Any) -> Queue:
        try:
            address = int(stream)
        except (TypeError, ValueError):
            raise InvalidArgumentError(
                "replay: not a stream",
                found=type(stream).__name__,
                allowed="a stream of this device, a stream of hip-python, or the address of one",
            ) from None
        queue = self._foreign.get(address)
        if queue is None:
            self._forget_idle_foreign_queues()
            queue = self._foreign[address] = Queue(self.api, stream, f"the stream at {address:#x}")
            self.queues.append(queue)
        return queue

    def _forget_idle_foreign_queues(self) -> None:
        for address, queue in list(self._foreign.items()):
            if not queue.busy and not queue.failed:
                del self._foreign[address]
                self.queues.remove(queue)

    def _check_ordinal(self) -> None:
        count = self.api.call("hipGetDeviceCount")
        if self.ordinal >= count:
            raise NotFoundError(
                "open_device: no such device",
                found=f"device {self.ordinal}",
                allowed=f"0 to {count - 1}" if count else "none: HIP sees no device",
            )
        self.api.device_count = count


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _close(child: Resource) -> None:
    """Close one of many: what one of them has to say must not keep the others open."""
    try:
        child.close()
    except HipGraphError as error:
        logger.warning("while the device closed %s: %s", child.describe(), error)


def _drain(queues: list[Queue], backlog: Backlog) -> None:
    """The device is gone: what its launches use may go only when they are done."""
    for queue in tuple(queues):
        if queue.busy or queue.failed:
            try:
                queue.wait(DEFAULT_TIMEOUT)
            except HipGraphError as error:
                logger.warning("a device was let go with work in flight: %s", error)
    backlog.sweep()
