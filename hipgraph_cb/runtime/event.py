"""Events: what one recording signals and another one waits for."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

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
