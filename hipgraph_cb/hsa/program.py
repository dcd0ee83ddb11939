"""Programs of the HSA backend: packets that are ready, and whatever their launches need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hipgraph_cb.backend.imported import check_bound
from hipgraph_cb.backend.lifetime import RetiredHandles, Superseded, forget_done
from hipgraph_cb.backend.modes import check_mode
from hipgraph_cb.backend.program import BackendProgram, LaunchNeeds
from hipgraph_cb.backend.resources import own
from hipgraph_cb.errors import HipGraphError, UnimplementedError
from hipgraph_cb.hsa.channel import HsaRank, LaunchMeetings, check_reachable
from hipgraph_cb.hsa.event import EventSignals, HsaEvent
from hipgraph_cb.hsa.executable import HsaExecutable
from hipgraph_cb.hsa.host_calls import LaunchCalls, PendingCall
from hipgraph_cb.hsa.instances import Instance, Instances, Packets
from hipgraph_cb.hsa.lowering import PACKET_STEPS, Surroundings, lower, payload_room
from hipgraph_cb.hsa.memory import HostMemory, HsaBuffer
from hipgraph_cb.hsa.partly_off import PartlyOff, words_without
from hipgraph_cb.hsa.queue import HsaQueue
from hipgraph_cb.hsa.timing import PacketTimer
from hipgraph_cb.recording.binding_table import part_of
from hipgraph_cb.recording.commands import Dispatch, Location, SlotRange
from hipgraph_cb.recording.launch_options import options_in
from hipgraph_cb.recording.profile import Span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hipgraph_cb.backend.lifetime import Handle
    from hipgraph_cb.hsa.device import HsaDevice
    from hipgraph_cb.hsa.executable import KernelCode
    from hipgraph_cb.hsa.packet_template import PacketTemplate
    from hipgraph_cb.recording.binding_table import Bindings, Table
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
        self._table: Table = {}
        self._table_number = 0
        try:
            self._needs.prepared = self._prepare()
        except BaseException:
            self._needs.release()
            raise
        self._live()

    @property
    def device(self) -> HsaDevice:
        return self._device

    def _enqueue(self, queue: HsaQueue, bindings: Bindings | None, mode: str) -> None:
        check_mode(mode)
        self._check_imported()
        prepared = self._needs.prepared
        template = prepared.template
        if not template.changes and not self._has_events:
            if len(template.words):
                instance = prepared.instances.shared()
                instance.in_use = queue, self._launch(queue, *prepared.switched(instance, mode))
            return
        with self._rebinding:
            self._events.check(self._work)
            if len(template.words):
                self._launch_with_events(queue, self._bound_instance(bindings), mode)
            self._events.note()

    def _table_so_far(self) -> Table:
        return self._table

    def _time_on(self, queue: HsaQueue, bindings: Bindings | None) -> list[Span]:
        if not len(self._needs.prepared.template.words):
            return [Span(0.0, 0.0)] * len(self._recording)
        with self._rebinding:
            self._events.check(self._work)
            signal = queue.enable_profiling()
            instance = self._bound_instance(bindings)
            signals = EventSignals(self._device.api, instance.template, self._events.events)
            signals.write(instance)
            calls = self._calls_of_launch(instance)
            with self._meetings(instance) as meetings:
                packets, words = self._needs.prepared.switched(instance, "graph")
                timer = PacketTimer(self._device.api, self._device.agent, packets)
            try:
                with meetings.withdrawn_on_error():
                    completed = [*signals.completed, *meetings.signals]
                    ticket = self._launch(queue, timer, words, completed, calls.pending)
                instance.in_use = queue, ticket
                if meetings.handles:
                    self._device.backlog.retire(RetiredHandles({queue: ticket}, meetings.handles))
                signals.note()
                self._events.note()
                queue.wait(self._device.timeout)
                return timer.spans(self._recording, signal)
            finally:
                timer.release()

    def _bound_instance(self, bindings: Bindings | None) -> Instance:
        """An instance with the bindings of this replay; those of the one before without any."""
        instances = self._needs.prepared.instances
        if not instances.template.changes:
            return instances.shared()
        table, handles = self._next_table(bindings) if self._has_slots else (self._table, [])
        number = self._table_number + (table is not self._table)
        instance = instances.take(self._device.timeout)
        instances.bind(instance, table, number, partial(self._resources.place, slots=table))
        if table is not self._table:
            self._take(table, handles)
        return instance

    def _launch_with_events(self, queue: HsaQueue, instance: Instance, mode: str) -> None:
        signals = EventSignals(self._device.api, instance.template, self._events.events)
        signals.write(instance)
        calls = self._calls_of_launch(instance)
        packets, words = self._needs.prepared.switched(instance, mode)
        with self._meetings(instance) as meetings:
            completed = [*signals.completed, *meetings.signals]
            ticket = self._launch(queue, packets, words, completed, calls.pending)
        instance.in_use = queue, ticket
        signals.note()
        handles = [*signals.handles, *calls.handles, *meetings.handles]
        if handles:
            self._device.backlog.retire(RetiredHandles({queue: ticket}, handles))

    @contextmanager
    def _meetings(self, instance: Instance) -> Iterator[LaunchMeetings]:
        """Come to the operations between ranks that a launch has; where it is not enqueued, take that back."""
        meetings = LaunchMeetings(instance.template, self._ranks, self._end)
        with meetings.withdrawn_on_error():
            meetings.write(instance)
            yield meetings

    def _calls_of_launch(self, instance: Instance) -> LaunchCalls:
        """The host calls of the next launch, which the packets of an instance name from now on."""
        prepared = self._needs.prepared
        calls = LaunchCalls(self._device.api, prepared.template, prepared.call_numbers, set(prepared.off.tolist()))
        calls.write(instance)
        return calls

    def _call_numbers(self, template: PacketTemplate) -> list[int]:
        """The number of the function of each host call."""
        if self._host_calls is None:
            return []
        objects = self._resources.objects
        functions = ((objects[call.function], template.where(call.packet)) for call in template.host_calls)
        return [self._host_calls.number(function, where) for function, where in functions]  # type: ignore[arg-type]

    def _launch(
        self,
        queue: HsaQueue,
        packets: Packets,
        words: Any,
        signals: Sequence[Handle] = (),
        calls: Sequence[PendingCall] = (),
    ) -> int:
        if queue not in self._needs.tickets:
            forget_done(self._needs.tickets)
        with queue.lock:
            if self._host_calls is not None:
                queue.watch(self._host_calls.failures)
            try:
                ticket = queue.launch(packets, words, self._work, packets.template.where, signals, calls)
            except HipGraphError as error:
                raise error.located(self._work) from None
            self._needs.tickets[queue] = ticket
        return ticket

    def _prepare(self) -> PreparedPackets:
        """Lower the recording that is in use now and write what all launches share."""
        recording, device = self._recording, self._device
        _refuse_cooperative(recording)
        self._resources.handles.append(device.held_blits())
        self._ranks = self._held_ranks()
        room = payload_room(recording)
        host_memory = partial(
            HostMemory, device.api, device.agent, self._work
        )  # what outlives the program must not hold it
        payload = host_memory(room) if room else None
        try:
            template = lower(
                recording,
                Surroundings(
                    addresses=self._resources.addresses,
                    kernel=self._kernel,
                    blit_kernel=device.blits.kernel,
                    rank=self._ranks.__getitem__,
                    most_lanes=device.blits.most_lanes,
                    payload=0 if payload is None else payload.address,
                    host_bytes=np.zeros(0, np.uint8) if payload is None else payload.bytes,
                ),
            )
            instances = Instances(template, host_memory, device.blits.kernel, device.blits.most_lanes)
        except BaseException:
            if payload is not None:
                payload.release()
            raise
        off = template.packets_of(self._disabled)
        return PreparedPackets(template, instances, payload, off, self._call_numbers(template))

    def _replace(self, table: Table, handles: list[Handle]) -> None:
        needs = self._needs
        previous, needs.prepared = needs.prepared, self._prepare()
        before, needs.bound_handles = needs.bound_handles, handles
        self._table = table
        self._table_number += 1
        self._device.backlog.retire(Superseded(needs, before, [previous]))

    def _switch(self, disabled: frozenset[int]) -> None:
        prepared = self._needs.prepared
        self._needs.prepared = prepared._replace(off=prepared.template.packets_of(disabled))

    def _next_table(self, bindings: Bindings | None) -> tuple[Table, list[Handle]]:
        """The table that a replay with these bindings has: the very one of before where nothing changes.

        With it comes what keeps its memory alive.
        """
        table, handles = self._table, self._needs.bound_handles
        if bindings is not None or not self._is_bound(table):
            table, handles = self._resolve(bindings)
        check_bound(table)
        return (self._table if table == self._table else table), handles

    def _take(self, table: Table, handles: list[Handle]) -> None:
        """Let a table be that of further replays. What stood in the slots before may still be in use."""
        needs = self._needs
        self._table = table
        self._table_number += 1
        before, needs.bound_handles = needs.bound_handles, handles
        if before:
            self._device.backlog.retire(RetiredHandles(dict(needs.tickets), before))

    def _held_ranks(self) -> dict[int, HsaRank]:
        """The ranks of channels, by resource id."""
        ranks: dict[int, HsaRank] = {}
        for entry in self._recording.resources.channels.values():
            rank = own(self._resources.objects[entry.id], HsaRank, self._device, "rank", entry)
            self._resources.handles.append(rank.held("program"))
            ranks[entry.id] = rank
        return ranks

    def _end(self, place: Location, where: str) -> int:
        """The address of memory that other ranks read or write."""
        bound = part_of(self._table, place).buffer if isinstance(place, SlotRange) else None
        check_reachable(self._resources.objects.get(place[0]) if bound is None else bound, where)
        return self._resources.place(place, self._table)[0]

    def _kernel(self, executable: int, export: str) -> KernelCode:
        code: KernelCode = self._resources.executables[executable].kernel(export)
        return code


class PreparedPackets(NamedTuple):
    """What a program launches.

    Attributes:
        payload: the host bytes that packets read.
        off: the packets that are switched off, by position.
        call_numbers: of the function of each host call.
    """

    template: PacketTemplate
    instances: Instances
    payload: HostMemory | None
    off: NDArray[np.intp]
    call_numbers: list[int]

    def switched(self, instance: Instance, mode: str) -> tuple[Packets, NDArray[np.uint32]]:
        """The packets of a launch and their header words, where some may do nothing."""
        words = self.template.words if mode == "graph" else self.template.words_in_order
        off = np.union1d(self.off, instance.idle) if len(instance.idle) else self.off
        return (PartlyOff(instance, off), words_without(words, off)) if len(off) else (instance, words)

    def release(self) -> None:
        """Give the memory back; nothing may be in flight."""
        self.instances.release()
        if self.payload is not None:
            self.payload.release()


def _refuse_cooperative(recording: Recording) -> None:
    """A packet cannot say that its workgroups have to be resident at once."""
    if not any(options.cooperative for options in options_in(recording)):
        return
    nested = (entry.recording for entry in recording.resources.recordings.values())
    for each in (recording, *nested):
        for index, command in enumerate(each):
            if isinstance(command, Dispatch) and command.cooperative:
                raise UnimplementedError(
                    "program: the hsa backend cannot launch a kernel cooperatively",
                    where=each.where(index),
                    found="cooperative=True: a packet has no word for it, and its queue shares the GPU with others",
                    next_step="use backend='hip', or a kernel whose workgroups do not wait for each other",
                )


class PacketNeeds(LaunchNeeds):
    """What the launches of a program need, and the arguments and the host bytes that packets read."""

    def __init__(self, handles: list[Handle]) -> None:
        super().__init__(handles)
        self.prepared: PreparedPackets

    def release(self) -> None:
        if hasattr(self, "prepared"):
            self.prepared.release()
        super().release()
