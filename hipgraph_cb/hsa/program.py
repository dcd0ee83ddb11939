"""Programs of the HSA backend: packets that are ready, and whatever their launches need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hipgraph_cb.backend.imported import check_bound
from hipgraph_cb.backend.lifetime import RetiredHandles, forget_done
from hipgraph_cb.backend.modes import check_mode
from hipgraph_cb.backend.program import BackendProgram, LaunchNeeds
from hipgraph_cb.errors import HipGraphError
from hipgraph_cb.hsa.event import EventSignals, HsaEvent
from hipgraph_cb.hsa.executable import HsaExecutable
from hipgraph_cb.hsa.instances import Instance, Instances, Packets
from hipgraph_cb.hsa.lowering import PACKET_STEPS, Surroundings, lower, payload_room
from hipgraph_cb.hsa.memory import HostMemory, HsaBuffer
from hipgraph_cb.hsa.queue import HsaQueue
from hipgraph_cb.hsa.timing import PacketTimer
from hipgraph_cb.recording.commands import Dispatch
from hipgraph_cb.recording.profile import Span

if TYPE_CHECKING:
    from hipgraph_cb.backend.lifetime import Handle
    from hipgraph_cb.hsa.device import HsaDevice
    from hipgraph_cb.hsa.executable import KernelCode
    from hipgraph_cb.hsa.packet_template import PacketTemplate
    from hipgraph_cb.recording.bindings import BoundRange
    from hipgraph_cb.recording.recording import Recording
    from hipgraph_cb.runtime.options import ProgramOptions


class HsaProgram(BackendProgram[HsaQueue, "PacketNeeds", HsaEvent]):
    """A recording as AQL packets and kernel arguments."""

    _device: HsaDevice

    def __init__(
        self,
        device: HsaDevice,
        recording: Recording,
        substitutes: Mapping[int | str, Any] | None,
        options: ProgramOptions,
    ) -> None:
        kinds = HsaBuffer, HsaExecutable, HsaEvent
        super().__init__(device, recording, substitutes, options, kinds, {Dispatch, *PACKET_STEPS}, PacketNeeds)
        self._resources.handles.append(device.held_blits())
        self._table: Mapping[int, BoundRange] = {}
        self._table_number = 0
        try:
            self._template = self._prepare()
        except BaseException:
            self._needs.release()
            raise
        self._live()

    @property
    def device(self) -> HsaDevice:
        return self._device

    def _enqueue(self, queue: HsaQueue, bindings: Sequence[Any] | None, mode: str) -> None:
        check_mode(mode)
        self._check_imported()
        words = self._template.words if mode == "graph" else self._template.words_in_order
        if not self._template.changes and not self._has_events:
            if len(words):
                instance = self._needs.instances.shared()
                instance.in_use = queue, self._launch(queue, instance, words)
            return
        with self._rebinding:
            self._events.check(self._work)
            if len(words):
                self._launch_with_events(queue, self._bound_instance(bindings), words)
            self._events.note()

    def _table_so_far(self) -> Mapping[int, BoundRange]:
        return self._table

    def _time_on(self, queue: HsaQueue, bindings: Sequence[Any] | None) -> list[Span]:
        if not len(self._template.words):
            return [Span(0.0, 0.0)] * len(self._recording)
        with self._rebinding:
            self._events.check(self._work)
            signal = queue.enable_profiling()
            instance = self._bound_instance(bindings)
            signals = EventSignals(self._device.api, self._template, self._events.events)
            signals.write(instance)
            timer = PacketTimer(self._device.api, self._device.agent, instance)
            try:
                instance.in_use = queue, self._launch(queue, timer, self._template.words, signals.completed)
                signals.note()
                self._events.note()
                queue.wait(self._device.timeout)
                return timer.spans(self._recording, signal)
            finally:
                timer.release()

    def _bound_instance(self, bindings: Sequence[Any] | None) -> Instance:
        """An instance with the bindings of this replay; those of the one before without any."""
        instances = self._needs.instances
        if not self._template.changes:
            return instances.shared()
        table, handles = self._next_table(bindings) if self._has_slots else (self._table, [])
        number = self._table_number + (table is not self._table)
        instance = instances.take(self._device.timeout)
        instances.bind(instance, table, number, partial(self._resources.place, slots=table))
        if table is not self._table:
            self._take(table, handles)
        return instance

    def _launch_with_events(self, queue: HsaQueue, instance: Instance, words: Any) -> None:
        signals = EventSignals(self._device.api, self._template, self._events.events)
        signals.write(instance)
        ticket = self._launch(queue, instance, words, signals.completed)
        instance.in_use = queue, ticket
        signals.note()
        if signals.handles:
            self._device.backlog.retire(RetiredHandles({queue: ticket}, signals.handles))

    def _launch(self, queue: HsaQueue, packets: Packets, words: Any, signals: Sequence[Handle] = ()) -> int:
        if queue not in self._needs.tickets:
            forget_done(self._needs.tickets)
        with queue.lock:
            try:
                ticket = queue.launch(packets, words, self._work, self._template.where, signals)
            except HipGraphError as error:
                raise error.located(self._work) from None
            self._needs.tickets[queue] = ticket
        return ticket

    def _prepare(self) -> PacketTemplate:
        """Lower the recording and write what all launches share."""
        recording, device, needs = self._recording, self._device, self._needs
        room = payload_room(recording)
        host_memory = partial(
            HostMemory, device.api, device.agent, self._work
        )  # what outlives the program must not hold it
        payload = needs.payload = host_memory(room) if room else None
        template = lower(
            recording,
            Surroundings(
                addresses=self._resources.addresses,
                kernel=self._kernel,
                blit_kernel=device.blits.kernel,
                most_lanes=device.blits.most_lanes,
                payload=0 if payload is None else payload.address,
                host_bytes=np.zeros(0, np.uint8) if payload is None else payload.bytes,
            ),
        )
        needs.instances = Instances(template, host_memory, device.blits.kernel, device.blits.most_lanes)
        return template

    def _next_table(self, bindings: Sequence[Any] | None) -> tuple[Mapping[int, BoundRange], list[Handle]]:
        """The table that a replay with these bindings has: the very one of before where nothing changes.

        With it comes what keeps its memory alive.
        """
        table, handles = self._table, self._needs.bound_handles
        if not table or bindings is not None:
            table, handles = self._resolve(bindings)
        check_bound(table.values())
        return (self._table if table == self._table else table), handles

    def _take(self, table: Mapping[int, BoundRange], handles: list[Handle]) -> None:
        """Let a table be that of further replays. What stood in the slots before may still be in use."""
        needs = self._needs
        self._table = table
        self._table_number += 1
        before, needs.bound_handles = needs.bound_handles, handles
        if before:
            self._device.backlog.retire(RetiredHandles(dict(needs.tickets), before))

    def _kernel(self, executable: int, export: str) -> KernelCode:
        code: KernelCode = self._resources.executables[executable].kernel(export)
        return code


class PacketNeeds(LaunchNeeds):
    """What the launches of a program need, and the arguments and the host bytes that packets read."""

    def __init__(self, handles: list[Handle]) -> None:
        super().__init__(handles)
        self.payload: HostMemory | None = None
        self.instances: Instances

    def release(self) -> None:
        if hasattr(self, "instances"):
            self.instances.release()
        if self.payload is not None:
            self.payload.release()
        super().release()
