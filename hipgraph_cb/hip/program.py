"""Programs of the HIP backend: one executable graph, and whatever its launches need."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hipgraph_cb.backend.imported import check_bound
from hipgraph_cb.backend.lifetime import RetiredHandles, Superseded, forget_done
from hipgraph_cb.backend.modes import GRAPH, check_mode
from hipgraph_cb.backend.nested_scope import NestedScope
from hipgraph_cb.backend.program import BackendProgram, LaunchNeeds
from hipgraph_cb.backend.resources import own
from hipgraph_cb.backend.supported import contains
from hipgraph_cb.errors import FailedPreconditionError, HipGraphError
from hipgraph_cb.hip.buffer import HipBuffer
from hipgraph_cb.hip.channel import HipRank
from hipgraph_cb.hip.commands import CommandArguments
from hipgraph_cb.hip.event import HipEvent
from hipgraph_cb.hip.executable import HipExecutable
from hipgraph_cb.hip.graph import ExecutableGraph, Part, ProgramGraphs
from hipgraph_cb.hip.graph_nodes import in_graphs
from hipgraph_cb.hip.indirect import IndirectLauncher
from hipgraph_cb.hip.joins import Joiner
from hipgraph_cb.hip.partition import steps_of
from hipgraph_cb.hip.queue import Queue
from hipgraph_cb.hip.rebinding import SlotRecord
from hipgraph_cb.hip.runtime_dot import runtime_dot
from hipgraph_cb.hip.stream_replay import StreamCalls
from hipgraph_cb.hip.timing import CommandTimer
from hipgraph_cb.recording.commands import Copy2D, Dispatch, DispatchIndirect, Fill, Fill2D

if TYPE_CHECKING:
    from hipgraph_cb.backend.lifetime import Handle
    from hipgraph_cb.hip.device import HipDevice
    from hipgraph_cb.hip.fills import FillKernel
    from hipgraph_cb.recording.binding_table import Bindings, Table
    from hipgraph_cb.recording.profile import Span
    from hipgraph_cb.recording.recording import Recording
    from hipgraph_cb.runtime.options import ProgramOptions


_OF_A_RECORDING = ("_weak_recording", "_steps", "_slots", "_table_before", "_arguments", "_fill_kernel")
"""The attributes of a program that belong to the recording that it runs."""


class HipProgram(BackendProgram[Queue, "GraphNeeds", HipEvent]):
    """A recording as an executable HIP graph.

    With slots in use the graph is made at the first replay, when their memory is known; without, at once.
    """

    _device: HipDevice

    def __init__(
        self,
        device: HipDevice,
        recording: Recording,
        substitutes: Mapping[int | str, Any] | None,
        options: ProgramOptions,
    ) -> None:
        device.api.make_current()
        kinds = HipBuffer, HipExecutable, HipEvent
        super().__init__(device, recording, substitutes, options, kinds, {*in_graphs(), DispatchIndirect}, GraphNeeds)
        self._api = device.api
        self._joiner = Joiner(self._api, options.join, device.auto_join, device.join_kernel)
        self._indirect = IndirectLauncher(self._api, device.limits)
        self._is_updated = False
        self._start(None)
        if not self._has_slots:
            self._build(self._arguments_with())
        self._live()

    @property
    def device(self) -> HipDevice:
        return self._device

    def _start(self, table: Table | None) -> None:
        """Make ready what needs no graph of the recording that is in use now; `table`: what the slots hold already."""
        recording = self._recording
        self._weak_recording = weakref.ref(recording)
        self._resources.handles.extend(event.held("program") for event in self._events.events.values())
        for entry in recording.resources.channels.values():
            rank = own(self._resources.objects[entry.id], HipRank, self._device, "rank", entry)
            self._resources.handles.append(rank.held("program"))
        self._steps = steps_of(NestedScope(recording))
        self._needs.recording = recording
        self._slots: SlotRecord | None = None
        self._table_before: Table = table or {}
        self._arguments: CommandArguments | None = None
        self._fill_kernel = self._load_fill_kernel()
        if contains(recording, Copy2D) or contains(recording, Fill2D):
            self._resources.handles.append(self._device.row_kernels.load())
        if self._has_slots or contains(recording, DispatchIndirect):
            self._look_up_kernels()

    def _replace(self, table: Table, handles: list[Handle]) -> None:
        self._api.make_current()
        kept = {name: self.__dict__[name] for name in _OF_A_RECORDING}
        recording, bound_before = self._needs.recording, self._needs.bound_handles
        try:
            self._start(table)
            self._is_updated = True
            join_kernel = self._device.join_kernel.handle
            if join_kernel is not None:
                self._resources.handles.append(join_kernel)
            if self._is_bound(table):
                self._arguments = self._arguments_with(table)
                if self._has_slots:
                    self._slots = SlotRecord(self._arguments, handles)
                self._renew_graphs(self._arguments)
            else:
                self._forget_graphs()
        except BaseException:
            self.__dict__.update(kept)
            self._needs.recording = recording
            raise
        self._needs.bound_handles = handles
        self._device.backlog.retire(Superseded(self._needs, bound_before))

    def _renew_graphs(self, arguments: CommandArguments) -> None:
        """Let the graphs do what the recording in use now says: in place, or by others."""
        graphs = self._needs.graphs
        if graphs is None or not graphs.can_become(self._recording, self._steps):
            self._build(arguments)
            return
        try:
            graphs.become(self._recording, self._steps, arguments)
        except BaseException:
            self._forget_graphs()  # some nodes are others already; the next replay makes new ones
            raise

    def _forget_graphs(self) -> None:
        previous = self._needs.forget()
        if previous is not None:
            self._device.backlog.retire(Superseded(self._needs, [], [previous], is_locked=self._has_slots))

    def _switch(self, disabled: frozenset[int]) -> None:
        self._api.make_current()
        self._is_updated = True
        if self._arguments is None:
            self._arguments = self._arguments_with(self._table_before)
        arguments, graphs = self._arguments, self._needs.graphs
        before, arguments.disabled = arguments.disabled, disabled
        try:
            if graphs is not None and not graphs.can_switch(before ^ disabled):
                self._build(arguments)
            elif graphs is not None:
                graphs.switch()
        except BaseException:
            arguments.disabled = before
            self._forget_graphs()  # some nodes are switched already; the next replay makes new ones
            raise

    def _load_fill_kernel(self) -> FillKernel | None:
        """The kernel that fills, held as long as the program; None where memset nodes do it, or nothing is filled."""
        if self._options.fill != "kernel" or not contains(self._recording, Fill):
            return None
        kernel = self._device.fill_kernel
        self._resources.handles.append(kernel.load())
        return kernel

    def _arguments_with(self, table: Table | None = None) -> CommandArguments:
        kernels = self._device.row_kernels, table, self._fill_kernel
        return CommandArguments(self._resources, *kernels, self._disabled, self._host_calls)

    def _look_up_kernels(self) -> None:
        """Ask for every kernel now: the executable may be closed before the replay that needs it (R5)."""
        nested = (entry.recording for entry in self._recording.resources.recordings.values())
        kernels = {
            (command.executable, command.export)
            for recording in (self._recording, *nested)
            for command in recording
            if isinstance(command, (Dispatch, DispatchIndirect))
        }
        for executable, export in sorted(kernels):
            self._resources.executables[executable].function(export)

    def _enqueue(self, queue: Queue, bindings: Bindings | None, mode: str) -> None:
        if self._api.device_count > 1:
            self._api.make_current()
        if self._resources.imported:
            self._check_imported()
        if mode is GRAPH and not self._has_slots and not self._is_updated:
            self._launch(queue)
            return
        check_mode(mode)
        with self._rebinding:
            if self._has_slots:
                self._bind(bindings, with_graph=mode == "graph")
            elif self._needs.graphs is None and mode == "graph":
                self._arguments = self._arguments or self._arguments_with()
                self._build(self._arguments)
            if mode == "graph":
                self._launch(queue)
            else:
                with self._called(queue) as calls:
                    calls.enqueue(queue)

    def _table_so_far(self) -> Table:
        return self._table_before if self._slots is None else self._slots.table

    @property
    def _changes_nodes(self) -> bool:
        return (self._has_slots or self._is_updated) and self._options.update == "exec"

    def runtime_dot(self) -> str:
        with self._in_call("runtime_dot"), self._rebinding:
            self._api.make_current()
            arguments = self._arguments
            if arguments is None:
                if self._has_slots:
                    raise FailedPreconditionError(
                        "runtime_dot: nothing is bound to the slots yet",
                        where=self.describe(),
                        next_step="replay once before",
                    )
                arguments = self._arguments_with()
            return runtime_dot(self._api, self._steps, self._joiner, arguments)

    def _time_on(self, queue: Queue, bindings: Bindings | None) -> list[Span]:
        self._api.make_current()
        with self._rebinding:
            if self._has_slots:
                self._bind(bindings, with_graph=False)
            timer = CommandTimer(self._api, self._recording)
            try:
                with self._called(queue) as calls:
                    timer.enqueue(calls, queue)
                queue.wait(self._device.timeout)
                return timer.spans()
            finally:
                timer.release()

    def _launch(self, queue: Queue) -> None:
        needs = self._needs
        executable = needs.executable
        if queue not in needs.tickets:
            forget_done(needs.tickets)
        with queue.lock:
            if executable is None or self._has_events or self._host_calls is not None:
                self._launch_parts(queue)
                return
            try:
                (code,) = self._api.function("hipGraphLaunch")(executable, queue.native)
            except (RuntimeError, ValueError) as error:
                raise self._api.failure("hipGraphLaunch", error, self._work) from error
            if code:
                raise self._api.error("hipGraphLaunch", code, self._work)
            queue.last_work, queue.last_recording = self._work, self._weak_recording
            queue.enqueued = needs.tickets[queue] = queue.enqueued + 1

    def _launch_parts(self, queue: Queue) -> None:
        """Launch part after part, waiting where workgroup counts have to be read. The caller holds the queue's lock."""
        graphs = self._needs.graphs
        if self._has_events:
            self._events.check(self._work)
        if self._host_calls is not None:
            queue.watch(self._host_calls.failures)
        try:
            if graphs is not None:
                for part in graphs.parts:
                    if part.command is not None and part.command in graphs.arguments.disabled:
                        continue
                    self._launch_part(part, graphs.arguments, queue)
        except HipGraphError as error:
            raise error.located(self._work) from None
        if self._has_events:
            self._events.note()

    def _launch_part(self, part: Part, arguments: CommandArguments, queue: Queue) -> None:
        try:
            if isinstance(part, ExecutableGraph):
                self._api.call("hipGraphLaunch", part.executable.native, queue.native)
            else:
                self._indirect.launch(part, arguments, queue, self._device.timeout)
        finally:  # of several dispatches the first may run when a later one has failed
            queue.last_work, queue.last_recording = self._work, self._weak_recording
            queue.enqueued = self._needs.tickets[queue] = queue.enqueued + 1

    @contextmanager
    def _called(self, queue: Queue) -> Iterator[StreamCalls]:
        """For enqueuing the commands one by one. What was enqueued before a call that failed runs: it has a ticket."""
        arguments = self._arguments
        if arguments is None:
            arguments = self._arguments = self._arguments_with()
        with queue.lock:
            if self._has_events:
                self._events.check(self._work)
            if self._host_calls is not None:
                queue.watch(self._host_calls.failures)
            queue.last_work, queue.last_recording = f"{self._work}, call by call", self._weak_recording
            queue.enqueued = self._needs.tickets[queue] = queue.enqueued + 1
            try:
                yield StreamCalls(
                    self._api, NestedScope(self._recording), arguments, self._indirect, self._device.timeout
                )
            finally:
                if not queue.busy:  # it was waited for, to read workgroup counts
                    queue.enqueued = self._needs.tickets[queue] = queue.enqueued + 1
            if self._has_events:
                self._events.note()

    def _build(self, arguments: CommandArguments) -> ProgramGraphs:
        graphs = ProgramGraphs.build(
            self._api,
            self._recording,
            self._steps,
            self._joiner,
            arguments,
            changeable=self._changes_nodes,
        )
        join_kernel = self._device.join_kernel.handle
        if join_kernel is not None and join_kernel not in self._resources.handles:
            self._resources.handles.append(join_kernel)
        previous = self._needs.take(graphs)
        if previous is not None:
            self._device.backlog.retire(Superseded(self._needs, [], [previous], is_locked=self._has_slots))
        return graphs

    def _bind(self, bindings: Bindings | None, with_graph: bool) -> None:
        """Make the slots stand for what `bindings` says, for this replay and those after it."""
        slots, graphs = self._slots, self._needs.graphs
        if slots is None:
            table, handles = self._resolve(bindings)
            arguments = self._arguments_with(table)
            if with_graph:
                self._build(arguments)
            self._arguments = arguments
            self._slots = SlotRecord(arguments, handles)
            self._needs.bound_handles = handles
            return
        previous = slots.handles
        table, handles = (slots.table, previous) if bindings is None else self._resolve(bindings)
        check_bound(table)
        if not with_graph:
            slots.take(table, handles)
        else:
            slots.tell(self._build(slots.arguments) if graphs is None else graphs, table, handles, self._build)
        if slots.handles is not previous:
            self._needs.bound_handles = slots.handles
            self._device.backlog.retire(RetiredHandles(dict(self._needs.tickets), previous))


class GraphNeeds(LaunchNeeds):
    """What the launches of a program need, and the graphs and the host bytes that they read.

    Attributes:
        executable: what hipGraphLaunch takes, where one graph is all there is; else None.
        recording: owns the host bytes.
    """

    def __init__(self, handles: list[Handle]) -> None:
        super().__init__(handles)
        self.graphs: ProgramGraphs | None = None
        self.executable: Any = None
        self.recording: Recording | None = None

    def forget(self) -> ProgramGraphs | None:
        """Have none; returns those of before."""
        previous, self.graphs, self.executable = self.graphs, None, None
        return previous

    def take(self, graphs: ProgramGraphs) -> ProgramGraphs | None:
        """Launch these from now on; returns those of before."""
        previous, self.graphs = self.graphs, graphs
        self.executable = graphs.only
        return previous

    def release(self) -> None:
        if self.graphs is not None:
            self.graphs.release()
            self.graphs = None
        super().release()
        self.recording = None
