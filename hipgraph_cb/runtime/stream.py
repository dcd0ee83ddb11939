"""Streams: work in order."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from hipgraph_cb.runtime.resource import Resource

if TYPE_CHECKING:
    from hipgraph_cb.runtime.device import Device


class Stream(Resource):
    """Work in order. Work on different streams is not ordered."""

    kind = "stream"

    @property
    @abstractmethod
    def device(self) -> Device:
        """The device that its work runs on."""

    @abstractmethod
    def synchronize(self, timeout: float | None = None) -> None:
        """Wait until all work of this stream is done.

        Args:
            timeout: seconds; None takes the device's `timeout`.

        Raises:
            DeadlineExceededError: it was not done in time; the message says what was waited for.
            HipError: the work failed.
        """
