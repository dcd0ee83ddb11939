"""Characters that have no place in a text file, made visible."""

from __future__ import annotations


def visible(text: str) -> str:
    """`text` with control characters, line separators and lone surrogates as Python would write them."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )
