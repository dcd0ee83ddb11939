"""What is the same for many dispatches of one kernel, prepared once: a recording has thousands of dispatches and a
handful of kernels, with few launch shapes each."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

from hipgraph_cb.recording.commands import Dimensions
from hipgraph_cb.recording.validation import integer
from hipgraph_cb.recording.workgroups import (
    LARGEST_GRID,
    check_grid,
    check_lds,
    check_size,
    largest_grid,
    workgroup_size,
)

if TYPE_CHECKING:
    from hipgraph_cb.code_object.limits import DeviceLimits
    from hipgraph_cb.code_object.packing import Packer

Given = tuple[object, object]
"""Workgroup size and bytes of dynamic LDS as a call gives them."""
Shape = tuple[Dimensions, Dimensions, int]
"""Workgroup count and size and bytes of dynamic LDS, as they are recorded."""

MOST_SIZES = 1024
"""Workgroup sizes that are remembered of one kernel."""
_pack_rest = struct.Struct("<3IQ").pack


class Size(NamedTuple):
    """A workgroup size, with bytes of dynamic LDS, that passed the checks.

    Attributes:
        rest: what stands in a block behind the workgroup count.
        most_x, most_y, most_z: the largest workgroup count in each dimension.
        size: the size itself.
        given: the size as it was given.
    """

    rest: bytes
    most_x: int
    most_y: int
    most_z: int
    size: Dimensions
    given: object


class DispatchPlan:
    """A kernel, its layout, and the launch shapes that passed the checks.

    Attributes:
        limits: what the device that runs it can run; None where it is not known.
        packers: what packs arguments, by their types.
        pack: the one of them that fitted last.
        form: the number of the form in the command table that goes with it; None before the first dispatch.
        by_value: the offsets of the addresses that it takes by value.
        forms: the numbers of all its forms, by such offsets.
        sizes: what passed the checks, as it was given.
    """

    __slots__ = (
        "by_value",
        "executable",
        "export",
        "form",
        "forms",
        "layout",
        "limits",
        "name",
        "pack",
        "packers",
        "sizes",
    )

    def __init__(self, executable: Any, export: Any, limits: DeviceLimits | None) -> None:
        self.executable = executable
        self.limits = limits
        self.export = export.verified
        self.name: str = export.name
        self.layout = self.export.layout
        self.packers: dict[tuple[type, ...], tuple[Packer, tuple[int, ...]]] = self.layout.packers
        self.pack: Packer = _no_packer
        self.form: int | None = None
        self.by_value: tuple[int, ...] = ()
        self.forms: dict[tuple[int, ...], int] = {}
        self.sizes: dict[Given, Size] = {}

    def clear(self) -> None:
        """Forget everything about the resources of the recording."""
        self.form = None
        self.forms.clear()

    def accept(self, given: Given, count: Dimensions, validate: bool) -> Size:
        """The workgroup size and the LDS of a call, checked together with its count, and remembered where they stay
        what they are.

        Raises:
            InvalidArgumentError, OutOfRangeError: the kernel or the device cannot run it.
        """
        lds = integer(given[1], "dynamic_lds")
        size = workgroup_size(self.export, given[0])
        x = y = z = LARGEST_GRID
        if validate:
            self.check((count, size, lds))
            largest = largest_grid(self.limits)
            x, y, z = largest // size[0], largest // size[1], largest // size[2]
        accepted = Size(_pack_rest(*size, lds), x, y, z, size, given[0])
        if is_plain(given[0]) and given[1].__class__ is int:
            if len(self.sizes) == MOST_SIZES:
                self.sizes.clear()
            self.sizes[given] = accepted
        return accepted

    def check(self, shape: Shape) -> None:
        """Refuse a shape that the kernel or the device cannot run."""
        count, size, dynamic_lds = shape
        check_size(self.export, size, self.limits)
        check_grid(count, size, self.limits)
        check_lds(self.export, dynamic_lds, self.limits)

    def parameter(self, offset: int) -> str:
        """How messages call the parameter at `offset`."""
        return f"argument {self.layout.label_at(offset)}"


def is_plain(value: object) -> bool:
    """Whether a size is what it seems and stays so: no bool, no number of another type, no list."""
    if type(value) is tuple:
        return tuple(map(type, value)) in _INTS
    return value is None or type(value) is int


_INTS = frozenset({(int,), (int, int), (int, int, int)})


def _no_packer(*_: object) -> None:
    """Before the first dispatch."""
