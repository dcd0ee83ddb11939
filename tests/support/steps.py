"""What a call costs, in a number that is the same on every machine and under every load."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

Result = TypeVar("Result")

WORTH_COUNTING = 0.05
"""Seconds of a thread: counting is slow, and what is quicker than this has taken few steps."""
MOST_STEPS = 200_000
"""For one file of some kilobytes, where good ones take about ten thousand."""


def steps(call: Callable[[], object]) -> int:
    """Lines of Python that a call executes."""
    count = 0

    def trace(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def in_few_steps(call: Callable[[], Result]) -> Result:
    """The result of a call, which may take `MOST_STEPS`. A clock says only when they are counted."""
    begin = time.thread_time()
    result = call()
    if time.thread_time() - begin > WORTH_COUNTING:
        assert steps(call) <= MOST_STEPS
    return result
