"""The times of a program as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraph_cb.export.describe import title
from hipgraph_cb.recording.formats import TextFormat
from hipgraph_cb.visible import visible

if TYPE_CHECKING:
    from hipgraph_cb.recording.profile import Profile, Span


def to_text(profile: Profile) -> str:
    """One line for the whole, each layer and each command: node name, microseconds, share of the whole, what it is."""
    recording, whole = profile.recording, profile.duration
    lines = [f"{'all':<10}{_cells(profile.duration, whole)}  {len(recording)} commands, {profile.repeats} replays"]
    for number, (layer, span) in enumerate(zip(recording.layers, profile.layers, strict=True)):
        lines.append(f"{f'layer {number}':<10}{_cells(span.duration, whole)}")
        for index in layer:
            command, taken = recording[index], profile.commands[index]
            label = "" if command.label is None else f"  {visible(command.label)}"
            lines.append(f"  {f'c{index}':<8}{_cells(taken.duration, whole)}  {visible(title(command))}{label}")
    return "\n".join(lines) + "\n"


def microseconds(span: Span) -> float:
    """The duration, rounded to nanoseconds."""
    return round(span.duration * 1e6, 3)


def _cells(seconds: float, whole: float) -> str:
    share = seconds / whole if whole else 0.0
    return f"{seconds * 1e6:12.1f} us {share:6.1%}"


FORMAT = TextFormat("timetable", "a table of measured times", to_text, of_profile=True)
