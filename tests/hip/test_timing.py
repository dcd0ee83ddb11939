"""A profile on HIP: events between the calls, and the times that the runtime gives for them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hip import hip

from hipgraph_cb.recording.profile import Span

MILLISECONDS = (0.5, 0.25, 2.0)


def test_each_command_takes_what_is_between_its_two_events(counting, device):
    times = iter([*MILLISECONDS] * 2)
    recorded: list[object] = []
    asked: list[tuple[object, object]] = []

    def elapsed(start, stop):
        asked.append((start, stop))
        return hip.hipError_t.hipSuccess, next(times)

    def record(event, _stream):
        recorded.append(event)
        return (hip.hipError_t.hipSuccess,)

    counting.hipEventElapsedTime, counting.hipEventRecord = elapsed, record
    x = device.allocate(16)
    with device.command_buffer() as cb:
        for value in range(3):
            cb.fill_buffer(x, value)
            cb.execution_barrier()
    profile = cb.program.profile(1)
    assert profile.commands == tuple(
        Span(pytest.approx(start), pytest.approx(end))
        for start, end in ((0.0, 0.5e-3), (0.5e-3, 0.75e-3), (0.75e-3, 2.75e-3))
    )
    assert asked[3:] == list(pairwise(recorded[4:]))
    assert "event" not in counting.kinds


def test_the_calls_stand_between_the_events(counting, device):
    x = device.allocate(16)
    with device.command_buffer() as cb:
        cb.fill_buffer(x, 0)
        cb.fill_buffer(x, 1)
    counting.calls.clear()
    cb.program.profile(1)
    between = [name for name in counting.calls if name in ("hipEventRecord", "hipMemsetD32Async")]
    assert between == ["hipEventRecord", *["hipMemsetD32Async", "hipEventRecord"] * 2] * 2
