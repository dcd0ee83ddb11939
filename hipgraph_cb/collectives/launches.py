"""What each rank launches of a collective: which kernel, how many work-items, which arguments.

The kernels are in `kernels/collectives.c`. When they start, every rank has arrived, and where each rank sends from and
receives to is in a table. A part of the elements is one rank's: it alone reads and writes them, in the memory of every
rank. Therefore an operation may be in place, and the order of a reduction is that of the ranks, whatever happens first.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from hipgraph_cb.code_object.builtin_kernels import builtin_code_object
from hipgraph_cb.code_object.target_id import TargetId
from hipgraph_cb.code_object.verify import VerifiedExecutable, verify
from hipgraph_cb.collectives.operations import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    ELEMENT_SIZES,
    GATHER,
    REDUCE,
    REDUCE_SCATTER,
    REDUCING,
    SCATTER,
    Collective,
)

KERNELS = Path(__file__).parent / "kernels"
WORKGROUP_SIZE = 256
WORKGROUPS_PER_UNIT = 4
_ADDRESS = 8
_PART = 16
"""Parts begin at multiples of so many bytes, counted from the first element."""
_REDUCE = struct.Struct("<QQQIIIII4x")
_SPREAD = struct.Struct("<QQQQII")
_REDUCTIONS = {"sum": 0, "avg": 0, "prod": 1, "min": 2, "max": 3}
"""As the kernels number them; an average is a sum that is divided."""


class RankLaunch(NamedTuple):
    """One rank's launch.

    Attributes:
        kernel: its name.
        workgroups: of `WORKGROUP_SIZE` work-items each, in x.
        source, target: where in the table of addresses the kernel finds its sources and its targets.
        numbers: the arguments behind the two.
    """

    kernel: str
    workgroups: int
    source: int
    target: int
    numbers: bytes

    def arguments(self, table: int) -> bytes:
        """The kernarg block, with the address of the table: where each rank sends from, then where each receives."""
        return struct.pack("<QQ", table + _ADDRESS * self.source, table + _ADDRESS * self.target) + self.numbers


def most_workgroups(compute_units: int) -> int:
    """How many workgroups one launch on a device may have; larger work loops."""
    return max(compute_units, 1) * WORKGROUPS_PER_UNIT


def launch_of(operation: Collective, rank: int, ranks: int, most: int) -> RankLaunch | None:
    """What a rank launches of an operation of all ranks; None where nothing is left for it.

    Args:
        most: workgroups of one launch, see `most_workgroups`.
    """
    if operation.kind in REDUCING:
        return _reduction(operation, rank, ranks, most)
    return _movement(operation, rank, ranks, most)


def launch_of_pair(length: int, most: int) -> RankLaunch | None:
    """What the receiver of `length` bytes launches; its table has two addresses, of the sender and of its own."""
    return _spread(length, most, source=0, target=1, targets=1) if length else None


def _part(operation: Collective, rank: int, ranks: int) -> tuple[int, int]:
    """The first element and the number of elements that are one rank's."""
    aligned = _PART // ELEMENT_SIZES[operation.type]
    size = -(-operation.elements // (ranks * aligned)) * aligned
    first = min(rank * size, operation.elements)
    return first, min(size, operation.elements - first)


def _reduction(operation: Collective, rank: int, ranks: int, most: int) -> RankLaunch | None:
    if operation.kind == REDUCE_SCATTER:
        first, count, written = rank * operation.elements, operation.elements, 0
    else:
        first, count = _part(operation, rank, ranks)
        written = first
    if count == 0:
        return None
    targets = ranks if operation.kind == ALL_REDUCE else 1
    target = {ALL_REDUCE: 0, REDUCE: operation.root, REDUCE_SCATTER: rank}[operation.kind]
    workgroups = _workgroups(count, most)
    number = _REDUCTIONS[operation.reduction]
    divisor = ranks if operation.reduction == "avg" else 1
    lanes = workgroups * WORKGROUP_SIZE
    numbers = _REDUCE.pack(first, written, count, ranks, targets, number, divisor, lanes)
    return RankLaunch(f"reduce_{operation.type}", workgroups, 0, ranks + target, numbers)


def _movement(operation: Collective, rank: int, ranks: int, most: int) -> RankLaunch | None:
    kind, root, block = operation.kind, operation.root, operation.block
    if kind == BROADCAST:
        first, count = (each * ELEMENT_SIZES[operation.type] for each in _part(operation, rank, ranks))
        return _spread(count, most, root, ranks, ranks, source_first=first, target_first=first)
    if kind == SCATTER:
        return _spread(block, most, root, ranks + rank, 1, source_first=rank * block)
    place = rank * block
    if kind == GATHER:
        return _spread(block, most, rank, ranks + root, 1, target_first=place)
    step = {ALL_GATHER: 0, ALL_TO_ALL: block}[kind]
    return _spread(block, most, rank, ranks, ranks, target_first=place, source_step=step)


def _spread(
    length: int,
    most: int,
    source: int,
    target: int,
    targets: int,
    *,
    source_first: int = 0,
    source_step: int = 0,
    target_first: int = 0,
) -> RankLaunch | None:
    if length == 0:
        return None
    workgroups = _workgroups(-(-length // 4), most)
    lanes = workgroups * WORKGROUP_SIZE
    numbers = _SPREAD.pack(source_first, source_step, target_first, length, targets, lanes)
    return RankLaunch("spread", workgroups, source, target, numbers)


def _workgroups(wanted: int, most: int) -> int:
    return min(-(-wanted // WORKGROUP_SIZE), most)


@lru_cache
def code_object_for(target: TargetId) -> VerifiedExecutable:
    """The kernels for a target.

    Raises:
        UnavailableError: there are none.
    """
    missing = "there are no kernels for collectives on this target"
    return verify(builtin_code_object(KERNELS, "collectives", target, missing, "use RCCL, through backend='hip'"))
