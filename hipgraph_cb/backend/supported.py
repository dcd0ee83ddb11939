"""A backend refuses commands that it cannot run, by name, before it makes anything."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from hipgraph_cb.errors import UnimplementedError
from hipgraph_cb.recording.commands import Command, type_of

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording


def check_supported(recording: Recording, kinds: Collection[type[Command]], backend: str) -> None:
    """Refuse a recording with commands that are not of `kinds`, in it or in a nested recording.

    Raises:
        UnimplementedError: it has one; the message names the first.
    """
    for nested in (recording, *(entry.recording for entry in recording.resources.recordings.values())):
        unknown = nested.kinds.difference(kinds)
        for index, command in enumerate(nested if unknown else ()):
            if type(command) in unknown:
                raise UnimplementedError(
                    f"program: the {backend} backend cannot run {type_of(command).verb}", where=nested.where(index)
                )
