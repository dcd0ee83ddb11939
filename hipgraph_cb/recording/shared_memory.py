"""Which live buffers may share bytes, and where each begins in the memory that it is in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def is_imported(buffer: object) -> bool:
    """Whether it may share bytes with another buffer."""
    return getattr(buffer, "is_imported", False)


def origins_of(buffers: Iterable[Any]) -> dict[int, tuple[int, int]]:
    """By the identity of each buffer: which memory it is in, and where it begins there.

    Every buffer is a memory of its own, unless there are imported ones: those may share bytes with any other, so that
    all of them are told apart by their addresses.
    """
    known = {id(buffer): buffer for buffer in buffers}
    if not any(map(is_imported, known.values())):
        return {key: (key, 0) for key in known}
    addresses = {key: getattr(buffer, "_address", 0) for key, buffer in known.items()}
    lowest = min(addresses.values())
    return {key: (0, address - lowest) for key, address in addresses.items()}
