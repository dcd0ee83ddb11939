"""Why a drawn edge is there, and which pairs of nodes miss one."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from hipgraph_cb.recording.commands import type_of
from hipgraph_cb.recording.events import nested_in
from hipgraph_cb.recording.hazards import findings
from hipgraph_cb.recording.missing_barriers import MissingBarrier

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording


class EdgeKind(Enum):
    """Why a command waits.

    BARRIER: a barrier, or the start or end of a nested recording. EVENT: it is, or it waits for, a signal, a wait or a
    reset. INFERRED: both touch the same bytes; in a recording with events these are not distinguished from barriers.
    """

    BARRIER = "barrier"
    INFERRED = "inferred"
    EVENT = "event"


class DrawnHazard(NamedTuple):
    """Two nodes that certainly miss a barrier, and why."""

    first: str
    second: str
    text: str


def command_of(recording: Recording, name: str) -> tuple[Recording, int | None]:
    """The recording that a node called `name` belongs to, and its command there; None for joins and ends."""
    *outer, last = name.split("_")
    for part in outer:
        nested = nested_in(recording, recording[int(part[1:])])
        recording = recording if nested is None else nested
    return recording, int(last[1:]) if last[0] == "c" else None


def edge_kind(recording: Recording, source: str, target: str) -> EdgeKind:
    """Why `target` waits for `source`, two names that `all_nodes` gives."""
    if recording.dependencies is None and not recording.resources.recordings:
        return EdgeKind.BARRIER
    first_owner, first = command_of(recording, source)
    owner, second = command_of(recording, target)
    if first is None or second is None or first_owner is not owner or owner.dependencies is None:
        return EdgeKind.BARRIER
    if type_of(owner[first]).is_order or type_of(owner[second]).is_order:
        return EdgeKind.EVENT
    return EdgeKind.BARRIER if owner.resources.events else EdgeKind.INFERRED


def drawn_hazards(recording: Recording) -> Iterator[DrawnHazard]:
    """The certain ones of those that `Recording.hazards` finds.

    Where kernels do not state their accesses, any two that share a buffer are a possible hazard: drawn, they would hide
    the graph.
    """
    for finding in findings(recording, certain_only=True):
        if isinstance(finding, MissingBarrier):
            yield DrawnHazard(f"c{finding.first}", f"c{finding.second}", finding.text)
