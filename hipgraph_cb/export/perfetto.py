"""The times of a program as a trace in the Chrome JSON format, which ui.perfetto.dev and chrome://tracing open.

One track for the layers, and as many for commands as ran at the same time. Every slice carries the node name of the
other exports (`c3` is command 3). Times are microseconds. Format: "Trace Event Format", complete events (`"ph": "X"`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hipgraph_cb.export.describe import describe, title
from hipgraph_cb.recording.formats import TextFormat
from hipgraph_cb.visible import visible

if TYPE_CHECKING:
    from hipgraph_cb.recording.profile import Profile, Span

PROCESS = 1
LAYERS_TRACK = 1
FIRST_COMMAND_TRACK = 2


def to_perfetto(profile: Profile) -> str:
    """The trace as one JSON object, in plain ASCII."""
    recording = profile.recording
    tracks = _tracks(profile.commands)
    name = "recording" if recording.label is None else visible(recording.label)
    events = [_named("process_name", LAYERS_TRACK, name), _named("thread_name", LAYERS_TRACK, "layers")]
    events += [_named("thread_name", track, f"commands {track - FIRST_COMMAND_TRACK}") for track in sorted(set(tracks))]
    for number, span in enumerate(profile.layers):
        events.append(_slice(f"layer {number}", "layer", LAYERS_TRACK, span, {}))
    for index, (span, track) in enumerate(zip(profile.commands, tracks, strict=True)):
        head, *details = (visible(line) for line in describe(recording, index))
        arguments = {"node": f"c{index}", "command": head, "details": details}
        events.append(_slice(visible(title(recording[index])), "command", track, span, arguments))
    trace = {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"repeats": profile.repeats}}
    return json.dumps(trace, ensure_ascii=True) + "\n"


def _tracks(spans: tuple[Span, ...]) -> list[int]:
    """For each span the first track that is free when it begins: slices of one track must not overlap."""
    ends: list[float] = []
    tracks = [0] * len(spans)
    for index in sorted(range(len(spans)), key=lambda index: spans[index].start):
        span = spans[index]
        free = next((track for track, end in enumerate(ends) if end <= span.start), len(ends))
        ends[free : free + 1] = [span.end]
        tracks[index] = FIRST_COMMAND_TRACK + free
    return tracks


def _slice(name: str, category: str, track: int, span: Span, arguments: dict[str, Any]) -> dict[str, Any]:
    start, duration = round(span.start * 1e6, 3), round(span.duration * 1e6, 3)
    place = {"pid": PROCESS, "tid": track, "ts": start, "dur": duration}
    return {"name": name, "cat": category, "ph": "X", **place, "args": arguments}


def _named(what: str, track: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": PROCESS, "tid": track, "args": {"name": name}}


FORMAT = TextFormat("perfetto", "the trace of a replay for ui.perfetto.dev", to_perfetto, of_profile=True)
