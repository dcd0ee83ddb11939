"""The formats that recordings and their profiles can be written in. The recording knows none of them by name.

A format is one module: its name is the module's name, and it says `FORMAT = TextFormat(...)` or `FORMAT =
FileFormat(...)`. `add_package` names the packages whose modules are looked through; the package's own are added where
`hipgraph_cb` is imported. A program adds one of its own with `register`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from hipgraph_cb.errors import InvalidArgumentError, NotFoundError

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording


class TextFormat(NamedTuple):
    """Something that a recording or a profile is written as.

    Attributes:
        name: what `export(name)` and `--format` call it.
        summary: half a sentence for the command line.
        write: makes the text: the subject, then keyword arguments of the format's own.
        of_profile: whether the subject is a `Profile`, which takes a device to make, and not a `Recording`.
        options: keyword arguments of `write` that the command line may give: "join", "profile".
    """

    name: str
    summary: str
    write: Callable[..., str]
    of_profile: bool = False
    options: tuple[str, ...] = ()


class Loaded(Protocol):
    """What a file holds."""

    @property
    def recording(self) -> Recording: ...


class FileFormat(NamedTuple):
    """A file that holds a recording whole.

    Attributes:
        name: the suffix of its files.
        save: writes a recording to a path, with keyword arguments of the format's own.
        load: reads what `save` wrote.
    """

    name: str
    save: Callable[..., None]
    load: Callable[[str | os.PathLike[str]], Loaded]


Format = TextFormat | FileFormat
Kind = TypeVar("Kind", TextFormat, FileFormat)

_packages: list[str] = []
_registered: dict[str, Format] = {}


def add_package(name: str) -> None:
    """Look for formats among the modules of this package too."""
    if name not in _packages:
        _packages.append(name)


def register(format: Format) -> None:
    """Offer a format of a program's own; one that is registered again takes the place of the other.

    Raises:
        InvalidArgumentError: not a format.
    """
    if not isinstance(format, (TextFormat, FileFormat)):
        raise InvalidArgumentError(
            "register: not a format", found=type(format).__name__, allowed="a TextFormat or a FileFormat"
        )
    _registered[format.name] = format


def text_formats() -> tuple[TextFormat, ...]:
    """Every text format there is, by name."""
    found = {format.name: format for format in _all() if isinstance(format, TextFormat)}
    return tuple(found[name] for name in sorted(found))


def find(name: str, kind: type[Kind]) -> Kind:
    """The format of that name and kind.

    Raises:
        NotFoundError: there is none; the message lists those that exist.
    """
    found = (_registered.get(name) or _in_packages(name)) if isinstance(name, str) else None
    if isinstance(found, kind):
        return found
    names = sorted({format.name for format in _all() if isinstance(format, kind)})
    raise NotFoundError(
        "no such format",
        found=repr(name),
        allowed=", ".join(map(repr, names)),
        next_step="register(TextFormat(...)) of hipgraph_cb.recording.formats adds one",
    )


def write(name: str, subject: object, **options: Any) -> str:
    """`subject` in a text format."""
    return find(name, TextFormat).write(subject, **options)


def _in_packages(name: str) -> Format | None:
    from importlib.util import find_spec  # here, so that importing the package stays cheap

    for package in _packages:
        if name.isidentifier() and find_spec(f"{package}.{name}") is not None:
            found: Format | None = getattr(import_module(f"{package}.{name}"), "FORMAT", None)
            if found is not None:
                return found
    return None


def _all() -> Iterator[Format]:
    from pkgutil import iter_modules

    for package in _packages:
        for module in iter_modules(import_module(package).__path__):
            found = _in_packages(module.name)
            if found is not None:
                yield found
    yield from _registered.values()
