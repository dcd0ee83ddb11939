"""What a command buffer was made for, in a manifest: fields that are there only where they say something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.recording.categories import CommandCategory, command_categories, names

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording

_ALLOWED: dict[str, tuple[object, ...]] = {"one_shot": (True,), "categories": ("transfer", "dispatch")}


def mode_fields(recording: Recording) -> dict[str, Any]:
    """The fields of a recording."""
    row: dict[str, Any] = {}
    if recording.one_shot:
        row["one_shot"] = True
    if recording.categories is not CommandCategory.ANY:
        row["categories"] = names(recording.categories)
    return row


def take_mode(row: object) -> dict[str, Any]:
    """Take the fields out of an object of the manifest, as arguments of a recording.

    Raises:
        InvalidArgumentError: a field with another value, or one that says what is so without it.
    """
    found: dict[str, Any] = {}
    for name, allowed in _ALLOWED.items() if isinstance(row, dict) else ():
        if name in row:  # type: ignore[operator]
            value = row.pop(name)  # type: ignore[attr-defined]
            if not any(type(value) is type(each) and value == each for each in allowed):
                raise InvalidArgumentError(
                    f"the field {name!r} of the manifest has another value, or says what is so without it",
                    found=repr(value)[:80],
                    allowed=", ".join(map(repr, allowed)),
                )
            found[name] = command_categories(value) if name == "categories" else value
    return found
