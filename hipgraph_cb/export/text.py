"""A recording as plain text: its commands, layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraph_cb.export.describe import describe
from hipgraph_cb.export.edges import drawn_hazards
from hipgraph_cb.recording.formats import TextFormat
from hipgraph_cb.visible import visible

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording


def to_text(recording: Recording) -> str:
    """One paragraph for each layer: every command with its label, places and arguments; then missing barriers."""
    lines = [repr(recording).strip("<>")]
    for number, layer in enumerate(recording.layers):
        lines.append(f"layer {number}")
        for index in layer:
            head, *details = (visible(line) for line in describe(recording, index))
            lines += [f"  {head}", *(f"      {detail}" for detail in details)]
    lines += [f"hazard: {visible(hazard.text)}" for hazard in drawn_hazards(recording)]
    return "\n".join(lines) + "\n"


FORMAT = TextFormat("text", "plain text, layer by layer", to_text)
