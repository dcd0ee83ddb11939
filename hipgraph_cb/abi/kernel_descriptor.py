"""The 64-byte kernel descriptor in front of a kernel's code (LLVM AMDGPU usage, "Kernel Descriptor")."""

from __future__ import annotations

import struct
from dataclasses import dataclass

DESCRIPTOR_SIZE = 64
_LAYOUT = struct.Struct("<III4xq20xIIIHHI")
PRIVATE_SEGMENT_BUFFER, DISPATCH_PTR, QUEUE_PTR, KERNARG_SEGMENT_PTR, DISPATCH_ID, FLAT_SCRATCH_INIT = (
    1 << bit for bit in range(6)
)
PRIVATE_SEGMENT_SIZE = 1 << 6
"""Bits of kernel_code_properties: which values a wave finds in its first scalar registers, in this order."""
WAVEFRONT_SIZE_32, DYNAMIC_STACK = 1 << 10, 1 << 11
"""The others of them."""


@dataclass(frozen=True)
class KernelDescriptor:
    """All fields of one descriptor. Sizes in bytes; the entry offset counts from the descriptor's own address."""

    group_segment_fixed_size: int
    private_segment_fixed_size: int
    kernarg_size: int
    kernel_code_entry_byte_offset: int
    compute_pgm_rsrc3: int
    compute_pgm_rsrc1: int
    compute_pgm_rsrc2: int
    kernel_code_properties: int
    kernarg_preload: int

    @staticmethod
    def from_bytes(data: bytes, offset: int = 0) -> KernelDescriptor:
        """Decode the 64 bytes at `offset`, which the caller has checked to be there."""
        *fields, _ = _LAYOUT.unpack_from(data, offset)
        return KernelDescriptor(*fields)

    @property
    def kernarg_preload_length(self) -> int:
        """Dwords of the kernarg block that arrive in SGPRs."""
        return self.kernarg_preload & 0x7F

    @property
    def kernarg_preload_offset(self) -> int:
        """First preloaded dword of the kernarg block."""
        return self.kernarg_preload >> 7

    @property
    def wavefront_size(self) -> int:
        return 32 if self.kernel_code_properties & WAVEFRONT_SIZE_32 else 64
