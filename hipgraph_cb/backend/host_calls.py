"""Functions of the host that programs call, and what they raise.

Each has a number; whoever has to call it, a runtime or a thread of ours, calls `run` with that. While it runs on
a thread, that thread uses no runtime: a program or a buffer that is collected there is released later.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from threading import get_ident
from typing import Any, NamedTuple

from hipgraph_cb.backend.collected import barred, finalizer
from hipgraph_cb.errors import FailedPreconditionError, HostCallError

_numbers = itertools.count(1)
NO_CALL = 0
"""The number of no function."""
_known: dict[int, _Call] = {}


class _Call(NamedTuple):
    """The function with a number; `failures` gets what the function raises."""

    function: Callable[[], Any]
    where: str
    failures: deque[HostCallError]


class HostCalls:
    """The functions of one program. Their numbers are known as long as this object lives.

    Attributes:
        failures: what they raised and no wait has reported.
    """

    def __init__(self) -> None:
        self.failures: deque[HostCallError] = deque()
        self._numbers: dict[str, int] = {}
        finalizer(self, _forget, self._numbers)

    def number(self, function: Callable[[], Any], where: str) -> int:
        """The number of a function at a command, which messages call `where`."""
        number = self._numbers.get(where)
        if number is None:
            number = self._numbers[where] = next(_numbers)
            _known[number] = _Call(function, where, self.failures)
        return number


def _forget(numbers: dict[str, int]) -> None:
    for number in numbers.values():
        _known.pop(number, None)


def run(number: int) -> None:
    """Call the function with a number; what it raises is kept for the next wait."""
    call = _known.get(number)
    if call is None:
        return
    thread = get_ident()
    barred.add(thread)
    try:
        call.function()
    except BaseException as error:  # noqa: BLE001 - whoever called has nobody to tell
        call.failures.append(_failure(call, error))
    finally:
        barred.discard(thread)


def _failure(call: _Call, error: BaseException) -> HostCallError:
    text = str(error)
    failure = HostCallError(
        "a function that a recording calls raised an exception",
        where=call.where,
        found=f"{type(error).__name__}: {text}" if text else type(error).__name__,
        next_step="see __cause__; the commands behind it have run nevertheless",
    )
    failure.__cause__ = error
    return failure


def is_in_host_call() -> bool:
    """Whether the calling thread runs a function of a recording."""
    return bool(barred) and get_ident() in barred


def refuse_in_host_call(action: str) -> None:
    """Refuse what would use the device. Raises FailedPreconditionError within a host call."""
    if barred and get_ident() in barred:
        raise FailedPreconditionError(
            f"{action}: a function that a recording calls must not use the device",
            found="a call from within it",
            allowed="the arrays of host buffers, and what else the host has",
            next_step="do it before the replay, or after a wait for it",
        )
