"""Streams of a group: one of each device, in which replays follow each other."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from hipgraph_cb.errors import HipGraphError
from hipgraph_cb.runtime.resource import Resource

if TYPE_CHECKING:
    from hipgraph_cb.runtime.device import Device
    from hipgraph_cb.runtime.stream import Stream

Joined = tuple[int, int]
"""The number of the replay after which the streams of some devices waited for each other, and what had been enqueued
on this one then."""


class GroupStream(Resource):
    """A stream of every device of a group. Replays on it follow each other, whatever devices take part.

    Args:
        devices: the members of the group.
        streams: one for each of them; None for its own.
    """

    kind = "stream"

    def __init__(self, devices: Sequence[Device], streams: Sequence[Stream | None], label: str | None) -> None:
        self.devices = tuple(devices)
        self._streams = tuple(streams)
        self._joined: dict[int, Joined] = {}
        self._replays = 0
        self.label = label

    def on(self, number: int) -> Stream | None:
        """The stream of a member; None for the device's own."""
        self._check_open("replay")
        return self._streams[number]

    def synchronize(self, timeout: float | None = None) -> None:
        """Wait until the work of every stream is done. Raises what `Stream.synchronize` raises, after all waits."""
        self._check_open("synchronize")
        failure: HipGraphError | None = None
        for stream in self._streams:
            try:
                if stream is not None:
                    stream.synchronize(timeout)
            except HipGraphError as error:
                failure = failure or error
        if failure is not None:
            raise failure

    def are_joined(self, members: Collection[int]) -> bool:
        """Whether nothing is on the streams of these members that the others have not waited for."""
        states = [(self._joined.get(number, (0, 0)), self._enqueued(number)) for number in members]
        return len({replay for (replay, _), _ in states}) == 1 and all(then == now for (_, then), now in states)

    def note_join(self, members: Collection[int]) -> None:
        """The streams of these members have waited for each other."""
        self._replays += 1
        for number in members:
            self._joined[number] = self._replays, self._enqueued(number)

    def note_failure(self, members: Collection[int]) -> None:
        """They have not, and some of them have work."""
        for number in members:
            self._joined[number] = -1, -1

    def _enqueued(self, number: int) -> int:
        device: Any = self.devices[number]
        return int(device.queue_of(self._streams[number]).enqueued)

    def _release(self) -> None:
        for stream in self._streams:
            if stream is not None:
                stream.close()
