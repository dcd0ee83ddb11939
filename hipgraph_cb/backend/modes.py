"""The ways to replay a program."""

from __future__ import annotations

from hipgraph_cb.errors import InvalidArgumentError

GRAPH = "graph"
MODES = (GRAPH, "stream")


def check_mode(mode: object) -> None:
    """Refuse a mode that does not exist.

    Raises:
        InvalidArgumentError: `mode` is none of `MODES`.
    """
    if not isinstance(mode, str) or mode not in MODES:
        raise InvalidArgumentError("replay: unknown mode", found=repr(mode), allowed=", ".join(map(repr, MODES)))
