"""One dispatch as the virtual GPU gets it, and how its grid is cut into workgroups and waves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hipgraph_cb.cached import cached_property
from hipgraph_cb.code_object.debug_info.debug_info import Frame
from hipgraph_cb.errors import InvalidArgumentError

MAX_WORKGROUP = 1024
MAX_LDS = 65536
MAX_SCRATCH = 131_056
"""Bytes of scratch of one lane: 8191 KiB a wave is the most that a wave's register can hold."""


class DescriptorLike(Protocol):
    """The fields of a kernel descriptor that decide how a wave starts."""

    @property
    def group_segment_fixed_size(self) -> int: ...
    @property
    def private_segment_fixed_size(self) -> int: ...
    @property
    def kernel_code_entry_byte_offset(self) -> int: ...
    @property
    def compute_pgm_rsrc1(self) -> int: ...
    @property
    def compute_pgm_rsrc2(self) -> int: ...
    @property
    def compute_pgm_rsrc3(self) -> int: ...
    @property
    def kernel_code_properties(self) -> int: ...
    @property
    def kernarg_preload_length(self) -> int: ...
    @property
    def kernarg_preload_offset(self) -> int: ...


class KernelLike(Protocol):
    """A kernel in device memory. `code_address` and `code_size` bound the executable segment that it is in."""

    @property
    def name(self) -> str: ...
    @property
    def descriptor(self) -> DescriptorLike: ...
    @property
    def descriptor_address(self) -> int: ...
    @property
    def code_address(self) -> int: ...
    @property
    def code_size(self) -> int: ...
    def frames_at(self, pc: int) -> tuple[Frame, ...]:
        """The source lines of an instruction, by its device address; empty where they are not known."""


@dataclass(frozen=True)
class Launch:
    """What an AQL dispatch packet says.

    Attributes:
        kernel: the loaded kernel.
        grid: work-items in x, y, z (not workgroups); need not be a multiple of `workgroup`.
        workgroup: work-items of one group in x, y, z.
        kernarg_address: device address of the packed arguments.
        dynamic_lds: bytes of LDS beyond the kernel's fixed size.
        packet_address: device address of the 64-byte dispatch packet, for kernels that read it.
        queue_address: device address of the queue descriptor.
        private_segment_size: scratch bytes a lane when larger than the kernel's own (dynamic stack).
    """

    kernel: KernelLike
    grid: tuple[int, int, int]
    workgroup: tuple[int, int, int]
    kernarg_address: int
    dynamic_lds: int = 0
    packet_address: int = 0
    queue_address: int = 0
    private_segment_size: int = 0

    def __post_init__(self) -> None:
        if len(self.grid) != 3 or len(self.workgroup) != 3 or min(self.grid) < 0 or min(self.workgroup) < 1:
            raise InvalidArgumentError(
                "a launch needs three grid sizes and three workgroup sizes",
                found=f"grid {self.grid}, workgroup {self.workgroup}",
                allowed="grid sizes >= 0, workgroup sizes >= 1",
            )
        if self.lanes_per_group > MAX_WORKGROUP:
            raise InvalidArgumentError(
                "the workgroup is too large",
                found=f"{self.workgroup}: {self.lanes_per_group} work-items",
                allowed=f"at most {MAX_WORKGROUP} work-items",
            )
        if self.lds_size > MAX_LDS:
            raise InvalidArgumentError(
                "the workgroup wants more LDS than there is",
                found=f"{self.lds_size} bytes ({self.dynamic_lds} of them dynamic)",
                allowed=f"at most {MAX_LDS} bytes",
            )
        if self.scratch_size > MAX_SCRATCH:
            raise InvalidArgumentError(
                "the kernel wants more scratch than there is",
                found=f"{self.scratch_size} bytes a work-item",
                allowed=f"at most {MAX_SCRATCH} bytes",
            )

    @cached_property
    def lanes_per_group(self) -> int:
        x, y, z = self.workgroup
        return x * y * z

    def waves_per_group(self, lanes: int) -> int:
        """How many waves of so many lanes a workgroup has."""
        return -(-self.lanes_per_group // lanes)

    @cached_property
    def groups(self) -> tuple[int, int, int]:
        """Workgroups in x, y, z; a partial one counts."""
        x, y, z = (-(-size // group) for size, group in zip(self.grid, self.workgroup, strict=True))
        return x, y, z

    @cached_property
    def group_count(self) -> int:
        x, y, z = self.groups
        return x * y * z

    @cached_property
    def ragged(self) -> tuple[bool, bool, bool]:
        """Whether the grid ends within a workgroup, in x, y, z."""
        x, y, z = (size % group != 0 for size, group in zip(self.grid, self.workgroup, strict=True))
        return x, y, z

    @property
    def lds_size(self) -> int:
        """Bytes of LDS of one workgroup."""
        return self.kernel.descriptor.group_segment_fixed_size + self.dynamic_lds

    @property
    def scratch_size(self) -> int:
        """Bytes of scratch of one lane."""
        return max(self.kernel.descriptor.private_segment_fixed_size, self.private_segment_size)
