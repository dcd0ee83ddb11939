"""Fills and copies as launches of our own kernels: which kernel, how many work-items, which arguments.

The kernels are in `kernels/blit.c`. Where a work-item for each element does it, it moves that element; the general
kernels loop over the largest elements that both ends are aligned to, with single bytes in front and behind.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hipgraph_cb.code_object.builtin_kernels import builtin_code_object
from hipgraph_cb.code_object.verify import VerifiedExecutable, verify

if TYPE_CHECKING:
    from hipgraph_cb.code_object.target_id import TargetId

KERNELS = Path(__file__).parent / "kernels"
WORKGROUP_SIZE = 256
WORKGROUPS_PER_UNIT = 4
"""Workgroups for each compute unit: enough to keep its four SIMDs busy, few enough to start at once. Longer fills and
copies loop."""
LARGEST = 16
COPY_ARGUMENTS = struct.Struct("<QQQIII4x")
FILL_ARGUMENTS = struct.Struct("<QQIIII")
COPY_ONCE_ARGUMENTS = struct.Struct("<QQI4x")
FILL_ONCE_ARGUMENTS = struct.Struct("<QII")
SHORT = 4 * WORKGROUP_SIZE
"""Bytes up to which words are moved one by one; longer blits move four at a time."""
LANES_UNIT = 64


class Blit(NamedTuple):
    """One launch: the kernel's name, its grid in work-items along x, and its kernarg bytes."""

    kernel: str
    lanes: int
    arguments: bytes


def copy(target: int, source: int, length: int, most_lanes: int) -> Blit:
    """Copy `length` bytes between addresses; at most `most_lanes` work-items."""
    once = _once(target | source, length, most_lanes)
    if once is not None:
        element, last, lanes = once
        return Blit(f"copy_once_{element}", lanes, COPY_ONCE_ARGUMENTS.pack(target, source, last))
    apart = (target - source) % LARGEST
    element = apart & -apart or LARGEST
    head, count, tail = _split(target, length, element)
    lanes = lanes_for(max(head, count, tail), most_lanes)
    return Blit(f"copy_{element}", lanes, COPY_ARGUMENTS.pack(target, source, count, head, tail, lanes))


def quickest_fill(target: int, length: int, pattern: bytes, most_lanes: int) -> Blit:
    """As `fill`, by a kernel that only does what is needed here."""
    once = _once(target, length, most_lanes)
    if once is None:
        return fill(target, length, pattern, most_lanes)
    element, last, lanes = once
    word = int.from_bytes((pattern * 4)[:4], "little")
    return Blit(f"fill_once_{element}", lanes, FILL_ONCE_ARGUMENTS.pack(target, last, word))


def fill(target: int, length: int, pattern: bytes, most_lanes: int, unit: int = LANES_UNIT) -> Blit:
    """Fill `length` bytes from an address on with a pattern of 1, 2 or 4 bytes, by the one kernel that does any fill.

    Args:
        most_lanes: at most so many work-items.
        unit: a multiple of so many: HIP launches whole workgroups only.
    """
    head, count, tail = _split(target, length, LARGEST)
    lanes = lanes_for(max(head, count, tail), most_lanes, unit)
    start = -target % 4
    word = int.from_bytes((pattern * 8)[start : start + 4], "little")
    return Blit("fill", lanes, FILL_ARGUMENTS.pack(target, count, head, tail, word, lanes))


def _once(addresses: int, length: int, most_lanes: int) -> tuple[int, int, int] | None:
    """The size of elements, the index of the last one, and work-items in whole workgroups; None where they cannot each
    move one element.

    Args:
        addresses: the bits of all addresses.
    """
    element = LARGEST if (addresses | length) % LARGEST == 0 else 4
    count = length // element
    lanes = -(-count // WORKGROUP_SIZE) * WORKGROUP_SIZE
    if (addresses | length) % element or (element < LARGEST and length > SHORT) or not 0 < lanes <= most_lanes:
        return None
    return element, count - 1, lanes


def _split(target: int, length: int, element: int) -> tuple[int, int, int]:
    """Bytes up to the first aligned element, whole elements, bytes behind the last one."""
    head = min(-target % element, length)
    count, tail = divmod(length - head, element)
    return head, count, tail


def lanes_for(wanted: int, most: int, unit: int = LANES_UNIT) -> int:
    """As many work-items as are wanted, in whole units, but no more than `most`."""
    return min(-(-wanted // unit) * unit, most)


def most_lanes(compute_units: int) -> int:
    """Work-items that one launch on a device may have."""
    return max(compute_units, 1) * WORKGROUPS_PER_UNIT * WORKGROUP_SIZE


@lru_cache
def code_object_for(target: TargetId, missing: str, next_step: str) -> VerifiedExecutable:
    """The kernels for a target; see `builtin_code_object`."""
    return verify(builtin_code_object(KERNELS, "blit", target, missing, next_step))
