"""Events of the HSA backend: signals that one launch completes and another one waits for.

Each launch that signals an event does so through a signal of its own, and whoever is enqueued later waits for that one.
A signal that counts down twice, or is set while somebody waits for it, cannot exist in this way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraph_cb.backend.lifetime import Handle
from hipgraph_cb.hsa.functions import U64
from hipgraph_cb.runtime.event import Event

if TYPE_CHECKING:
    from hipgraph_cb.hsa.api import HsaApi
    from hipgraph_cb.hsa.device import HsaDevice
    from hipgraph_cb.hsa.instances import Instance
    from hipgraph_cb.hsa.packet_template import PacketTemplate


class HsaEvent(Event):
    """An event.

    Attributes:
        signal: what the last launch that signals it completes; None before there is one.
    """

    def __init__(self, device: HsaDevice, label: str | None) -> None:
        self._device = device
        self.label = label
        self.signal: Handle | None = None

    @property
    def device(self) -> HsaDevice:
        return self._device

    def _release(self) -> None:
        """The signal goes with the last program that knows the event: a launch may still have to wait for it."""


def new_signal(api: HsaApi, where: str | None = None, count: int = 1) -> Handle:
    """A signal that is complete when it was counted down so many times."""
    return Handle(api, api.read("hsa_signal_create", count, 0, None, kind=U64, where=where), "hsa_signal_destroy")


class EventSignals:
    """The signals of the events of one launch.

    Attributes:
        completed: those that its packets complete.
        handles: all that its packets name; they must live until it is done.
    """

    def __init__(self, api: HsaApi, template: PacketTemplate, events: dict[int, HsaEvent]) -> None:
        self._events = events
        self._template = template
        self._last: dict[int, Handle] = {}
        self._waited = [events[place.event].signal for place in template.waits]
        self.completed = [new_signal(api, events[place.event].describe()) for place in template.signals]
        self.handles = [*self.completed, *(handle for handle in self._waited if handle is not None)]

    def write(self, instance: Instance) -> None:
        """Let the packets of an instance name the signals."""
        for place, handle in zip(self._template.waits, self._waited, strict=True):
            instance.set_signal(place, 0 if handle is None else handle.native)
        for place, handle in zip(self._template.signals, self.completed, strict=True):
            instance.set_signal(place, handle.native)

    def note(self) -> None:
        """The launch was enqueued: later ones wait for its signals."""
        for place, handle in zip(self._template.signals, self.completed, strict=True):
            self._events[place.event].signal = handle
