"""Which functions of HIP the virtual library does not have, in groups with the reason.

Those that AMD's library exports answer hipErrorNotSupported; the others are not exported at all.

`hipgraph-cb doctor --functions` compares this with what hip-python knows; docs/virtual_hip.md shows the same list.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class AbsentGroup:
    """Functions that are missing for one reason; `pattern` matches their names as a whole."""

    title: str
    reason: str
    pattern: str

    def holds(self, function: str) -> bool:
        return re.fullmatch(self.pattern, function) is not None


GROUPS = (
    AbsentGroup(
        "textures and surfaces",
        "the interpreter has no image instructions",
        r"hipTex.*|hip(Bind|Unbind|Get|Create|Destroy)(Texture|Surface).*|hipModuleGetTexRef|"
        r"hipDeviceGetTexture1DLinearMaxWidth",
    ),
    AbsentGroup(
        "mipmapped and sparse arrays",
        "they are memory for textures",
        r"hip(Malloc|Free)MipmappedArray|hip(Get)?Mipmapped.*|hipMemMapArrayAsync",
    ),
    AbsentGroup("graphics", "there is no display", r"hipGraphics.*"),
    AbsentGroup(
        "other processes' memory",
        "device memory is private to the process",
        r"hipMemPool(Export|Import).*|hipMemGetHandleForAddressRange",
    ),
    AbsentGroup(
        "external memory and semaphores",
        "there is no other device that they could belong to",
        r"hip.*External(Memory|Semaphore).*",
    ),
    AbsentGroup(
        "launches on several devices and clustered launches",
        "each device has its own launch, and its hardware knows no clusters",
        r"hip(Module|Ext)?Launch(Cooperative|MultiKernel).*MultiDevice|hipOccupancy.*Cluster.*",
    ),
    AbsentGroup(
        "batches of copies, prefetches and discards",
        "each has a function of its own that is there",
        r"hipMemcpy(3D)?BatchAsync|hip(Drv)?Mem(Discard|Prefetch).*BatchAsync",
    ),
    AbsentGroup(
        "parts of a device",
        "a virtual GPU has no compute units that could be set apart",
        r"hipExecutionCtx.*|hipGreenCtx.*|hipDevSm.*|hipDevResource.*|hip(Device|Stream)GetDevResource|"
        r"hipDeviceGetExecutionCtx|hipExtStream.*CUMask",
    ),
    AbsentGroup("linking", "there is no compiler in the library", r"hipLink.*"),
    AbsentGroup(
        "logging and tracing",
        "the fault report and call counts serve that",
        r"hipExt(Enable|Disable|Set)Logging.*",
    ),
    AbsentGroup(
        "managed variables of libraries",
        "managed variables are made when compiled code registers them",
        r"hipLibraryGetManaged",
    ),
)


def group_of(function: str) -> AbsentGroup | None:
    """The group of a function that is not there."""
    return next((group for group in GROUPS if group.holds(function)), None)
