"""Programs of the HIP backend: one executable graph, and whatever its launches need."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hipgraph_cb.device import Program
from hipgraph_cb.errors import UnimplementedError
from hipgraph_cb.hip.commands import CommandArguments
from hipgraph_cb.hip.graph import ExecutableGraph
from hipgraph_cb.hip.queue import Queue
from hipgraph_cb.hip.resources import BoundResources
from hipgraph_cb.recording.dependencies import JoinPolicy, plan

if TYPE_CHECKING:
    from hipgraph_cb.hip.device import HipDevice
    from hipgraph_cb.hip.handle import Handle
    from hipgraph_cb.recording.recording import Recording


class HipProgram(Program):
    """A recording as an executable HIP graph."""

    def __init__(
        self,
        device: HipDevice,
        recording: Recording,
        substitutes: Mapping[int | str, Any] | None,
        policy: JoinPolicy,
    ) -> None:
        super().__init__(recording)
        if recording.binding_capacity:
            raise UnimplementedError("program: slots are not supported yet")
        self._device = device
        self._api = device.api
        resources = BoundResources(device, recording, substitutes)
        self._api.make_current()
        nodes = plan(recording.layers, policy)
        graph = ExecutableGraph.build(self._api, recording, nodes, CommandArguments(resources), keep_source=False)
        self._executable = graph.executable.native
        self._work = f"program `{self.label}`" if self.label is not None else "a program without a label"
        self._needs = LaunchNeeds(graph, recording, resources.handles)
        self._tickets = self._needs.tickets
        self._retire = weakref.finalize(self, device.backlog.retire, self._needs)
        self._retire.atexit = False

    @property
    def device(self) -> HipDevice:
        return self._device

    def replay(self, stream: Any = None, bindings: Sequence[Any] | None = None) -> None:
        if self._closed:
            raise self.closed_error("replay")
        queue = self._device.queue_of(stream)
        api = self._api
        if api.device_count > 1:
            api.make_current()
        with queue.lock:
            api.call("hipGraphLaunch", self._executable, queue.native)
            queue.last_work = self._work
            queue.enqueued = self._tickets[queue] = queue.enqueued + 1

    def _release(self) -> None:
        self._retire()


class LaunchNeeds:
    """What must stay until the launches of a program are done: the graph, host bytes, allocations and modules.

    Attributes:
        tickets: the last launch on each queue.
    """

    def __init__(self, graph: ExecutableGraph, recording: Recording, handles: list[Handle]) -> None:
        self.tickets: dict[Queue, int] = {}
        self._graph = graph
        self._owners: list[object] = [recording, *handles]

    def release(self) -> None:
        self._graph.release()
        self._owners.clear()
