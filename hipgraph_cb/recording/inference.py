"""Dependencies from accesses instead of barriers: who waits for whom, so that every byte is as if all ran in order.

The accesses are those of `hazards`: an unknown one counts as read and written, so an inferred order is safe as long as
kernels stay within the ranges they are given and memory they reach by other ways (pointers in memory, variables of the
code object) is declared with `reads=` and `writes=`. Every slot counts as memory of its own; a replay refuses bindings
for which that is not so (`aliasing.check_slots_apart`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraph_cb.errors import InvalidArgumentError, UnimplementedError
from hipgraph_cb.recording.accesses import AccessReader
from hipgraph_cb.recording.histories import Histories, enter
from hipgraph_cb.recording.order import dependencies_of

if TYPE_CHECKING:
    from hipgraph_cb.recording.dependencies import Dependencies
    from hipgraph_cb.recording.recording import Recording

MOST_PARTIES = 64
"""From so many on, who waits for many makes others wait for itself instead of for each of them.

A thousand reads of a buffer that was written in a thousand pieces would be a million edges. So a read of more pieces
counts as a write, and an access of a part of a piece with more readers as one of the whole piece. It costs some
freedom among commands that share memory: two such reads run one after the other.
"""


def infer(recording: Recording) -> Dependencies:
    """For each command the earlier commands it must wait for, ascending; what is implied by waiting may be left out.

    Barriers that were recorded hold as well, for they may order what no access shows.

    Raises:
        UnimplementedError: the recording has slots and events.
    """
    _check_inferable(recording)
    reader = AccessReader(recording)
    histories = Histories()

    def conflicts_of(index: int, is_behind_barrier: bool) -> set[int]:
        if is_behind_barrier:
            histories.clear()
        return enter(histories, index, reader.of(index), MOST_PARTIES)

    return dependencies_of(recording, conflicts_of)


def is_inferred(dependencies: str) -> bool:
    if not isinstance(dependencies, str) or dependencies not in ("barriers", "inferred"):
        raise InvalidArgumentError(
            "dependencies is no policy", found=repr(dependencies), allowed="'barriers', 'inferred'"
        )
    return dependencies == "inferred"


def _check_inferable(recording: Recording) -> None:
    if recording.slots and recording.resources.events:
        raise UnimplementedError(
            "end: dependencies cannot be inferred where slots and events come together",
            where="a recording" if recording.label is None else f"recording {recording.label!r}",
            found=f"{len(recording.slots)} slots, {len(recording.resources.events)} events",
            next_step="use barriers, or record direct buffers",
        )
