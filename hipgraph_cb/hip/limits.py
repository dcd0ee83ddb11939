"""The limits of a device, as the HIP runtime states them."""

from __future__ import annotations

from typing import Any

from hipgraph_cb.code_object.limits import DeviceLimits


def limits_from_properties(properties: Any) -> DeviceLimits:
    """Of a hipDeviceProp_t of hip-python.

    The grid keeps the bound of the AQL packet: `maxGridSize` says 65536 for y and z, but AMD's runtime takes more.
    """
    x, y, z = (int(properties.maxThreadsDim[axis]) for axis in range(3))
    return DeviceLimits(
        max_workgroup_size=(x, y, z),
        max_flat_workgroup_size=int(properties.maxThreadsPerBlock),
        max_lds=int(properties.sharedMemPerBlock),
        wavefront_size=int(properties.warpSize),
    )
