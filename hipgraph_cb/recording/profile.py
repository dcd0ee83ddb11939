"""How long the commands of a recording took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from hipgraph_cb.recording import formats

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording


class Span(NamedTuple):
    """From when to when, in seconds since the first command of the replay began."""

    start: float
    end: float

    @property
    def duration(self) -> float:
        """Seconds."""
        return self.end - self.start


@dataclass(frozen=True)
class Profile:
    """The times of one program, medians over its replays.

    Attributes:
        recording: what was replayed.
        repeats: how many replays were measured.
        commands: for each command its span.
    """

    recording: Recording
    repeats: int
    commands: tuple[Span, ...]

    @staticmethod
    def of_runs(recording: Recording, runs: Sequence[Sequence[Span]]) -> Profile:
        """Take the medians of starts and ends, command by command."""
        spans = []
        for command in range(len(recording)):
            start = median(run[command].start for run in runs)
            spans.append(Span(start, start + median(run[command].duration for run in runs)))
        return Profile(recording, len(runs), tuple(spans))

    @property
    def layers(self) -> tuple[Span, ...]:
        """For each layer the span from its first start to its last end."""
        return tuple(
            Span(
                min(self.commands[index].start for index in layer),
                max(self.commands[index].end for index in layer),
            )
            for layer in self.recording.layers
        )

    @property
    def duration(self) -> float:
        """Seconds from the first start to the last end."""
        return max((span.end for span in self.commands), default=0.0)

    def to_text(self) -> str:
        """A table: every layer and its commands, with node names, microseconds and the share of the whole."""
        return formats.write("timetable", self)

    def to_perfetto(self) -> str:
        """A trace for ui.perfetto.dev or chrome://tracing. See `hipgraph_cb.export.perfetto`."""
        return formats.write("perfetto", self)

    def to_html(self) -> str:
        """The recording's page with the time at every node. See `hipgraph_cb.export.html`."""
        return formats.write("html", self.recording, profile=self)
