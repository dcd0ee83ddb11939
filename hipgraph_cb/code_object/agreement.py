"""Whether the metadata and the kernel descriptor of one kernel agree, and what holds where they do not.

AMD's loader compares nothing, and real libraries have kernels whose LDS is larger in one of the two. So a difference of
sizes refuses no kernel: it is noted, and a launch gets the larger.
"""

from __future__ import annotations

from dataclasses import replace

from hipgraph_cb.abi.kernel_descriptor import KernelDescriptor
from hipgraph_cb.code_object.metadata import MAX_KERNARG_SIZE, KernelMetadata
from hipgraph_cb.errors import InvalidArgumentError, OutOfRangeError


def check_agreement(kernel: KernelMetadata, descriptor: KernelDescriptor, offset: int) -> tuple[str, ...]:
    """The differences that do no harm. `offset` is the descriptor's, in the file.

    Raises:
        InvalidArgumentError: the two name different wavefront sizes: the code was compiled for one of them.
    """
    wavefront_size = kernel.wavefront_size or descriptor.wavefront_size
    if wavefront_size != descriptor.wavefront_size:
        raise InvalidArgumentError(
            "the metadata and the kernel descriptor disagree",
            where=f"descriptor at file offset {offset}",
            found=f"wavefront size: {wavefront_size} in the note, {descriptor.wavefront_size} in the descriptor",
            allowed="the same value",
        )
    stated = kernel.kernarg_segment_size
    pairs = (
        ("kernarg size", stated, descriptor.kernarg_size or stated),
        ("fixed LDS size", kernel.group_segment_fixed_size, descriptor.group_segment_fixed_size),
        ("scratch size", kernel.private_segment_fixed_size, descriptor.private_segment_fixed_size),
    )
    return tuple(
        f"{what}: {note} in the note, {value} in the descriptor; the larger holds"
        for what, note, value in pairs
        if note != value
    )


def with_whole_kernarg(kernel: KernelMetadata, descriptor: KernelDescriptor, offset: int) -> KernelMetadata:
    """The kernel with a kernarg segment as large as the note and the descriptor want it.

    A descriptor that states no size (0, where assembly leaves it out) leaves it to the note.

    Raises:
        OutOfRangeError: the descriptor wants more than anybody may.
    """
    size = descriptor.kernarg_size
    if size <= kernel.kernarg_segment_size:
        return kernel
    if size > MAX_KERNARG_SIZE:
        raise OutOfRangeError(
            "the kernarg segment is too large",
            where=f"file offset {offset + 8} (kernarg_size)",
            found=str(size),
            allowed=f"at most {MAX_KERNARG_SIZE}",
        )
    return replace(kernel, kernarg_segment_size=size)
