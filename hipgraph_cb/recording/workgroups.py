"""The rules about the shape of a dispatch: how many workgroups, how large, how much LDS."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hipgraph_cb.errors import InvalidArgumentError, OutOfRangeError
from hipgraph_cb.recording.validation import integer

if TYPE_CHECKING:
    from hipgraph_cb.code_object.limits import DeviceLimits
    from hipgraph_cb.code_object.verify import VerifiedExport

Dimensions = tuple[int, int, int]
"""x, y, z."""

LARGEST_GRID = (1 << 32) - 1
"""Work-items per dimension: the dispatch packet and the runtimes multiply count and size in 32 bits."""

_AXES = "xyz"


def dimensions(value: object, name: str) -> Dimensions:
    """An int or one to three ints as x, y, z; what is left out is 1.

    Raises:
        InvalidArgumentError: something else, or a number that is no whole number.
        OutOfRangeError: a negative number, or one of 2^32 and more.
    """
    if type(value) is int and 0 <= value <= LARGEST_GRID:
        return (value, 1, 1)
    if type(value) is tuple and 1 <= len(value) <= 3:
        x, y, z = value if len(value) == 3 else (*value, 1, 1)[:3]
        if x.__class__ is y.__class__ is z.__class__ is int and (
            0 <= x <= LARGEST_GRID and 0 <= y <= LARGEST_GRID and 0 <= z <= LARGEST_GRID
        ):
            return (x, y, z)
    if isinstance(value, (tuple, list)):
        if not 1 <= len(value) <= 3:
            raise InvalidArgumentError(
                f"{name} has one to three dimensions", found=f"{len(value)} values", allowed="an int, or x, y and z"
            )
        numbers = [integer(each, f"{name} in {axis}", largest=LARGEST_GRID) for each, axis in zip(value, _AXES)]  # noqa: B905
        return (numbers[0], *numbers[1:], *(1,) * (3 - len(numbers)))  # type: ignore[return-value]
    return (integer(value, name, largest=LARGEST_GRID), 1, 1)


def workgroup_size(export: VerifiedExport, given: object) -> Dimensions:
    """The size a dispatch takes: what was given, else what the code object requires.

    Raises:
        InvalidArgumentError: none was given to a kernel that requires none, or another one than it requires.
    """
    required: Dimensions | None = export.required_workgroup_size
    if given is None:
        if required is None:
            raise InvalidArgumentError(
                f"workgroup_size is missing: kernel `{export.name}` does not require one",
                allowed=f"1 to {export.max_flat_workgroup_size} work-items in all",
                next_step="pass workgroup_size=, or compile with __attribute__((reqd_work_group_size(x, y, z)))",
            )
        return required
    size = dimensions(given, "workgroup_size")
    if required is not None and size != required:
        raise InvalidArgumentError(
            f"kernel `{export.name}` requires another workgroup size",
            found=_product(size),
            allowed=_product(required),
            next_step=f"leave workgroup_size out, or compile with reqd_work_group_size{size}",
        )
    return size


def check_size(export: VerifiedExport, size: Dimensions, limits: DeviceLimits | None) -> None:
    """Refuse a workgroup that is empty, larger than the kernel was compiled for, or too large for the device."""
    total = math.prod(size)
    if total == 0:
        raise OutOfRangeError("a workgroup has no work-items", found=_product(size), allowed="1 or more in x, y and z")
    if total > export.max_flat_workgroup_size:
        raise OutOfRangeError(
            f"the workgroup is larger than kernel `{export.name}` was compiled for",
            found=_product(size),
            allowed=f"{export.max_flat_workgroup_size} work-items (max_flat_workgroup_size in its metadata)",
            next_step=f"launch smaller workgroups, or compile with "
            f"__attribute__((amdgpu_flat_work_group_size(1, {total}))), in HIP __launch_bounds__({total})",
        )
    if limits is not None:
        _check_device_size(size, total, limits)


def _check_device_size(size: Dimensions, total: int, limits: DeviceLimits) -> None:
    x, y, z = limits.max_workgroup_size
    if size[0] > x or size[1] > y or size[2] > z:
        axis, largest = next(
            (axis, largest) for axis, extent, largest in zip(_AXES, size, (x, y, z), strict=True) if extent > largest
        )
        raise OutOfRangeError(
            f"the workgroup is too large for the device in {axis}",
            found=_product(size),
            allowed=f"{largest} work-items in {axis}",
        )
    if total > limits.max_flat_workgroup_size:
        raise OutOfRangeError(
            "the workgroup is too large for the device",
            found=_product(size),
            allowed=f"{limits.max_flat_workgroup_size} work-items",
        )


def check_grid(count: Dimensions, size: Dimensions, limits: DeviceLimits | None) -> None:
    """Refuse a grid of more work-items in one dimension than the device takes, at most 2^32 - 1."""
    largest = largest_grid(limits)
    grid = count[0] * size[0], count[1] * size[1], count[2] * size[2]
    if max(grid) > largest:
        index = next(index for index, items in enumerate(grid) if items > largest)
        raise OutOfRangeError(
            f"the grid is too large in {_AXES[index]}",
            found=f"{count[index]} workgroups of {size[index]} = {grid[index]} work-items",
            allowed=f"{largest} work-items, that is {largest // size[index]} such workgroups",
        )


def check_count(name: str, workgroups: int, extent: int, limits: DeviceLimits | None) -> None:
    """The same for one dimension, whose number may be negative; `extent`: work-items of a workgroup in it."""
    largest = largest_grid(limits)
    if not 0 <= workgroups * extent <= largest:
        raise OutOfRangeError(
            f"the grid is too large in {name[-1]}" if workgroups > 0 else f"{name} is negative",
            found=f"{workgroups} workgroups of {extent} = {workgroups * extent} work-items",
            allowed=f"{largest} work-items, that is {largest // extent} such workgroups",
        )


def largest_grid(limits: DeviceLimits | None) -> int:
    """Work-items of a grid in one dimension, at most."""
    return LARGEST_GRID if limits is None else min(LARGEST_GRID, limits.max_grid_size)


def check_lds(export: VerifiedExport, dynamic: int, limits: DeviceLimits | None) -> None:
    """Refuse more LDS per workgroup, declared by the kernel and asked for by the dispatch, than the device has."""
    check_lds_amount(export.name, export.group_segment_size, dynamic, limits)


def check_lds_amount(kernel: str, declared: int, dynamic: int, limits: DeviceLimits | None) -> None:
    """The same for a kernel by its name."""
    if dynamic < 0:
        raise OutOfRangeError("dynamic_lds is negative", found=str(dynamic), allowed="0 or more")
    if limits is not None and declared + dynamic > limits.max_lds:
        raise OutOfRangeError(
            f"kernel `{kernel}` needs more LDS than the device has",
            found=f"{declared} bytes declared + {dynamic} bytes dynamic_lds = {declared + dynamic}",
            allowed=f"{limits.max_lds} bytes per workgroup",
        )


def _product(size: Dimensions) -> str:
    return f"{size[0]} x {size[1]} x {size[2]} = {math.prod(size)} work-items"
