"""A stream: a chain of operations, and its order with the null stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraph_cb.virtual.worker import Operation

if TYPE_CHECKING:
    from hipgraph_cb.virtual.hip.runtime import Gpu


class Stream:
    """One stream of a device.

    Attributes:
        last: the operation at its end, or None when everything before is over and reported.
        waits: operations of other streams that the next operation has to wait for.
        is_blocking: it is in order with the null stream.
    """

    def __init__(self, gpu: Gpu, *, is_null: bool = False, flags: int = 0, priority: int = 0) -> None:
        self.gpu = gpu
        self.is_null = is_null
        self.flags = flags
        self.priority = priority
        self.is_blocking = not flags & 1
        self.last: Operation | None = None
        self.waits: list[Operation] = []
        self.handle = 0
