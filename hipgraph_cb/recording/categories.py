"""Categories of commands: what a command buffer may be limited to, checked at each verb."""

from __future__ import annotations

from enum import IntFlag
from typing import TYPE_CHECKING, NoReturn

from hipgraph_cb.errors import FailedPreconditionError, InvalidArgumentError

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording


class CommandCategory(IntFlag):
    """Kinds of commands, to be combined with `|`."""

    TRANSFER = 1
    DISPATCH = 2
    ANY = 3


NO_CATEGORY = CommandCategory(0)
"""Of what every command buffer takes."""

_BY_NAME = {"transfer": CommandCategory.TRANSFER, "dispatch": CommandCategory.DISPATCH, "any": CommandCategory.ANY}


def command_categories(value: object) -> CommandCategory:
    """The categories that a command buffer takes, by name or as a mask.

    Raises:
        InvalidArgumentError: none of them.
    """
    found = _BY_NAME.get(value) if isinstance(value, str) else value
    if isinstance(found, CommandCategory) and found in _BY_NAME.values():
        return found
    raise InvalidArgumentError(
        "categories are no categories of commands",
        found=repr(value)[:80],
        allowed=", ".join(map(repr, _BY_NAME)) + ", or a CommandCategory",
    )


def names(categories: CommandCategory) -> str:
    """How messages and files call a set of categories."""
    return next(name for name, each in _BY_NAME.items() if each == categories)


def check_category(verb: str, needed: CommandCategory, allowed: CommandCategory) -> None:
    """Refuse a command that needs other categories than a command buffer takes.

    Raises:
        FailedPreconditionError: it does.
    """
    if needed & ~allowed:
        raise refusal(verb, needed, allowed)


def refusal(verb: str, needed: CommandCategory, allowed: CommandCategory) -> FailedPreconditionError:
    """What is raised where a command needs other categories than a command buffer takes."""
    return FailedPreconditionError(
        f"{verb}: the command buffer does not take commands of this category",
        found=names(needed),
        allowed=names(allowed),
        next_step="make the command buffer without categories=, or record it in another one",
    )


def refuse_dispatch(*_arguments: object) -> NoReturn:
    """In the place of what makes dispatches, where none are taken; raises FailedPreconditionError."""
    raise refusal("dispatch", CommandCategory.DISPATCH, CommandCategory.TRANSFER)


def check_once(nested: Recording, one_shot: bool, verb: str) -> None:
    """Refuse a nested recording that is replayed once within one that is replayed several times.

    Raises:
        FailedPreconditionError: it is.
    """
    if nested.one_shot and not one_shot:
        raise FailedPreconditionError(
            f"{verb}: the nested recording is one-shot, and this one is not",
            where=None if nested.label is None else f"recording {nested.label!r}",
            next_step="make both command buffers with one_shot=True, or neither",
        )
