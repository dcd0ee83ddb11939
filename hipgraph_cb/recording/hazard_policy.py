"""What finishing a recording does about missing barriers."""

from __future__ import annotations

import warnings
from enum import Enum
from typing import TYPE_CHECKING

from hipgraph_cb.errors import FailedPreconditionError, InvalidArgumentError

if TYPE_CHECKING:
    from hipgraph_cb.recording.hazards import MissingBarrier, UnwrittenRead
    from hipgraph_cb.recording.recording import Recording

SHOWN = 20
"""A message lists this many findings."""


class HazardWarning(UserWarning):
    """A recording in which a barrier is missing, or may be."""


class HazardPolicy(Enum):
    """What `end` does about missing barriers: nothing, warn of all of them, or raise for those that are certain."""

    IGNORE = "ignore"
    WARN = "warn"
    RAISE = "raise"

    def apply(self, recording: Recording) -> None:
        """Look for missing barriers and do what the policy says.

        Raises:
            FailedPreconditionError: the policy is RAISE and a barrier is certainly missing.
        """
        if self is HazardPolicy.IGNORE:
            return
        unwritten, missing = _problems(recording, certain_only=self is HazardPolicy.RAISE)
        if not (unwritten or missing):
            return
        what, next_step = "transient memory is read before it is written", "write it first"
        if missing:
            what = "a barrier is missing" if sum(finding.count for finding in missing) == 1 else "barriers are missing"
            next_step = "call execution_barrier() between the two commands"
        texts = [*(finding.text for finding in unwritten), *(finding.text for finding in missing)]
        detail = "\n".join([*texts[:SHOWN], *["..."] * (len(texts) > SHOWN)])
        if self is HazardPolicy.RAISE:
            raise FailedPreconditionError(
                what,
                where="the recording" if recording.label is None else f"recording {recording.label!r}",
                next_step=next_step,
                detail=detail,
            )
        warnings.warn(f"{what}\n{detail}", HazardWarning, stacklevel=4)


def _problems(recording: Recording, *, certain_only: bool) -> tuple[list[UnwrittenRead], list[MissingBarrier]]:
    from hipgraph_cb.recording.hazards import MissingBarrier, UnwrittenRead, findings

    found = list(findings(recording, certain_only=certain_only))
    unwritten = [finding for finding in found if isinstance(finding, UnwrittenRead)]
    return unwritten, [finding for finding in found if isinstance(finding, MissingBarrier)]


def hazard_policy(value: HazardPolicy | str) -> HazardPolicy:
    """The policy by its name. Raises InvalidArgumentError for another value."""
    try:
        return HazardPolicy(value)
    except ValueError:
        raise InvalidArgumentError(
            "hazards is no policy", found=repr(value), allowed=", ".join(repr(policy.value) for policy in HazardPolicy)
        ) from None
