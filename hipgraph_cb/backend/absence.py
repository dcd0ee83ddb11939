"""Devices that are open and cannot be used any more: in a forked child, and when the process ends.

A runtime's threads are not in a forked child, so nothing would ever be done there: each call is refused. When the
interpreter ends, the library is unloaded before the last objects and daemon threads end. No error is reported then.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from hipgraph_cb.errors import FailedPreconditionError

if TYPE_CHECKING:
    from hipgraph_cb.backend.device import BackendDevice


class Absence(ABC):
    """Why a device is gone."""

    @abstractmethod
    def refuse(self, action: str) -> None:
        """Raise FailedPreconditionError, or do not return at all."""

    @abstractmethod
    def skip(self, action: str) -> None:
        """As `refuse`, for calls that need not be done: return where that makes no difference."""


class Forked(Absence):
    """This process is a forked child of the one that opened the device."""

    def __init__(self, device: str) -> None:
        self._device = device

    def refuse(self, action: str) -> None:
        raise FailedPreconditionError(
            f"{action}: {self._device} was opened before this process was forked, and cannot be used here",
            found=f"process {os.getpid()}, a child of {os.getppid()}",
            next_step='start it with multiprocessing\'s "spawn" method (or subprocess) instead of fork',
        )

    skip = refuse


class Ended(Absence):
    """The interpreter ends. Only the main thread and daemon threads are left."""

    def refuse(self, action: str) -> None:
        self.skip(action)
        raise FailedPreconditionError(f"{action}: the process ends", next_step="do it before")

    def skip(self, action: str) -> None:
        """A daemon thread stops here, as it does when it next needs the interpreter."""
        if threading.current_thread() is not threading.main_thread():
            threading.Event().wait()


_devices: weakref.WeakSet[BackendDevice] = weakref.WeakSet()


def watch(device: BackendDevice) -> None:
    """Mark the device as gone after a fork and at the end of the process."""
    _devices.add(device)
    atexit.unregister(_end)  # what is registered last runs first: before the library is unloaded
    atexit.register(_end)


def _end() -> None:
    for device in tuple(_devices):
        device.take_away(Ended())


def _forked() -> None:
    for device in tuple(_devices):
        device.take_away(Forked(device.describe()))


os.register_at_fork(after_in_child=_forked)
