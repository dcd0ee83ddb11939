"""A stream: a chain of operations, its order with the null stream, and waiting for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from hipgraph_cb.virtual.callbacks import CallError, CallGate
from hipgraph_cb.virtual.worker import Operation, Worker

if TYPE_CHECKING:
    from hipgraph_cb.virtual.hip.objects.capture import Capture
    from hipgraph_cb.virtual.hip.objects.gpu import Gpu


class Stream:
    """One stream of a device.

    Attributes:
        last: the operation at its end, or None when everything before is over and reported.
        waits: operations of other streams that the next operation has to wait for.
        is_blocking: it is in order with the null stream.
        attributes: launch attributes that were set, by number.
        capture: the graph that calls on this stream build, instead of running.
    """

    def __init__(self, gpu: Gpu, *, is_null: bool = False, flags: int = 0, priority: int = 0) -> None:
        self.gpu = gpu
        self.is_null = is_null
        self.flags = flags
        self.priority = priority
        self.is_blocking = not flags & 1
        self.last: Operation | None = None
        self.waits: list[Operation] = []
        self.capture: Capture | None = None
        self.handle = 0
        self.attributes: dict[int, bytes] = {}

    def enqueue(
        self, step: Callable[[Operation], bool], label: str, ordered_after: Iterable[Operation] = ()
    ) -> Operation:
        """Put work at the end of the stream."""
        after = self.waits if self.last is None else [*self.waits, self.last]
        operation = self.gpu.worker.submit(step, label, after, [*ordered_after, *self._neighbours()])
        self.last = operation
        self.waits = []
        return operation

    @property
    def is_idle(self) -> bool:
        """Nothing is under way that this stream's next operation would have to wait for, and nothing has failed; an
        observed device is never asked how fast it is."""
        is_over = not self.waits and all(operation.is_done for operation in self.pending()) and not self.has_failed
        return is_over and self.gpu.worker.observer is None

    @property
    def has_failed(self) -> bool:
        """Its last operation failed, and no wait has reported it yet."""
        return self.last is not None and self.last.failure is not None

    def pending(self) -> list[Operation]:
        """What a wait for this stream waits for."""
        own = [] if self.last is None else [self.last]
        return [*own, *self.waits, *self._neighbours()]

    def group(self) -> list[Stream]:
        """The streams whose failures a wait for this one reports: for the null stream, all that it is in order with."""
        if not self.is_null:
            return [self]
        return [stream for stream in self.gpu.streams if stream.is_blocking]

    def _neighbours(self) -> list[Operation]:
        """The last operations of the streams that the null stream's rule orders before this one."""
        if self.is_null:
            others = [stream.last for stream in self.gpu.streams if stream.is_blocking and stream is not self]
        elif self.is_blocking:
            others = [self.gpu.null_stream.last]
        else:
            return []
        return [operation for operation in others if operation is not None]


def wait_for_streams(gate: CallGate, streams: Iterable[Stream]) -> None:
    """Wait until everything enqueued on these streams is over; a failure is reported once, by raising `CallError`."""
    waited = list(streams)
    operations = [operation for stream in waited for operation in stream.pending() if not operation.is_done]
    if operations:
        gate.wait(lambda: all(operation.is_done for operation in operations))
    for stream in waited:
        note_wait(stream.gpu.worker, stream.pending())
    tell_failure(gate, waited)


def note_wait(worker: Worker, operations: Iterable[Operation]) -> None:
    """The program knows that those of these are over that are; another thread may have enqueued more meanwhile."""
    if worker.observer is not None:
        worker.observer.waited([operation for operation in operations if operation.is_done])


def wait_for_workers(gate: CallGate, workers: Iterable[Worker]) -> None:
    """Wait until everything that was enqueued on these devices is over; failures are not reported."""
    for worker in tuple(workers):
        gate.wait(lambda worker=worker: worker.is_idle)  # type: ignore[misc]
        if worker.observer is not None:
            worker.observer.waited_for_all()


def tell_failure(gate: CallGate, streams: Iterable[Stream]) -> None:
    """Raise the first failure among these streams; all of them are usable again."""
    failures = []
    for stream in streams:
        last = stream.last
        if last is not None and last.is_done:
            if last.failure is not None and last.failure not in failures:
                failures.append(last.failure)
            stream.last = None
    for failure in failures:
        gate.faults.add(failure.text)
    if failures:
        raise CallError(failures[0].code)
