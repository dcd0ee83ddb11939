"""What is the same for many dispatches of one kernel, prepared once: a recording has thousands of dispatches and a
handful of kernels, with few launch shapes each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from hipgraph_cb.recording.commands import Dimensions, Dispatch, Pointers
from hipgraph_cb.recording.workgroups import check_grid, check_lds, check_size

if TYPE_CHECKING:
    from hipgraph_cb.code_object.limits import DeviceLimits
    from hipgraph_cb.code_object.packing import Packer

Given = tuple[object, object, object]
"""Workgroup count, workgroup size and bytes of dynamic LDS as a call gives them."""
Shape = tuple[Dimensions, Dimensions, int]
"""The same as they are recorded."""
Memory = tuple[object, ...]
"""The buffers that stand for a kernel's pointers, None where one is null."""
Getter = Callable[[Sequence[object]], tuple[Any, ...]]

MOST_SHAPES = 256
"""Launch shapes that are remembered of one kernel."""
_NOTHING = (object(), object(), object())
"""A shape as no call gives it."""


class DispatchPlan:
    """A kernel, its layout, and the launch shapes that passed the checks.

    Attributes:
        argument_count: arguments of the kernel; negative before the first dispatch.
        numbers, addresses: take those out of the arguments that are numbers and those that are pointers.
        number_types, pack_head: the types of the numbers that came last, and what makes the kernarg block of such.
        places: what the pointers of a dispatch are, by their buffers, where all are whole.
        given, accepted: the shape of the last dispatch, as it was given and as it was taken.
        models: dispatches of that shape without a label, by their buffers where all are whole.
        shapes: what was accepted, and its models, for all that were given.
    """

    __slots__ = (
        "accepted",
        "addresses",
        "argument_count",
        "executable",
        "export",
        "given",
        "key",
        "layout",
        "models",
        "name",
        "number_types",
        "numbers",
        "pack_head",
        "packers",
        "places",
        "shapes",
    )

    def __init__(self, executable: Any, export: Any) -> None:
        self.executable = executable
        self.key = id(executable)
        self.export = export.verified
        self.name: str = export.name
        self.layout = self.export.layout
        self.packers: dict[tuple[type, ...], Packer | None] = self.layout.packers
        self.argument_count = -1
        self.numbers: Getter = tuple
        self.addresses: Getter = tuple
        self.number_types: list[type] = []
        self.pack_head: Callable[..., bytes] = bytes
        self.places: dict[Memory, Pointers] = {}
        self.models: dict[Memory, Dispatch] = {}
        self.shapes: dict[Given, tuple[Shape, dict[Memory, Dispatch]]] = {}
        self.given: Given = _NOTHING
        self.accepted: Shape = ((0, 0, 0), (0, 0, 0), 0)

    def takes(self, given: Given) -> bool:
        """Whether this shape passed the checks before; if so, it is the present one now."""
        count, size, dynamic_lds = self.given
        if given[0] is count and given[1] is size and given[2] is dynamic_lds:
            return True
        known = self.shapes.get(given) if _are_plain(given) else None
        if known is None:
            return False
        self.given = given
        self.accepted, self.models = known
        return True

    def accept(self, given: Given, shape: Shape) -> None:
        """Make a shape that has passed the checks the present one."""
        self.given, self.accepted, self.models = _NOTHING, shape, {}
        if _are_plain(given):
            if len(self.shapes) == MOST_SHAPES:
                self.shapes.clear()
            self.given = given
            self.shapes[given] = shape, self.models

    def clear(self) -> None:
        """Forget everything about buffers."""
        for known in (self.places, self.models, self.shapes):
            known.clear()

    def check(self, shape: Shape, limits: DeviceLimits | None) -> None:
        """Refuse a shape that the kernel or the device cannot run."""
        count, size, dynamic_lds = shape
        check_size(self.export, size, limits)
        check_grid(count, size, limits)
        check_lds(self.export, dynamic_lds, limits)

    def parameter(self, offset: int) -> str:
        """How messages call the parameter at `offset`."""
        labels = [parameter.label for parameter in self.layout.parameters if parameter.offset == offset]
        return f"argument {labels[0]}" if labels else f"the argument at byte {offset}"


def _are_plain(given: Given) -> bool:
    """Whether a shape is what it seems and stays so: no bool, no number of another type, no list."""
    for value in given:
        if type(value) is tuple:
            if not all(type(each) is int for each in value):
                return False
        elif value is not None and type(value) is not int:
            return False
    return True
