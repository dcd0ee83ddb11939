"""Host calls of the HSA backend.

A packet completes a signal, a thread of ours calls the function and completes another signal, for which the next packet
waits.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

from hipgraph_cb.backend.host_calls import run
from hipgraph_cb.hsa.event import new_signal
from hipgraph_cb.hsa.packets import COMPLETION, FIRST_DEPENDENCY

if TYPE_CHECKING:
    from hipgraph_cb.backend.lifetime import Handle
    from hipgraph_cb.hsa.api import HsaApi
    from hipgraph_cb.hsa.instances import Instance
    from hipgraph_cb.hsa.packet_template import HostCallPackets, PacketTemplate

EQUAL = 0
"""HSA_SIGNAL_CONDITION_EQ."""
BLOCKED = 0
"""HSA_WAIT_STATE_BLOCKED."""
PATIENCE = 1 << 24
"""Ticks of the system's clock, about 0.2 s, after which a wait looks whether the call was given up."""
LONGEST_JOIN = 1.0
"""Seconds: a function that runs when its queue is given up may take as long as it likes."""


class PendingCall(NamedTuple):
    """A host call of one launch: it starts when a packet has completed `start`, and completes `end`."""

    number: int
    start: Handle
    end: Handle


class LaunchCalls:
    """The host calls of one launch, with signals of their own.

    Args:
        numbers: of their functions.
        off: the packets that do nothing; no function is called between such.
    """

    def __init__(self, api: HsaApi, template: PacketTemplate, numbers: Sequence[int], off: Set[int]) -> None:
        self._places: list[HostCallPackets] = []
        self.pending: list[PendingCall] = []
        for place, number in zip(template.host_calls, numbers, strict=True):
            if place.packet in off:
                continue
            self._places.append(place)
            where = template.where(place.packet)
            self.pending.append(PendingCall(number, new_signal(api, where), new_signal(api, where)))

    def write(self, instance: Instance) -> None:
        """Let the packets of an instance name the signals."""
        for place, call in zip(self._places, self.pending, strict=True):
            instance.bodies[place.packet, COMPLETION] = call.start.native
            instance.bodies[place.packet + 1, FIRST_DEPENDENCY] = call.end.native

    @property
    def handles(self) -> list[Handle]:
        """What must live until the launch is done."""
        return [handle for call in self.pending for handle in (call.start, call.end)]


class HostThread:
    """Calls functions for one queue, one after the other, as its packets are. It ends when there is nothing to call."""

    def __init__(self, api: HsaApi, name: str) -> None:
        self._api = api
        self._name = name
        self._waiting: deque[PendingCall] = deque()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def add(self, calls: Sequence[PendingCall]) -> None:
        """Call these when their packets say so."""
        with self._lock:
            self._waiting.extend(calls)
            if calls and self._thread is None:
                self._thread = threading.Thread(target=self._work, name=f"host calls of {self._name}", daemon=True)
                self._thread.start()

    def give_up(self, calls: Sequence[PendingCall] | None = None) -> None:
        """The packets will not run, and neither will the functions, all or these, that have not started."""
        with self._lock:
            kept = [] if calls is None else [each for each in self._waiting if each not in calls]
            self._waiting = deque(kept)

    def join(self) -> None:
        """Wait for the thread, which has nothing left to call."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(LONGEST_JOIN)

    def _work(self) -> None:
        wait = self._api.function("hsa_signal_wait_scacquire")
        complete = self._api.function("hsa_signal_store_screlease")
        while (call := self._next()) is not None:
            if wait(call.start.native, EQUAL, 0, PATIENCE, BLOCKED) == 0 and self._take(call):
                run(call.number)
                complete(call.end.native, 0)

    def _next(self) -> PendingCall | None:
        with self._lock:
            if self._waiting:
                return self._waiting[0]
            self._thread = None
            return None

    def _take(self, call: PendingCall) -> bool:
        """Whether the call is still to be made."""
        with self._lock:
            if not self._waiting or self._waiting[0] is not call:
                return False
            self._waiting.popleft()
            return True
