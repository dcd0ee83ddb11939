"""How bytes are shown."""

from __future__ import annotations

SHOWN_BYTES = 16
"""Data is shown up to this many bytes: enough for a vector argument, short enough for a node."""


def data(value: bytes) -> str:
    """Bytes in the order in which they lie in memory."""
    shown = value[:SHOWN_BYTES].hex(" ")
    return shown if len(value) <= SHOWN_BYTES else f"{shown} ... ({len(value)} bytes)"
