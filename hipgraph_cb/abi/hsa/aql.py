"""AQL packets (HSA Platform System Architecture Specification 1.2, "Architected Queuing Language")."""

from __future__ import annotations

import ctypes
from ctypes import c_int64, c_uint8, c_uint16, c_uint32, c_uint64
from typing import ClassVar

PACKET_SIZE = 64
VENDOR_SPECIFIC, INVALID, KERNEL_DISPATCH, BARRIER_AND, AGENT_DISPATCH, BARRIER_OR = range(6)
"""Packet types: the low byte of a header."""
TYPE_MASK = 0xFF
BARRIER_BIT = 1 << 8
ACQUIRE_SHIFT, RELEASE_SHIFT, HEADER_BITS = 9, 11, 13
NO_SCOPE, AGENT_SCOPE, SYSTEM_SCOPE = range(3)
"""Fence scopes."""
SCOPE_MASK = 3
DIMENSIONS_MASK = 3
"""Of the setup field."""
AMD_BARRIER_VALUE = 2
"""The format of a vendor-specific packet that waits for a signal's value."""
KERNARG_ALIGNMENT = 16


def packet_header(kind: int, *, barrier: bool = False, acquire: int = NO_SCOPE, release: int = NO_SCOPE) -> int:
    """The 16-bit header of a packet; `acquire` and `release` are scopes."""
    return kind | (BARRIER_BIT if barrier else 0) | acquire << ACQUIRE_SHIFT | release << RELEASE_SHIFT


class DispatchPacket(ctypes.Structure):
    """hsa_kernel_dispatch_packet_t. Grid sizes in work-items, segment sizes in bytes."""

    _fields_: ClassVar = [
        ("header", c_uint16),
        ("setup", c_uint16),
        ("workgroup_size", c_uint16 * 3),
        ("reserved0", c_uint16),
        ("grid_size", c_uint32 * 3),
        ("private_segment_size", c_uint32),
        ("group_segment_size", c_uint32),
        ("kernel_object", c_uint64),
        ("kernarg_address", c_uint64),
        ("reserved2", c_uint64),
        ("completion_signal", c_uint64),
    ]


class BarrierPacket(ctypes.Structure):
    """hsa_barrier_and_packet_t and hsa_barrier_or_packet_t."""

    _fields_: ClassVar = [
        ("header", c_uint16),
        ("reserved0", c_uint16),
        ("reserved1", c_uint32),
        ("dep_signal", c_uint64 * 5),
        ("reserved2", c_uint64),
        ("completion_signal", c_uint64),
    ]


class BarrierValuePacket(ctypes.Structure):
    """hsa_amd_barrier_value_packet_t."""

    _fields_: ClassVar = [
        ("header", c_uint16),
        ("amd_format", c_uint8),
        ("reserved", c_uint8),
        ("reserved0", c_uint32),
        ("signal", c_uint64),
        ("value", c_int64),
        ("mask", c_int64),
        ("cond", c_uint32),
        ("reserved1", c_uint32),
        ("reserved2", c_uint64),
        ("reserved3", c_uint64),
        ("completion_signal", c_uint64),
    ]
