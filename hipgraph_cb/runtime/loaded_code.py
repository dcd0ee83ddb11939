"""What is known of code once it is loaded: where it is, and what a launch of a kernel states about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hipgraph_cb.code_object.verify import VerifiedExport

DIMENSIONS = 3
MOST = (1 << 32) - 1
"""The largest 32-bit number: what a packet can state."""


class CodeRange(NamedTuple):
    """A code object in device memory.

    Attributes:
        address, size: its bytes.
        delta: what the loader has added to the addresses in the file: a symbol's value and this is where it is now.
    """

    address: int
    size: int
    delta: int


class KernelFacts(NamedTuple):
    """What the runtime says of a kernel; `object` is None where it does not say that."""

    private_segment_size: int
    group_segment_size: int
    object: int | None


class DispatchDescriptor(NamedTuple):
    """What every launch of a kernel on a device states, whatever its arguments. Sizes in bytes.

    Attributes:
        kernel: its name.
        setup: dimensions, as an AQL packet has them.
        workgroup_size: what the code object requires, else 1 in each dimension.
        private_segment_size: of one work-item.
        group_segment_size: LDS of one workgroup, without what a dispatch adds.
        kernarg_size, kernarg_alignment: of the block of arguments.
        kernel_object: the address of the kernel descriptor on the device; None on HIP, which does not say it.
        binding_count, constant_count: what the HAL convention of arguments takes.
        max_workgroup_count: in x, y, z, with this workgroup size: a grid has 32 bits of work-items in each dimension.
        max_dynamic_lds: what a packet can state beyond `group_segment_size`; the device has less.
    """

    kernel: str
    setup: int
    workgroup_size: tuple[int, int, int]
    private_segment_size: int
    group_segment_size: int
    kernarg_size: int
    kernarg_alignment: int
    kernel_object: int | None
    binding_count: int
    constant_count: int
    max_workgroup_count: tuple[int, int, int]
    max_dynamic_lds: int


def descriptor_of(export: VerifiedExport, facts: KernelFacts) -> DispatchDescriptor:
    """The descriptor of a kernel of which the runtime says this (HSA, `hsa_executable_symbol_get_info`)."""
    x, y, z = size = export.required_workgroup_size or (1, 1, 1)
    layout = export.layout
    return DispatchDescriptor(
        export.name,
        DIMENSIONS,
        size,
        facts.private_segment_size,
        facts.group_segment_size,
        layout.size,
        layout.alignment,
        facts.object,
        layout.binding_count,
        layout.constant_count,
        (MOST // x, MOST // y, MOST // z),
        MOST - facts.group_segment_size,
    )
