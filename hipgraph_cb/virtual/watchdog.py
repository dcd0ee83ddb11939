"""Says when a running kernel has to stop, and why.

It counts the processor time of the thread that runs the kernel: other load of the machine does not count.
"""

from __future__ import annotations

import time

from hipgraph_cb.virtual.faults import DeviceFault, FaultKind
from hipgraph_cb.virtual.worker import Operation


class Watchdog:
    """Watches one launch, in the thread that runs it.

    Args:
        limit: seconds of processor time it may take, or 0 for any time.
        operation: whose `stop_reason` ends it, or None.

    Attributes:
        reason: why it had to stop, once it had to.
    """

    def __init__(self, limit: float, operation: Operation | None) -> None:
        self._operation = operation
        self._limit = limit
        self._deadline = time.thread_time() + limit if limit else float("inf")
        self.reason: str | None = None

    def must_stop(self) -> bool:
        if self._operation is not None and self._operation.stop_reason is not None:
            self.reason = self._operation.stop_reason
        elif time.thread_time() > self._deadline:
            self.reason = (
                f"stopped by the watchdog after {self._limit:g} s (HIPGRAPH_CB_VIRTUAL_WATCHDOG changes or lifts it)"
            )
        return self.reason is not None

    def explain(self, fault: DeviceFault) -> None:
        """Give the fault of a stopped kernel its reason."""
        if fault.kind is FaultKind.TIMEOUT and self.reason:
            fault.what = f"{fault.kind.title}: {self.reason}"
