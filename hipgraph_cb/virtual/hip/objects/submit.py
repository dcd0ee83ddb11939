"""Enqueueing one piece of work on a stream, or capturing it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.objects.capture import forbid_legacy_call
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.objects.stream import Stream, wait_for_streams
from hipgraph_cb.virtual.hip.objects.work import SteppedWork, Work, run_work
from hipgraph_cb.virtual.memory import MemoryFault
from hipgraph_cb.virtual.worker import Operation


def submit(
    runtime: HipRuntime, stream: Stream, work: Work, ordered_after: Iterable[Operation] = ()
) -> Operation | None:
    """Put `work` at the end of `stream`; None when the stream is capturing and it became a node.

    Args:
        ordered_after: what else has to end before it.
    """
    if stream.capture is not None:
        stream.capture.add(runtime, stream, work)
        return None
    gpu = stream.gpu
    if isinstance(work, SteppedWork):
        if gpu.worker.observer is not None:
            gpu.worker.observer.not_observed(work.label)
        return stream.enqueue(_waiting(work.begin(runtime, gpu)), work.label, ordered_after)

    def step(operation: Operation) -> bool:
        run_work(work, runtime, gpu, operation)
        return True

    return stream.enqueue(step, work.label, ordered_after)


def _waiting(step: Callable[[Operation], bool]) -> Callable[[Operation], bool]:
    """The step of an operation that waits until it is over."""

    def waiting(operation: Operation) -> bool:
        is_over = step(operation)
        operation.is_waiting = not is_over
        return is_over

    return waiting


def run_now(runtime: HipRuntime, stream: Stream, work: Work) -> None:
    """Do `work` in order with `stream` and return when it is over."""
    forbid_in_capture(stream)
    if stream.is_null:
        forbid_legacy_call(runtime)
    if stream.is_idle:
        with suppress(MemoryFault):  # then once more on the worker, which reports it as it reports every fault
            work.run(runtime, stream.gpu, None)
            return
    submit(runtime, stream, work)
    wait_for_streams(runtime.gate, stream.group())


def forbid_in_capture(stream: Stream, code: int = Code.STREAM_CAPTURE_UNSUPPORTED) -> None:
    """A call that may not be made while this stream is being captured spoils the capture."""
    if stream.capture is not None:
        stream.capture.is_invalid = True
        raise CallError(code)
