"""What a capture file holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hipgraph_cb.capture.expected import Expected
from hipgraph_cb.capture.memory import Key
from hipgraph_cb.recording.recording import Recording
from hipgraph_cb.version import __version__

PRODUCER = f"hipgraph_cb {__version__}"


@dataclass(frozen=True)
class Capture:
    """What a capture file holds.

    Attributes:
        recording: without live objects.
        contents: what buffers and bindings hold before the first replay, by resource id or slot.
        expected: what they should hold after it.
        producer: the program that wrote the file.
    """

    recording: Recording
    contents: Mapping[Key, bytes] = field(default_factory=dict)
    expected: Mapping[Key, Expected] = field(default_factory=dict)
    producer: str = PRODUCER
