"""The verbs of a command buffer for events and nested recordings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hipgraph_cb.errors import HipGraphError
from hipgraph_cb.recording.events import make_reset, make_signal, make_wait
from hipgraph_cb.recording.nesting import make_execute
from hipgraph_cb.recording.stages import Stage, check_mask

if TYPE_CHECKING:
    from hipgraph_cb.recording.commands import Command
    from hipgraph_cb.recording.recording import Recording
    from hipgraph_cb.recording.resources import EventLike, RangeLike, Slot


class EventVerbs(ABC):
    """What a command buffer offers for order beyond barriers, and for running other recordings."""

    @property
    @abstractmethod
    def recording(self) -> Recording: ...

    @abstractmethod
    def _require_recording(self, verb: str) -> None: ...

    @abstractmethod
    def _record_event(
        self, verb: str, label: str | None, make: Callable[..., Command | None], *arguments: object
    ) -> None: ...

    @abstractmethod
    def _next_place(self, label: str | None) -> str: ...

    def _check_stages(self, verb: str, label: str | None, source: object, target: object = None) -> None:
        """Refuse what is no mask of stages."""
        self._require_recording(verb)
        try:
            check_mask(source, Stage, "source_stages")
            check_mask(target, Stage, "target_stages")
        except HipGraphError as error:
            raise error.located(self._next_place(label)) from None

    def signal_event(self, event: EventLike, *, source_stages: Stage | None = None, label: str | None = None) -> None:
        """Signal an event once everything recorded before is done.

        Commands recorded after it do not wait for it: `wait_events` does, here or in a recording replayed later.

        Args:
            source_stages: what would be enough to wait for. It is checked; all stages are waited for whatever it says.

        Raises:
            InvalidArgumentError: not an event, or a mask of another kind.
            OutOfRangeError: bits that mean nothing.
        """
        self._check_stages("signal_event", label, source_stages)
        self._record_event("signal_event", label, make_signal, event)

    def reset_event(self, event: EventLike, *, source_stages: Stage | None = None, label: str | None = None) -> None:
        """Let an event count as not signalled for what is recorded or replayed after this.

        Args:
            source_stages: as for `signal_event`.

        Raises:
            InvalidArgumentError: not an event, or a mask of another kind.
            OutOfRangeError: bits that mean nothing.
        """
        self._check_stages("reset_event", label, source_stages)
        self._record_event("reset_event", label, make_reset, event)

    def wait_events(
        self,
        events: Sequence[EventLike],
        *,
        source_stages: Stage | None = None,
        target_stages: Stage | None = None,
        label: str | None = None,
    ) -> None:
        """Everything recorded after waits until the events are signalled. No events record nothing.

        An event that is signalled before in this recording: the wait depends on that signal. Any other one: on the
        signal of a recording that was replayed before; a replay without such a signal is refused.

        Args:
            source_stages, target_stages: what would be enough, on either side. They are checked; all stages wait for
                all stages whatever they say.

        Raises:
            InvalidArgumentError: not a list or tuple of events, or a mask of another kind.
            OutOfRangeError: bits that mean nothing.
            FailedPreconditionError: this recording has reset the event and not signalled it since.
        """
        self._check_stages("wait_events", label, source_stages, target_stages)
        self._record_event("wait_events", label, make_wait, events)

    def execute_commands(
        self,
        recording: Recording | EventVerbs,
        bindings: Sequence[RangeLike | Slot | None] | None = None,
        *,
        label: str | None = None,
    ) -> None:
        """Run all commands of another recording, as one command of this one. An empty one records nothing.

        Its barriers and events order its own commands. What stands before it is done before any of them starts, where a
        barrier says so, and what waits for it waits for all of them.

        Args:
            recording: what a command buffer of the same device has recorded, or that command buffer.
            bindings: what stands in for the slots of the nested recording: buffers, views, or slots of this one.

        Raises:
            InvalidArgumentError: no recording, no bindings for its slots, or bindings that its commands cannot use.
            OutOfRangeError: too few bindings, or too small ones.
            FailedPreconditionError: a command buffer that has not ended; an event that it waits for was reset here.
        """
        self._require_recording("execute_commands")
        nested = recording.recording if isinstance(recording, EventVerbs) else recording
        self._record_event("execute_commands", label, make_execute, nested, bindings)
