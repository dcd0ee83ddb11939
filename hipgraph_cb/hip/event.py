"""Events of the HIP backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hipgraph_cb.abi.hip.enums import EventFlag
from hipgraph_cb.backend.lifetime import Handle
from hipgraph_cb.runtime.event import Event

if TYPE_CHECKING:
    from hipgraph_cb.hip.device import HipDevice


class HipEvent(Event):
    """A HIP event. It goes when it is closed (or collected) and no program holds its handle."""

    def __init__(self, device: HipDevice, label: str | None) -> None:
        self._device = device
        self.label = label
        device.api.make_current()
        native = device.api.call("hipEventCreateWithFlags", EventFlag.DISABLE_TIMING, where=self.describe())
        self.handle: Handle | None = Handle(device.api, native, "hipEventDestroy")
        self._native = native

    @property
    def device(self) -> HipDevice:
        return self._device

    @property
    def native(self) -> Any:
        """What hip-python takes as an event; a program that uses it holds the handle too."""
        return self._native

    def held(self, action: str) -> Handle:
        """The handle, for as long as the event is used. Raises FailedPreconditionError where it is closed."""
        handle = self.handle
        if self._closed or handle is None:
            raise self._closed_error(action)
        return handle

    def _release(self) -> None:
        self.handle = None
