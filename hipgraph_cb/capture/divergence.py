"""Two replays of one recording side by side, to find the first command after which they differ.

Both run layer by layer and all memory is compared after each. Where a layer of several commands differs, it is run
again from the state before it, command by command: the memory of both was equal then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from hipgraph_cb.abi.c_types import numpy_type
from hipgraph_cb.capture.command_fields import summary
from hipgraph_cb.capture.expected import BYTES, Difference, Expected
from hipgraph_cb.capture.memory import Key, name
from hipgraph_cb.capture.session import Session
from hipgraph_cb.errors import HipGraphError
from hipgraph_cb.recording.commands import Dispatch, DispatchIndirect, ExecuteCommands, Location, Range
from hipgraph_cb.recording.inlining import inlined
from hipgraph_cb.recording.recording import Recording
from hipgraph_cb.recording.resources import Slot

Contents = Mapping[Key, bytes]
Progress = Callable[[int, int], None]
"""Gets how many commands are done, and of how many."""


@dataclass(frozen=True)
class Divergence:
    """The first command after which two replays differ.

    Attributes:
        command: its index.
        where: how messages call it.
        what: what it does, in one line.
        buffer: what differs.
        difference: where in the buffer and how; `found` is the first replay's, `expected` the second's.
    """

    command: int
    where: str
    what: str
    buffer: str
    difference: Difference


def first_divergence(first: Session, second: Session, progress: Progress | None = None) -> Divergence | None:
    """Replay both from their stored contents; None where all memory stays equal to the last byte.

    A difference within a nested recording is followed to the command inside.

    Raises:
        HipGraphError: a command failed on one of them; the message says which commands ran.
    """
    for session in (first, second):
        session.restore()
    found, _ = _Search((first, second), (first.recording, second.recording)).run(second.stored_contents(), progress)
    return found


class _Search:
    """The search in one recording, or in one that a command of another runs.

    Args:
        sessions: the two replays.
        recordings: the same commands for each.
        outside: how messages call the command that runs them, if one does.
    """

    def __init__(
        self, sessions: tuple[Session, Session], recordings: tuple[Recording, Recording], outside: str = ""
    ) -> None:
        self._sessions = sessions
        self._recordings = recordings
        self._outside = outside

    def run(self, before: Contents, progress: Progress | None = None) -> tuple[Divergence | None, Contents]:
        """The divergence, or None and the memory at the end; `before` is what both hold now."""
        recording = self._recordings[1]
        for start, stop in pairwise((*recording.layer_starts, len(recording))):
            found, before = self._layer(range(start, stop), before)
            if found is not None:
                return found, before
            if progress is not None:
                progress(stop, len(recording))
        return None, before

    def _layer(self, layer: range, before: Contents) -> tuple[Divergence | None, Contents]:
        after = self._replay(layer)
        if after[0] == after[1]:
            return None, after[0]
        if len(layer) == 1:
            return self._within(layer[0], before, after), before
        self._fill(before)
        for index in layer:
            single = self._replay(range(index, index + 1))
            if single[0] != single[1]:
                return self._within(index, before, single), before
            before = single[0]
        return self._divergence(layer[-1], after), before  # it takes them all together to differ

    def _within(self, index: int, before: Contents, after: tuple[Contents, Contents]) -> Divergence | None:
        """The divergence of one command; for one that runs a nested recording, that of a command of those."""
        commands = [recording[index] for recording in self._recordings]
        inner = [
            inlined(recording, command)
            for recording, command in zip(self._recordings, commands, strict=True)
            if isinstance(command, ExecuteCommands)
        ]
        if len(inner) == 2:
            self._fill(before)
            search = _Search(self._sessions, (inner[0], inner[1]), f"{self._where(index)}, ")
            found, _ = search.run(before)
            if found is not None:
                return found
        return self._divergence(index, after)

    def _fill(self, contents: Contents) -> None:
        for session in self._sessions:
            session.fill(contents)

    def _replay(self, part: range) -> tuple[Contents, Contents]:
        contents = []
        for session, recording, which in zip(self._sessions, self._recordings, ("first", "second"), strict=True):
            try:
                session.replay_commands(recording.part(part))
                contents.append(session.contents())
            except HipGraphError as error:
                more = f" to command {part[-1]}" if len(part) > 1 else ""
                raise error.located(f"{self._where(part[0])}{more}, in the {which} replay") from None
        return contents[0], contents[1]

    def _where(self, index: int) -> str:
        return self._outside + self._recordings[1].where(index)

    def _divergence(self, index: int, contents: tuple[Contents, Contents]) -> Divergence | None:
        recording = self._recordings[1]
        found, wanted = contents
        for key, data in wanted.items():
            dtype = _dtype(recording, index, key)
            difference = Expected(data, dtype if len(data) % 8 == 0 else BYTES).difference(found[key])
            if difference is not None:
                what = summary(recording, recording[index])
                return Divergence(index, self._where(index), what, name(recording, key), difference)
        return None


def _dtype(recording: Recording, index: int, key: Key) -> str:
    """What a command takes a buffer for: the type of the parameter that it is given to, else bytes."""
    command = recording[index]
    if not isinstance(command, (Dispatch, DispatchIndirect)):
        return BYTES
    layout = recording.resources.executables[command.executable].verified.export(command.export).layout
    types = {parameter.offset: parameter.pointee for parameter in layout.parameters}
    for offset, place in command.pointers:
        if _is_in(place, key):
            return numpy_type(types[offset]) or BYTES
    return BYTES


def _is_in(place: Location, key: Key) -> bool:
    if isinstance(key, Slot):
        return not isinstance(place, Range) and place.slot == key.index
    return isinstance(place, Range) and place.resource == key
