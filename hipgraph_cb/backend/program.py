"""What the programs of both backends share: a replay uses the program and a queue, which nobody takes from it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from hipgraph_cb.backend.modes import GRAPH
from hipgraph_cb.backend.queue import LaunchQueue
from hipgraph_cb.backend.watching import replay_checked
from hipgraph_cb.runtime.program import Program

if TYPE_CHECKING:
    from hipgraph_cb.backend.device import BackendDevice
    from hipgraph_cb.backend.lifetime import Needs
    from hipgraph_cb.backend.write_sets import Watched
    from hipgraph_cb.recording.outputs import Check
    from hipgraph_cb.recording.profile import Span

QueueKind = TypeVar("QueueKind", bound=LaunchQueue)


class BackendProgram(Program, Generic[QueueKind]):
    """A program that keeps what it needs until the last call and the last launch that use it are over (R5)."""

    _device: BackendDevice
    _default_queue: QueueKind
    _needs: Needs

    def replay(
        self,
        stream: Any = None,
        bindings: Sequence[Any] | None = None,
        mode: str = GRAPH,
        check: Check | None = None,
    ) -> None:
        needs = self._needs
        if self._device.absence is not None:
            self._device.absence.skip("replay")
            return
        if needs.is_let_go:
            raise self.closed_error("replay")
        if check is not None:
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
            if needs.is_let_go:
                raise self.closed_error("replay")
            self._enqueue(queue, bindings, mode)
        finally:
            needs.calls.remove(thread)
            queue.calls.remove(thread)
            if needs.is_let_go or queue.is_given_back:
                self._was_closed_meanwhile(queue)

    @contextmanager
    def _in_call(self, action: str) -> Iterator[QueueKind]:
        """A call other than a replay, on the device's own queue."""
        self._device.check_open(action)
        thread = get_ident()
        queue, needs = self._default_queue, self._needs
        queue.calls.append(thread)
        needs.calls.append(thread)
        try:
            if needs.is_let_go:
                raise self.closed_error(action)
            yield queue
        finally:
            needs.calls.remove(thread)
            queue.calls.remove(thread)
            self._was_closed_meanwhile(queue)

    def _was_closed_meanwhile(self, queue: QueueKind) -> None:
        """Let go what was closed during a call, so far as nothing else uses it."""
        if self._needs.is_let_go:
            self._device.backlog.sweep()
        if queue.is_given_back:
            queue.release_if_unused()

    def _time_commands(self, bindings: Sequence[Any] | None) -> list[Span]:
        with self._in_call("profile") as queue:
            return self._time_on(queue, bindings)

    @abstractmethod
    def _enqueue(self, queue: QueueKind, bindings: Sequence[Any] | None, mode: str) -> None:
        """Enqueue all commands once; see `replay`."""

    @abstractmethod
    def _time_on(self, queue: QueueKind, bindings: Sequence[Any] | None) -> list[Span]:
        """As `_time_commands`."""

    @abstractmethod
    def _watched(self) -> Watched:
        """The program as a checked replay takes it."""
