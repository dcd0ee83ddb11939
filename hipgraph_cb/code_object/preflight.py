"""What a kernel needs in every launch, against what a device has: known before anything touches the device.

What depends on one dispatch (its grid, its workgroup size, its dynamic LDS) is for the recorder to check.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hipgraph_cb.code_object.limits import DeviceLimits
from hipgraph_cb.errors import FailedPreconditionError

if TYPE_CHECKING:
    from hipgraph_cb.code_object.verify import VerifiedExport

# AMD's runtimes place kernarg blocks at multiples of 64 bytes, a cache line, and promise no more.
MAX_KERNARG_ALIGNMENT = 64


def check_limits(export: VerifiedExport, limits: DeviceLimits) -> None:
    """Refuse a kernel that no launch on a device with these `limits` can satisfy.

    Raises:
        FailedPreconditionError: every need that is not met is named, beside what the device has.
    """
    needs = [
        ("bytes of fixed LDS", export.group_segment_size, limits.max_lds),
        ("bytes of kernarg alignment", export.kernarg_alignment, MAX_KERNARG_ALIGNMENT),
    ]
    required = export.required_workgroup_size
    if required is not None:
        sizes = zip("xyz", required, limits.max_workgroup_size, strict=True)
        needs += [(f"work-items in {axis}", size, largest) for axis, size, largest in sizes]
        total, compiled_for = math.prod(required), export.max_flat_workgroup_size
        needs += [
            ("work-items of a workgroup on the device", total, limits.max_flat_workgroup_size),
            ("work-items of a workgroup the kernel was compiled for", total, compiled_for),
        ]
    missing = [need for need in needs if need[1] > need[2]]
    if missing:
        raise FailedPreconditionError(
            "the kernel needs more than it can have",
            found="; ".join(f"{found} {what}" for what, found, _ in missing),
            allowed="; ".join(f"at most {allowed} {what}" for what, _, allowed in missing),
        )
