"""Executables of several devices: one code object, loaded for the members of a mask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hipgraph_cb.errors import FailedPreconditionError
from hipgraph_cb.runtime.resource import Resource

if TYPE_CHECKING:
    from hipgraph_cb.group.device_group import DeviceGroup
    from hipgraph_cb.runtime.buffer import BufferView
    from hipgraph_cb.runtime.device import Device
    from hipgraph_cb.runtime.executable import Executable


class GroupExecutable(Resource):
    """A code object that is loaded on some devices of a group. Each of them has its own kernels and global variables.

    Args:
        loaded: by the number of the member.
    """

    kind = "executable"

    def __init__(self, group: DeviceGroup, loaded: Mapping[int, Executable], label: str | None) -> None:
        self._group = group
        self._loaded = dict(loaded)
        self.label = label

    @property
    def mask(self) -> int:
        """Bit i is set where it is loaded on member i: the queue affinity of the executable."""
        return sum(1 << number for number in self._loaded)

    @property
    def devices(self) -> tuple[Device, ...]:
        """The devices that it is loaded on, in the order of the group."""
        return tuple(executable.device for executable in self._loaded.values())

    def on(self, device: int | Device) -> Executable:
        """What is loaded on one device: its kernels are dispatched there.

        Args:
            device: a member of the group, or its number.

        Raises:
            InvalidArgumentError: not a member.
            OutOfRangeError: a number that no member has.
            FailedPreconditionError: it was not loaded there.
        """
        self._check_open("on")
        number = self._group.number_of(device)
        if number not in self._loaded:
            raise FailedPreconditionError(
                f"on: {self.describe()} is not loaded on member {number} of the group",
                found=f"it is loaded for the mask {self.mask:#x}: members {', '.join(map(str, self._loaded))}",
                next_step=f"group.load(..., devices=[{', '.join(map(str, sorted({*self._loaded, number})))}])",
            )
        return self._loaded[number]

    def global_(self, name: str, device: int | Device | None = None) -> BufferView:
        """A global variable on one device, each of which has its own; None is the first that it is loaded on.

        Raises:
            The errors of `on` and of `Executable.global_`.
        """
        return self.on(next(iter(self._loaded)) if device is None else device).global_(name)

    def _release(self) -> None:
        for executable in self._loaded.values():
            executable.close()

    def __repr__(self) -> str:
        return f"<{self.describe()} for the mask {self.mask:#x}{', closed' if self._closed else ''}>"
