"""When each packet of a launch ran, from the times that the packet processor leaves in completion signals."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from hipgraph_cb.abi.hsa.attributes import SystemInfo
from hipgraph_cb.abi.hsa.structures import DispatchTime
from hipgraph_cb.hsa.event import new_signal
from hipgraph_cb.hsa.functions import U64
from hipgraph_cb.hsa.packets import COMPLETION
from hipgraph_cb.recording.profile import Span

if TYPE_CHECKING:
    from hipgraph_cb.backend.lifetime import Handle
    from hipgraph_cb.hsa.agents import Agent
    from hipgraph_cb.hsa.api import HsaApi
    from hipgraph_cb.hsa.instances import Packets
    from hipgraph_cb.hsa.packet_template import PacketTemplate
    from hipgraph_cb.recording.recording import Recording


class PacketTimer:
    """One launch with a completion signal on every packet. The last packet has that of the queue already.

    Attributes:
        bodies: the packets with the signals.
    """

    def __init__(self, api: HsaApi, agent: Agent, packets: Packets) -> None:
        self.template: PacketTemplate = packets.template
        self.bodies = packets.bodies.copy()
        self._launched = packets
        self._api = api
        self._agent = agent
        self._signals: list[Handle | None] = []
        for packet in range(len(self.bodies)):
            free = packet < len(self.bodies) - 1 and not self.bodies[packet, COMPLETION]
            self._signals.append(new_signal(api) if free else None)
        given = [(packet, signal.native) for packet, signal in enumerate(self._signals) if signal is not None]
        if given:
            positions, handles = zip(*given, strict=True)
            self.bodies[list(positions), COMPLETION] = np.array(handles, np.uint64)

    def place_in_ring(self, *place: Any) -> None:
        """As `Instance.place_in_ring`."""
        self._launched.place_in_ring(*place)

    def spans(self, recording: Recording, last: int) -> list[Span]:
        """By command index; a nested recording takes from its first packet to its last. The launch is done.

        Args:
            last: the completion signal of the last packet.

        Raises:
            HsaError: the runtime does not know.
        """
        ticks = 1 / self._api.read("hsa_system_get_info", SystemInfo.TIMESTAMP_FREQUENCY, kind=U64)
        times: dict[int, tuple[int, int]] = {}
        for packet, signal in enumerate(self._signals):
            is_last = packet == len(self._signals) - 1
            handle = last if is_last else signal and signal.native
            if handle and not (is_last and self.template.has_end):
                start, end = self._times(handle)
                command = self.template.origins.outermost(packet)
                known = times.get(command, (start, end))
                times[command] = min(start, known[0]), max(end, known[1])
        begin = min(start for start, _ in times.values())
        never = (begin, begin)
        spans = (times.get(command, never) for command in range(len(recording)))
        return [Span((start - begin) * ticks, (end - begin) * ticks) for start, end in spans]

    def release(self) -> None:
        for signal in self._signals:
            if signal is not None:
                signal.release()

    def _times(self, signal: int) -> tuple[int, int]:
        time = DispatchTime()
        self._api.call("hsa_amd_profiling_get_dispatch_time", self._agent.handle, signal, ctypes.byref(time))
        return time.start, time.end
