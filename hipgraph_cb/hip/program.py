"""Programs of the HIP backend: one executable graph, and whatever its launches need."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hipgraph_cb.backend.former import FormerBindings
from hipgraph_cb.backend.modes import check_mode
from hipgraph_cb.backend.resources import BoundResources
from hipgraph_cb.backend.supported import check_supported
from hipgraph_cb.device import Program
from hipgraph_cb.errors import HipGraphError
from hipgraph_cb.hip.buffer import HipBuffer
from hipgraph_cb.hip.calls import StreamCalls
from hipgraph_cb.hip.commands import CommandArguments
from hipgraph_cb.hip.executable import HipExecutable
from hipgraph_cb.hip.graph import ExecutableGraph
from hipgraph_cb.hip.lowering import ADD
from hipgraph_cb.hip.rebinding import SlotRecord
from hipgraph_cb.hip.timing import CommandTimer
from hipgraph_cb.recording.bindings import resolve

if TYPE_CHECKING:
    from hipgraph_cb.backend.handle import Handle
    from hipgraph_cb.backend.queue import LaunchQueue
    from hipgraph_cb.hip.device import HipDevice
    from hipgraph_cb.hip.queue import Queue
    from hipgraph_cb.recording.bindings import BoundRange
    from hipgraph_cb.recording.dependencies import JoinPolicy
    from hipgraph_cb.recording.profile import Span
    from hipgraph_cb.recording.recording import Recording


class HipProgram(Program):
    """A recording as an executable HIP graph.

    With slots in use the graph is made at the first replay, when their memory is known; without, at once.
    """

    def __init__(
        self,
        device: HipDevice,
        recording: Recording,
        substitutes: Mapping[int | str, Any] | None,
        policy: JoinPolicy,
    ) -> None:
        super().__init__(recording)
        check_supported(recording, ADD, device.backend)
        self._device = device
        self._api = device.api
        self._policy = policy
        self._default_queue = device.queue_of(None)
        self._resources = BoundResources(device, recording, substitutes, (HipBuffer, HipExecutable))
        self._work = "a program without a label" if self.label is None else f"program `{self.label}`"
        self._needs = LaunchNeeds(recording, self._resources.handles)
        self._rebinding = threading.Lock()
        self._slots: SlotRecord | None = None
        self._arguments: CommandArguments | None = None
        self._has_slots = bool(recording.slots)
        if not self._has_slots:
            self._build(CommandArguments(self._resources))
        self._retire = weakref.finalize(self, device.backlog.retire, self._needs)
        self._retire.atexit = False

    @property
    def device(self) -> HipDevice:
        return self._device

    def replay(self, stream: Any = None, bindings: Sequence[Any] | None = None, mode: str = "graph") -> None:
        if self._closed:
            raise self.closed_error("replay")
        queue = self._default_queue if stream is None else self._device.queue_of(stream)
        if self._api.device_count > 1:
            self._api.make_current()
        if mode == "graph" and not self._has_slots:
            self._launch(queue)
            return
        check_mode(mode)
        with self._rebinding:
            if self._has_slots:
                self._bind(bindings, with_graph=mode == "graph")
            if mode == "graph":
                self._launch(queue)
            else:
                with self._called(queue) as calls:
                    calls.enqueue(queue.native)

    def _time_commands(self, bindings: Sequence[Any] | None) -> list[Span]:
        queue = self._default_queue
        with self._rebinding:
            if self._has_slots:
                self._bind(bindings, with_graph=False)
            timer = CommandTimer(self._api, self._recording)
            try:
                with self._called(queue) as calls:
                    timer.enqueue(calls, queue.native)
                queue.wait(self._device.timeout)
                return timer.spans()
            finally:
                timer.release()

    def _launch(self, queue: Queue) -> None:
        needs = self._needs
        with queue.lock:
            try:
                self._api.call("hipGraphLaunch", needs.executable, queue.native)
            except HipGraphError as error:
                raise error.located(self._work) from None
            queue.last_work = self._work
            queue.enqueued = needs.tickets[queue] = queue.enqueued + 1

    @contextmanager
    def _called(self, queue: Queue) -> Iterator[StreamCalls]:
        """For enqueuing the commands one by one. What was enqueued before a call that failed runs: it has a ticket."""
        arguments = self._arguments
        if arguments is None:
            arguments = self._arguments = CommandArguments(self._resources)
        with queue.lock:
            queue.last_work = f"{self._work}, call by call"
            queue.enqueued = self._needs.tickets[queue] = queue.enqueued + 1
            yield StreamCalls(self._api, self._recording, arguments)

    def _build(self, arguments: CommandArguments) -> ExecutableGraph:
        self._api.make_current()
        graph = ExecutableGraph.build(self._api, self._recording, self._policy, arguments, changeable=self._has_slots)
        self._needs.take(graph)
        return graph

    def _bind(self, bindings: Sequence[Any] | None, with_graph: bool) -> None:
        """Make the slots stand for what `bindings` says, for this replay and those after it."""
        slots, graph = self._slots, self._needs.graph
        if slots is None:
            arguments = CommandArguments(self._resources, self._resolve(bindings))
            if with_graph:
                self._build(arguments)
            self._arguments = arguments
            self._slots = slots = SlotRecord(self._recording, arguments)
            self._needs.bound_handles = slots.handles
            return
        former = slots.handles
        table = slots.table if bindings is None else self._resolve(bindings)
        if not with_graph:
            slots.take(table)
        elif graph is not None:
            slots.tell(graph, table)
        else:
            slots.tell(self._build(slots.arguments), table)
        if slots.handles is not former:
            self._needs.bound_handles = slots.handles
            self._device.backlog.retire(FormerBindings(dict(self._needs.tickets), former))

    def _resolve(self, bindings: Sequence[Any] | None) -> dict[int, BoundRange]:
        return resolve(self._recording, bindings, objects=self._resources.objects, owner=self._device)

    def _release(self) -> None:
        self._retire()


class LaunchNeeds:
    """What must stay until the launches of a program are done: the graph, host bytes, allocations and modules.

    Args:
        recording: owns the host bytes.
        handles: of the memory and the modules that it names.

    Attributes:
        tickets: the last launch on each queue.
        executable: what hipGraphLaunch takes.
        bound_handles: what keeps the memory in the slots alive.
    """

    def __init__(self, recording: Recording, handles: list[Handle]) -> None:
        self.tickets: dict[LaunchQueue, int] = {}
        self.graph: ExecutableGraph | None = None
        self.executable: Any = None
        self.bound_handles: list[Handle] = []
        self._recording: Recording | None = recording
        self._handles = handles

    def take(self, graph: ExecutableGraph) -> None:
        self.graph = graph
        self.executable = graph.executable.native

    def release(self) -> None:
        if self.graph is not None:
            self.graph.release()
            self.graph = None
        self.bound_handles.clear()
        self._handles.clear()
        self._recording = None
