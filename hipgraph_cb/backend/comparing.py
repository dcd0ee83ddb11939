"""Replays that are compared with the same commands launched call by call, from the same bytes.

A difference comes from the graph: the runtime answered success to new arguments of a node and kept the old ones, it
lost an edge, or the recording lacks a barrier. A stream keeps the order of the calls and has no nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from hipgraph_cb.backend.supported import contains
from hipgraph_cb.backend.write_sets import Watched, WriteSet
from hipgraph_cb.errors import CheckFailedError, UnimplementedError
from hipgraph_cb.recording.binding_table import Bindings, BoundRange, Table, bindings_of, memory_in
from hipgraph_cb.recording.bindings import resolve
from hipgraph_cb.recording.commands import Collectives, HostCall

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hipgraph_cb.recording.commands import Location
    from hipgraph_cb.recording.recording import Recording
    from hipgraph_cb.runtime.event import Event

Run = Callable[[], None]


def compare(watched: Watched, stream: Any, bindings: Bindings | None) -> None:
    """Replay, put the bytes back, launch call by call, and compare the results; see `Program.replay`.

    Raises:
        CheckFailedError: they differ. The memory is as the calls left it.
        UnimplementedError: the recording calls functions of the host.
    """
    program, recording = watched.program, watched.program.recording
    _refuse_host_calls(watched)
    previous = watched.table
    table: Table = previous
    if bindings is not None or not previous:
        table = resolve(recording, bindings, objects=watched.objects, owner=program.device, before=previous)
    writes = WriteSet(recording, watched.objects, table)
    memory = _Stretches(_ranges(recording, writes, [*memory_in(table).values(), *_open(previous)]))
    trial = _Trial(watched, memory)
    graph = trial.bytes_after(lambda: program.replay(stream, bindings))
    calls = trial.bytes_after(lambda: program.replay(stream, mode="stream"))
    finding = _first_difference(recording, writes, _Difference(memory, graph, calls))
    if finding is None:
        return
    is_right = _new_program_is_right(watched, trial, stream, table, calls)
    memory.write(calls)
    raise _error(watched, finding, is_right)


def _refuse_host_calls(watched: Watched) -> None:
    if contains(watched.program.recording, Collectives):
        raise UnimplementedError(
            "replay: a check compares runs of the same commands, and other ranks would have to take part in each",
            where=watched.program.describe(),
            found="check='stream' and a collective",
            next_step="check a recording of the commands round it",
        )
    if contains(watched.program.recording, HostCall):
        raise UnimplementedError(
            "replay: a check compares runs of the same commands, and a function of the host would be called in each",
            where=watched.program.describe(),
            found="check='stream' and a host call",
            next_step="check a recording of the commands round it",
        )


def _ranges(recording: Recording, writes: WriteSet, bound: Iterable[BoundRange]) -> Iterator[BoundRange]:
    """All memory that a replay may write, the previous slots included: a node that kept its arguments writes there."""
    yield from bound
    for index in range(len(recording)):
        yield from map(writes.at, writes.places(index))


def _open(table: Table) -> Iterator[BoundRange]:
    return (bound for bound in memory_in(table).values() if not bound.buffer.closed)


class _Stretches:
    """The stretch of each buffer from the first byte to the last that is written."""

    def __init__(self, ranges: Iterable[BoundRange]) -> None:
        self.by_buffer: dict[Any, tuple[int, int]] = {}
        for buffer, offset, length in ranges:
            start, end = self.by_buffer.get(buffer, (offset, offset))
            self.by_buffer[buffer] = min(start, offset), max(end, offset + length)

    def read(self) -> dict[Any, NDArray[Any]]:
        return {buffer: buffer.view(start, end - start).to_host() for buffer, (start, end) in self.by_buffer.items()}

    def write(self, contents: Mapping[Any, NDArray[Any]]) -> None:
        for buffer, (start, end) in self.by_buffer.items():
            buffer.view(start, end - start).write(contents[buffer])


class _Trial:
    """Runs of programs of one recording, all from the same bytes and the same states of events."""

    def __init__(self, watched: Watched, memory: _Stretches) -> None:
        self._device = watched.program.device
        self._memory = memory
        self._before = memory.read()
        events = (cast("Event", watched.objects[id]) for id in watched.program.recording.resources.events)
        self._events = {event: event.is_signalled for event in events}

    def bytes_after(self, run: Run) -> dict[Any, NDArray[Any]]:
        self._memory.write(self._before)
        for event, is_signalled in self._events.items():
            event.is_signalled = is_signalled
        run()
        self._device.synchronize()
        return self._memory.read()


class _Difference:
    """The bytes that differ between two runs and that no command has been found for yet."""

    def __init__(
        self, memory: _Stretches, graph: Mapping[Any, NDArray[Any]], calls: Mapping[Any, NDArray[Any]]
    ) -> None:
        self._stretches = memory.by_buffer
        self._graph = graph
        self._calls = calls
        self._masks = {buffer: graph[buffer] != calls[buffer] for buffer in graph}

    def __bool__(self) -> bool:
        return any(mask.any() for mask in self._masks.values())

    def take(self, bound: BoundRange) -> str | None:
        """The difference in a range, as text; the range counts as equal from then on."""
        first = bound.offset - self._stretches[bound.buffer][0]
        stretch = slice(first, first + bound.length)
        mask = self._masks[bound.buffer][stretch]
        wrong = mask.nonzero()[0]
        mask[:] = False
        if not wrong.size:
            return None
        values = (int(run[bound.buffer][stretch][wrong[0]]) for run in (self._graph, self._calls))
        graph, calls = (f"{value:#04x}" for value in values)
        return f"{wrong.size} of {bound.length} bytes differ, first byte {wrong[0]}: {graph}, call by call {calls}"


class _Finding(NamedTuple):
    """The first command whose memory differs; None where the only difference is in memory that no command writes."""

    command: int | None
    text: str


def _first_difference(recording: Recording, writes: WriteSet, difference: _Difference) -> _Finding | None:
    """Every byte belongs to the last command that writes it."""
    if not difference:
        return None
    first = _Finding(None, "memory that was bound to the slots before has changed")
    for index in reversed(range(len(recording))):
        places: list[Location] = list(writes.places(index))
        texts = [(place, difference.take(writes.at(place))) for place in places]
        for place, text in texts:
            if text is not None:
                first = _Finding(index, f"{text}, in {recording.describe_place(place)}")
                break
    return first


def _new_program_is_right(
    watched: Watched, trial: _Trial, stream: Any, table: Table, calls: Mapping[Any, NDArray[Any]]
) -> bool:
    """Whether a program that was never rebound leaves the bytes that the calls left."""
    bindings = bindings_of(table, watched.program.recording)
    with watched.program_of(watched.program.recording) as fresh:
        result = trial.bytes_after(lambda: fresh.replay(stream, bindings or None))
    return all((result[buffer] == calls[buffer]).all() for buffer in result)


def _error(watched: Watched, finding: _Finding, is_right: bool) -> CheckFailedError:
    recording = watched.program.recording
    if is_right and watched.changes_nodes:
        cause = (
            "a new program is right: the runtime answered success to new arguments and kept the old ones; "
            "use update='reinstantiate'"
        )
    else:
        cause = f"a new program is {'right' if is_right else 'wrong too'}: look for a barrier that is missing, "
        cause += "recording.hazards() lists them"
    command = finding.command
    return CheckFailedError(
        "the graph did not do what the same commands do call by call",
        where=watched.program.describe() if command is None else recording.where(command),
        found=finding.text + _bound_before(recording, command),
        next_step=cause,
    )


def _bound_before(recording: Recording, command: int | None) -> str:
    """The commands with slots before `command`, which may depend on them, if it has no slots itself."""
    bound = sorted({index for use in recording.slots for index in use.commands})
    if command is None or command in bound:
        return ""
    before = [recording.where(index) for index in bound if index < command]
    return f"; slots are used before it by {', '.join(before[-3:])}" if before else ""
