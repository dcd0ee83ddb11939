"""Events: what one recording signals and another one waits for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from hipgraph_cb.errors import FailedPreconditionError
from hipgraph_cb.runtime.resource import Resource

if TYPE_CHECKING:
    from hipgraph_cb.runtime.device import Device


class Event(Resource):
    """What one recording signals and another one waits for.

    Attributes:
        is_signalled: whether the last replay that signals or resets it has left it signalled. It follows the order in
            which replays are called, not that in which they run.
    """

    kind = "event"
    is_signalled = False

    @property
    @abstractmethod
    def device(self) -> Device:
        """The device that it belongs to."""

    def __repr__(self) -> str:
        state = "closed" if self._closed else "signalled" if self.is_signalled else "not signalled"
        return f"<{self.describe()}, {state}>"


def check_signalled(awaited: Collection[int], events: Mapping[int, Event], work: str) -> None:
    """Refuse a replay that would wait for an event that nothing replayed so far has left signalled.

    HIP takes a wait for an event that was never recorded as done, and so it does with one that was reset.

    Args:
        awaited: the ids of the events that it waits for.
        work: what messages call the program.

    Raises:
        FailedPreconditionError: it names the event.
    """
    for number in sorted(awaited):
        if not events[number].is_signalled:
            raise FailedPreconditionError(
                f"replay: the recording waits for {events[number].describe()}, which is not signalled",
                where=work,
                next_step="replay a recording that signals it first",
            )
