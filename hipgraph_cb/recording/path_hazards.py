"""Missing barriers where events order the commands: conflicting pairs with no path between them.

For each command only the last ones that touched its bytes are looked at. That is enough: who is ordered behind those is
ordered behind everybody before them, or that pair is a finding itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hipgraph_cb.recording.hazards import Access, AccessReader, MissingBarrier, conflicts_between
from hipgraph_cb.recording.inference import enter

if TYPE_CHECKING:
    from hipgraph_cb.recording.inference import Memories
    from hipgraph_cb.recording.recording import Recording


def path_findings(recording: Recording, *, certain_only: bool) -> Iterator[MissingBarrier]:
    """See `hazards.findings`."""
    reader = AccessReader(recording)
    memories: Memories = {}
    accesses: list[list[Access]] = []
    ancestors: list[int] = []  # as sets of bits: one number for each command
    for index, waits in enumerate(recording.dependencies or ()):
        known = reader.of(index)
        accesses.append([access for access in known if access.known] if certain_only else known)
        before = 0
        for wait in waits:
            before |= ancestors[wait] | 1 << wait
        ancestors.append(before)
        for conflict in sorted(enter(memories, index, accesses[index])):
            if not before >> conflict & 1:
                yield from conflicts_between(recording, conflict, accesses[conflict], index, accesses[index])
