"""What a wrong name was meant to be: the names beside it in an error."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

SHOWN = 20
"""A message lists this many names."""
SUGGESTED = 3
_LENGTH = re.compile(r"[1-9]\d*")


def listed(names: Collection[str]) -> str:
    """Names in a message: the first ones, and how many more there are."""
    first = ", ".join(sorted(names)[:SHOWN])
    return first if len(names) <= SHOWN else f"{first} and {len(names) - SHOWN} more"


def did_you_mean(name: str, names: Collection[str]) -> str | None:
    """The next step of an error for a name that is none of `names`; None where none is like it.

    A kernel of C++ is found by its name in the source, as `scale`, `ns::scale` or `scale(float*)`.
    """
    from difflib import get_close_matches

    wanted = re.split(r"[(<]", name, maxsplit=1)[0].strip()
    meant: dict[str, list[str]] = {}
    for each in names:
        for spelling in {each, *_in_the_source(each)}:
            meant.setdefault(spelling, []).append(each)
    spellings = [wanted] if wanted in meant else get_close_matches(wanted, meant, SUGGESTED)
    found = list(dict.fromkeys(each for spelling in spellings for each in sorted(meant[spelling])))[:SUGGESTED]
    return f"did you mean {' or '.join(map(repr, found))}?" if found else None


def _in_the_source(symbol: str) -> Iterator[str]:
    """The name that a function of C++ has in its source, without and with its namespaces (Itanium C++ ABI, 5.1.2)."""
    start = re.match(r"_Z(N[rVK]*)?L?", symbol)
    if start is None:
        return
    parts, at = [], start.end()
    while (length := _LENGTH.match(symbol, at)) is not None:
        end = length.end() + int(length[0][:9])
        parts.append(symbol[length.end() : end])
        at = end
        if start[1] is None:
            break
    if parts:
        yield parts[-1]
        yield "::".join(parts)
