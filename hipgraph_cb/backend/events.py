"""The events of one program: whether they are signalled when it is replayed, and how it leaves them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from hipgraph_cb.backend.resources import own
from hipgraph_cb.runtime.event import Event, check_signalled

if TYPE_CHECKING:
    from hipgraph_cb.backend.resources import BoundResources
    from hipgraph_cb.recording.recording import Recording
    from hipgraph_cb.runtime.device import Device

EventKind = TypeVar("EventKind", bound=Event)


class EventRecord(Generic[EventKind]):
    """What a program does to events, and to which.

    Args:
        kind: what events of the device's backend are.

    Attributes:
        events: by resource id.
    """

    def __init__(
        self, device: Device, recording: Recording, resources: BoundResources[Any], kind: type[EventKind]
    ) -> None:
        self._use = recording._event_use
        self.events: dict[int, EventKind] = {
            entry.id: own(resources.objects[entry.id], kind, device, "event", entry)
            for entry in recording.resources.events.values()
        }
        for event in self.events.values():
            event._check_open("program")

    def check(self, work: str) -> None:
        """Refuse a replay that waits in vain; see `check_signalled`."""
        check_signalled(self._use.awaited, self.events, work)

    def note(self) -> None:
        """The program has been enqueued."""
        for number, signalled in self._use.outcomes.items():
            self.events[number].is_signalled = signalled
