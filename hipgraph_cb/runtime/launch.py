"""A launch that was made outside of a recording."""

from __future__ import annotations

from abc import ABC, abstractmethod


class Launch(ABC):
    """A kernel that was enqueued by `kernel(...)` or `device.launch(...)`: what others call an event behind it."""

    @property
    @abstractmethod
    def is_done(self) -> bool:
        """Whether it has ended. Queries the runtime and waits for nothing; a kernel that failed has ended as well."""

    @abstractmethod
    def synchronize(self, timeout: float | None = None) -> None:
        """Wait until the kernel, and what was enqueued on its stream before, has ended.

        Args:
            timeout: seconds; None takes the device's `timeout`.

        Raises:
            DeadlineExceededError: it has not ended in time.
            HipError, HsaError: work on the stream failed; it is raised once, by the first call that waits.
        """
