"""Which commands a recording has; a backend refuses those that it cannot run, by name, before it makes anything."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from hipgraph_cb.errors import UnimplementedError
from hipgraph_cb.recording.commands import Collectives, Command, type_of
from hipgraph_cb.recording.events import nested_in

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording


def check_switchable(recording: Recording, index: int) -> None:
    """Refuse to switch off what others wait for by other ways than the order of the commands.

    Raises:
        UnimplementedError: a command about events, or a nested recording with such commands.
    """
    command = recording[index]
    nested = nested_in(recording, command)
    if isinstance(command, Collectives) or (nested is not None and nested.resources.channels):
        raise UnimplementedError(
            f"enabled: {type_of(command).verb} cannot be switched off",
            where=recording.where(index),
            found="a collective, for which other ranks wait",
            next_step="record without it on every rank, and make other programs",
        )
    if type_of(command).is_order or (nested is not None and nested.resources.events):
        raise UnimplementedError(
            f"enabled: {type_of(command).verb} cannot be switched off",
            where=recording.where(index),
            found="a command about events" if nested is None else "a nested recording with events",
            next_step="record without it, and make another program",
        )


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


def contains(recording: Recording, kind: type[Command]) -> bool:
    """Whether the recording, or one nested in it, has commands of a kind."""
    nested = (entry.recording for entry in recording.resources.recordings.values())
    return any(kind in each.kinds for each in (recording, *nested))
