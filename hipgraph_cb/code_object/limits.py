"""What a device can launch. A table for virtual and offline use; real devices are queried."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from hipgraph_cb.code_object.target_id import TargetId


@dataclass(frozen=True)
class DeviceLimits:
    """Limits of one device. Workgroup sizes in work-items, LDS in bytes of one workgroup.

    Sources: HIP device attributes of the targets; grids are bounded by the 32-bit fields of the AQL packet.
    """

    max_workgroup_size: tuple[int, int, int] = (1024, 1024, 1024)
    max_flat_workgroup_size: int = 1024
    max_grid_size: int = (1 << 32) - 1
    max_lds: int = 65536
    wavefront_size: int = 64


# LDS of one workgroup is 64 KiB everywhere but here (LLVM AMDGPU usage; 160 KiB on gfx950).
_LDS_OF_PROCESSOR = {"gfx950": 163840, "gfx1250": 327680, "gfx1251": 327680}


@lru_cache
def limits_of(target: TargetId) -> DeviceLimits:
    """The limits of a target without a device to query: wave64 up to gfx9, wave32 from gfx10 on."""
    return DeviceLimits(
        max_lds=_LDS_OF_PROCESSOR.get(target.processor, 65536),
        wavefront_size=64 if target.version[0] < 10 else 32,
    )
