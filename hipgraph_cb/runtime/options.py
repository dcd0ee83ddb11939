"""How a program is made of a recording: what the caller may choose, checked once for all backends."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from hipgraph_cb.errors import InvalidArgumentError

if TYPE_CHECKING:
    from hipgraph_cb.recording.dependencies import JoinPolicy

JOIN_VARIABLE = "HIPGRAPH_CB_JOIN"
UPDATES = ("exec", "reinstantiate")
FILLS = ("memset", "kernel")


class ProgramOptions(NamedTuple):
    """What `Device.command_buffer` and `Device.program` say about these."""

    join: JoinPolicy
    update: str
    fill: str

    @classmethod
    def checked(cls, join: object, update: object, fill: object) -> ProgramOptions:
        """The options that a caller gave.

        Raises:
            InvalidArgumentError: one of them does not exist.
        """
        return cls(_join_policy(join), _one_of(UPDATES, update, "update policy"), _one_of(FILLS, fill, "way to fill"))


def _one_of(known: tuple[str, ...], given: object, what: str) -> str:
    if not isinstance(given, str) or given not in known:
        raise InvalidArgumentError(f"unknown {what}", found=repr(given), allowed=", ".join(map(repr, known)))
    return str(given)


def _join_policy(join: object) -> JoinPolicy:
    from hipgraph_cb.recording.dependencies import JoinPolicy

    where = None
    if join is None:
        join = os.environ.get(JOIN_VARIABLE) or JoinPolicy.AUTO
        where = None if join is JoinPolicy.AUTO else f"the environment variable {JOIN_VARIABLE}"
    try:
        return JoinPolicy(join)
    except ValueError:
        raise InvalidArgumentError(
            "unknown join policy",
            where=where,
            found=repr(join),
            allowed=", ".join(repr(policy.value) for policy in JoinPolicy),
        ) from None
