"""Characters that have no place in a text file or on a terminal, made visible."""

from __future__ import annotations


def visible(text: str) -> str:
    """`text` with control characters, line separators and lone surrogates as Python would write them."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def visible_lines(text: str) -> str:
    """The same for text of several lines: line feeds and tabs stay."""
    if text.isprintable():
        return text
    return "\n".join("\t".join(map(visible, line.split("\t"))) for line in text.split("\n"))
