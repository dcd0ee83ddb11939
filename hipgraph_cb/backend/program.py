"""What the programs of both backends do the same: the head of a replay, events, slots, and when what they need may go.

A replay uses the program and a queue, which nobody takes from it.
"""

from __future__ import annotations

import threading
import weakref
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from threading import get_ident
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from hipgraph_cb.backend.collected import barred
from hipgraph_cb.backend.events import EventKind, EventRecord
from hipgraph_cb.backend.host_calls import refuse_in_host_call
from hipgraph_cb.backend.lifetime import handles_of
from hipgraph_cb.backend.modes import GRAPH
from hipgraph_cb.backend.one_shot import OneShot
from hipgraph_cb.backend.queue import LaunchQueue
from hipgraph_cb.backend.resources import BoundResources
from hipgraph_cb.backend.supported import check_supported, check_switchable
from hipgraph_cb.backend.watching import replay_checked
from hipgraph_cb.backend.write_sets import Watched
from hipgraph_cb.errors import FailedPreconditionError, InvalidArgumentError
from hipgraph_cb.recording.binding_table import memory_in
from hipgraph_cb.recording.bindings import resolve, still_fitting
from hipgraph_cb.recording.recording import Recording
from hipgraph_cb.recording.rewriting import rewritten
from hipgraph_cb.recording.structure import check_same_structure
from hipgraph_cb.runtime.calls import Calls
from hipgraph_cb.runtime.program import Program

if TYPE_CHECKING:
    from hipgraph_cb.backend.device import BackendDevice
    from hipgraph_cb.backend.lifetime import Handle
    from hipgraph_cb.backend.owned import OwnedBuffer, OwnedExecutable
    from hipgraph_cb.recording.binding_table import Bindings, Table
    from hipgraph_cb.recording.commands import Command
    from hipgraph_cb.recording.outputs import Check
    from hipgraph_cb.recording.profile import Span
    from hipgraph_cb.runtime.options import ProgramOptions


class LaunchNeeds:
    """What must stay until the launches of a program are done. A backend adds what it makes of the recording.

    Args:
        handles: of the memory and the code that the recording names.

    Attributes:
        calls: those that use it.
        tickets: the last launch on each queue.
        is_retired: whether the program is closed or collected.
        bound_handles: what keeps the memory in the slots alive.
    """

    def __init__(self, handles: list[Handle]) -> None:
        self.calls = Calls()
        self.tickets: dict[LaunchQueue, int] = {}
        self.is_retired = False
        self.bound_handles: list[Handle] = []
        self._handles = handles

    def hold(self, handles: list[Handle]) -> None:
        """Keep these from now on, in the place of those of before."""
        self._handles = handles

    def release(self) -> None:
        """Give it all back."""
        self.bound_handles.clear()
        self._handles.clear()


QueueKind = TypeVar("QueueKind", bound=LaunchQueue)
NeedsKind = TypeVar("NeedsKind", bound=LaunchNeeds)


class BackendProgram(Program, Generic[QueueKind, NeedsKind, EventKind]):
    """A program that keeps what it needs until the last call and the last launch that use it are over (R5).

    Args:
        kinds: what buffers, executables and events of the device's backend are.
        commands: the types of commands that it can run.
        needs: makes what its launches need, from the handles of what the recording names.

    Raises:
        UnimplementedError: a command of another type.
        NotFoundError, InvalidArgumentError, OutOfRangeError, FailedPreconditionError: as `BoundResources`.
    """

    _device: BackendDevice
    _default_queue: QueueKind

    def __init__(
        self,
        device: BackendDevice,
        recording: Recording,
        substitutes: Mapping[int | str, Any] | None,
        options: ProgramOptions,
        kinds: tuple[type[OwnedBuffer], type[OwnedExecutable], type[EventKind]],
        commands: Collection[type[Command]],
        needs: type[NeedsKind],
    ) -> None:
        super().__init__(recording)
        check_supported(recording, commands, device.backend)
        self._device = device
        self._options = options
        self._kinds = kinds
        self._commands = commands
        self._disabled: frozenset[int] = frozenset()
        self._default_queue = device.queue_of(None)
        self._work = "a program without a label" if self.label is None else f"program `{self.label}`"
        self._resources: BoundResources[Any] = BoundResources(device, recording, substitutes, kinds[:2])
        self._events = EventRecord(device, recording, self._resources, kinds[2])
        self._has_events = bool(self._events.events)
        self._has_slots = bool(recording.slots)
        self._once = OneShot(self.describe()) if recording.one_shot else None
        self._host_calls = self._resources.host_calls
        self._needs = needs(self._resources.handles)
        self._rebinding = threading.Lock()
        self._retire: Any = None

    def replay(
        self,
        stream: Any = None,
        bindings: Bindings | None = None,
        mode: str = GRAPH,
        check: Check | None = None,
    ) -> None:
        needs = self._needs
        if self._device.absence is not None:
            self._device.absence.skip("replay")
            return
        if barred:
            refuse_in_host_call("replay")
        if needs.is_retired:
            raise self._closed_error("replay")
        if check is not None:
            with nullcontext() if self._once is None else self._once.watched(check):
                replay_checked(self._watched(), check, mode, stream, bindings)
            return
        thread = get_ident()
        queue = self._default_queue
        if stream is None:
            queue.calls.append(thread)
        else:
            queue = self._device.enter_queue(stream)
        needs.calls.append(thread)
        try:
            if needs.is_retired:
                raise self._closed_error("replay")
            if queue.lock.locked() or self._rebinding.locked():
                self._refuse_to_wait_for_itself("replay", queue)
            if self._once is None:
                self._enqueue(queue, bindings, mode)
            else:
                with self._once.used():
                    self._enqueue(queue, bindings, mode)
        finally:
            needs.calls.remove(thread)
            queue.calls.remove(thread)
            if needs.is_retired or queue.is_released:
                self._was_closed_meanwhile(queue)

    @contextmanager
    def _in_call(self, action: str) -> Iterator[QueueKind]:
        """A call other than a replay, on the device's own queue."""
        self._device._check_open(action)
        thread = get_ident()
        queue, needs = self._default_queue, self._needs
        queue.calls.append(thread)
        needs.calls.append(thread)
        try:
            if needs.is_retired:
                raise self._closed_error(action)
            self._refuse_to_wait_for_itself(action, queue)
            yield queue
        finally:
            needs.calls.remove(thread)
            queue.calls.remove(thread)
            self._was_closed_meanwhile(queue)

    def _refuse_to_wait_for_itself(self, action: str, queue: QueueKind) -> None:
        """Refuse a call that a finalizer or signal handler makes in the middle of one which has to end first."""
        thread = get_ident()
        held = ((queue.lock, queue.calls), (self._rebinding, self._needs.calls))
        if any(lock.locked() and calls.count(thread) > 1 for lock, calls in held):
            raise FailedPreconditionError(
                f"{action}: this thread is in the middle of a replay",
                where=self.describe(),
                found="a call by a finalizer or signal handler, which interrupts the one that it would wait for",
                next_step="let the finalizer or handler note what is to be done, and do it after the replay",
            )

    def _was_closed_meanwhile(self, queue: QueueKind) -> None:
        """Release what was closed during a call, so far as nothing else uses it."""
        if self._needs.is_retired:
            self._device.backlog.sweep()
        if queue.is_released:
            queue.release_if_unused()

    def _time_commands(self, bindings: Bindings | None) -> list[Span]:
        if self._once is not None:
            self._once.refuse_several("profile")
        with self._in_call("profile") as queue:
            return self._time_on(queue, bindings)

    def update(self, recording: Recording) -> None:
        with self._in_call("update"), self._rebinding:
            if not isinstance(recording, Recording):
                raise InvalidArgumentError(
                    "update: not a recording", found=type(recording).__name__, allowed="a Recording"
                )
            check_same_structure(self._recording, recording)
            self._take_over(recording)
        self._device.backlog.sweep()

    def _update_command(self, index: int, changes: Mapping[str, Any]) -> None:
        with self._in_call("update"), self._rebinding:
            device = self._device
            objects = self._resources.objects
            self._take_over(rewritten(self._recording, index, changes, objects, device, device.limits))
        self._device.backlog.sweep()

    def _take_over(self, recording: Recording) -> None:
        """Run another recording of the same structure from now on."""
        device = self._device
        check_supported(recording, self._commands, device.backend)
        resources: BoundResources[Any] = BoundResources(device, recording, None, self._kinds[:2])
        events = EventRecord(device, recording, resources, self._kinds[2])
        table = still_fitting(recording, self._table_so_far(), resources.objects, device.limits)
        previous = self._recording, self._resources, self._events
        self._use(recording, resources, events)
        try:
            self._replace(table, handles_of(table))
        except BaseException:
            self._use(*previous)
            raise
        self._needs.hold(resources.handles)
        previous[1].retire(self._needs, previous[0])

    def _use(self, recording: Recording, resources: BoundResources[Any], events: EventRecord[EventKind]) -> None:
        self._recording, self._resources, self._events = recording, resources, events
        self._has_events, self._has_slots = bool(events.events), bool(recording.slots)
        self._host_calls = resources.host_calls

    def _is_bound(self, table: Table) -> bool:
        """Whether a table has everything that the commands use."""
        return len(table) == sum(bool(use.commands) for use in self._recording.slots)

    def _is_enabled(self, index: int) -> bool:
        return index not in self._disabled

    def _set_enabled(self, index: int, value: bool) -> None:
        if not isinstance(value, bool):
            raise InvalidArgumentError("enabled: not a truth value", found=repr(value)[:60], allowed="True or False")
        with self._in_call("enabled"), self._rebinding:
            if value is (index not in self._disabled):
                return
            check_switchable(self._recording, index)
            disabled = self._disabled - {index} if value else self._disabled | {index}
            self._switch(disabled)
            self._disabled = disabled
        self._device.backlog.sweep()

    def _watched(self) -> Watched:
        """The program as a checked replay takes it."""
        table = self._table_so_far()
        return Watched(self, self._resources, self._options, table, self._changes_nodes, self._disabled)

    def _resolve(self, bindings: Bindings | None) -> tuple[Table, list[Handle]]:
        """What a binding table puts into the slots, checked, and what keeps its memory alive."""
        objects, before = self._resources.objects, self._table_so_far()
        table = resolve(self._recording, bindings, objects=objects, owner=self._device, before=before)
        if self._device.has_neighbours:
            for bound in memory_in(table).values():
                bound.buffer.device.lend(self._device)
        return table, handles_of(table)

    def _check_imported(self) -> None:
        """Look for memory that somebody else owns."""
        for buffer in self._resources.imported:
            buffer.check_there()

    def _live(self) -> None:
        """The program is whole: what it needs goes when it is closed or collected, and its launches are done."""
        self._retire = weakref.finalize(self, self._device.backlog.retire_needs, self._needs)
        self._retire.atexit = False

    def _release(self) -> None:
        self._retire()

    @property
    def _changes_nodes(self) -> bool:
        """Whether a rebind changes what the runtime was given before."""
        return False

    @abstractmethod
    def _replace(self, table: Table, handles: list[Handle]) -> None:
        """Make ready the recording and resources that are in use now.

        Args:
            table: what stays in the slots, not all of them perhaps; `handles` keep its memory alive.
        """

    @abstractmethod
    def _switch(self, disabled: frozenset[int]) -> None:
        """Let replays from now on leave out these commands and no others."""

    @abstractmethod
    def _table_so_far(self) -> Table:
        """What stands in the slots; empty before the first replay."""

    @abstractmethod
    def _enqueue(self, queue: QueueKind, bindings: Bindings | None, mode: str) -> None:
        """Enqueue all commands once; see `replay`."""

    @abstractmethod
    def _time_on(self, queue: QueueKind, bindings: Bindings | None) -> list[Span]:
        """As `_time_commands`."""
