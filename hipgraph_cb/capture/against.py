"""Two replays of one recording side by side, to find the first command after which they differ.

Both run layer by layer and all memory is compared after each. Where a layer of several commands differs, it is run
again from the state before it, command by command: the memory of both was equal then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from hipgraph_cb.capture.aspects import summary
from hipgraph_cb.capture.expected import BYTES, Difference, Expected
from hipgraph_cb.capture.memory import Key, name
from hipgraph_cb.capture.session import Session
from hipgraph_cb.errors import HipGraphError
from hipgraph_cb.recording.commands import Dispatch, DispatchIndirect, Location, Range
from hipgraph_cb.recording.recording import Recording
from hipgraph_cb.recording.resources import Slot
from hipgraph_cb.recording.value_types import numpy_type

Progress = Callable[[int, int], None]
"""Is told how many commands are done, and of how many."""


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

    Raises:
        HipGraphError: a command failed on one of them; the message says which commands ran.
    """
    before = first.stored_contents()
    for session in (first, second):
        session.restore()
    recording = second.recording
    bounds = (*recording.layer_starts, len(recording))
    for start, stop in pairwise(bounds):
        found, before = _run(first, second, range(start, stop), before)
        if found is not None:
            return found
        if progress is not None:
            progress(stop, len(recording))
    return None


def _run(
    first: Session, second: Session, layer: range, before: Mapping[Key, bytes]
) -> tuple[Divergence | None, dict[Key, bytes]]:
    """Run one layer on both; the divergence, or the memory after it."""
    after = _run_part(first, second, layer)
    if after[0] == after[1]:
        return None, after[0]
    if len(layer) > 1:
        for session in (first, second):
            session.fill(before)
        for index in layer:
            single = _run_part(first, second, range(index, index + 1))
            if single[0] != single[1]:
                return _divergence(second.recording, index, *single), {}
    return _divergence(second.recording, layer[-1], *after), {}


def _run_part(first: Session, second: Session, part: range) -> tuple[dict[Key, bytes], dict[Key, bytes]]:
    contents = []
    for session, which in ((first, "first"), (second, "second")):
        try:
            session.replay_part(part)
            contents.append(session.contents())
        except HipGraphError as error:
            commands = session.recording.where(part[0])
            more = f" to command {part[-1]}" if len(part) > 1 else ""
            raise error.located(f"{commands}{more}, in the {which} replay") from None
    return contents[0], contents[1]


def _divergence(
    recording: Recording, index: int, found: Mapping[Key, bytes], wanted: Mapping[Key, bytes]
) -> Divergence | None:
    for key, data in wanted.items():
        dtype = _dtype(recording, index, key)
        difference = Expected(data, dtype if len(data) % 8 == 0 else BYTES).difference(found[key])
        if difference is not None:
            what = summary(recording, recording[index])
            return Divergence(index, recording.where(index), what, name(recording, key), difference)
    return None


def _dtype(recording: Recording, index: int, key: Key) -> str:
    """What a command takes a buffer for: the type of the parameter that it is given to, else bytes."""
    command = recording[index]
    if not isinstance(command, (Dispatch, DispatchIndirect)):
        return BYTES
    layout = recording.resources.executables[command.executable].verified.export(command.export).layout
    types = {parameter.offset: parameter.type_name for parameter in layout.parameters}
    for offset, place in command.pointers:
        if _is_in(place, key):
            return numpy_type(types[offset]) or BYTES
    return BYTES


def _is_in(place: Location, key: Key) -> bool:
    if isinstance(key, Slot):
        return not isinstance(place, Range) and place.slot == key.index
    return isinstance(place, Range) and place.resource == key
