"""Fills and copies as launches of our own kernels: which kernel, how many work-items, which arguments.

The kernels stand in `kernels/blit.c`. Each moves the largest elements that both ends are aligned to, with single bytes
in front and behind.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hipgraph_cb.errors import UnavailableError
from hipgraph_cb.executable.target_id import TargetId, incompatibilities
from hipgraph_cb.executable.verify import VerifiedExecutable, verify
from hipgraph_cb.hsa.executable import KernelCode, find_kernel, load_code

if TYPE_CHECKING:
    from hipgraph_cb.hsa.agents import Agent
    from hipgraph_cb.hsa.api import HsaApi

KERNELS = Path(__file__).parent / "kernels"
WORKGROUP_SIZE = 256
WORKGROUPS_PER_UNIT = 4
"""Workgroups for each compute unit: enough to keep its four SIMDs busy, few enough to start at once. Longer fills and
copies go round in a loop."""
LARGEST = 16
COPY_ARGUMENTS = struct.Struct("<QQQIII4x")
FILL_ARGUMENTS = struct.Struct("<QQIIII")
ARGUMENTS_SIZE = 64
"""Bytes of the kernarg block of a blit."""
_LANES_UNIT = 64


class Blit(NamedTuple):
    """One launch: the kernel's name, its grid in work-items along x, and its kernarg bytes."""

    kernel: str
    lanes: int
    arguments: bytes


def copy(target: int, source: int, length: int, most_lanes: int) -> Blit:
    """Copy `length` bytes between addresses; at most `most_lanes` work-items."""
    apart = (target - source) % LARGEST
    element = apart & -apart or LARGEST
    head, count, tail = _split(target, length, element)
    lanes = _lanes(head, count, tail, most_lanes)
    return Blit(f"copy_{element}", lanes, COPY_ARGUMENTS.pack(target, source, count, head, tail, lanes))


def fill(target: int, length: int, pattern: bytes, most_lanes: int) -> Blit:
    """Fill `length` bytes from an address on with a pattern of 1, 2 or 4 bytes; at most `most_lanes` work-items."""
    head, count, tail = _split(target, length, LARGEST)
    lanes = _lanes(head, count, tail, most_lanes)
    start = -target % 4
    word = int.from_bytes((pattern * 8)[start : start + 4], "little")
    return Blit("fill", lanes, FILL_ARGUMENTS.pack(target, count, head, tail, word, lanes))


def _split(target: int, length: int, element: int) -> tuple[int, int, int]:
    """Bytes up to the first aligned element, whole elements, bytes behind the last one."""
    head = min(-target % element, length)
    count, tail = divmod(length - head, element)
    return head, count, tail


def _lanes(head: int, count: int, tail: int, most: int) -> int:
    wanted = max(head, count, tail)
    return min(-(-wanted // _LANES_UNIT) * _LANES_UNIT, most)


@lru_cache
def code_object_for(target: TargetId) -> VerifiedExecutable:
    """The kernels for a target: made for it, or for the generic target of its family.

    Raises:
        UnavailableError: there are none.
    """
    files = sorted(KERNELS.glob("blit.*.hsaco"), key=lambda file: ("generic" in file.name, file.name))
    for file in files:
        processor = file.name.split(".")[1]
        if processor == target.processor or (TargetId.parse(processor).is_generic and _runs(file, target)):
            return verify(file.read_bytes())
    raise UnavailableError(
        "open_device: the HSA backend has no fill and copy kernels for this target",
        found=str(target),
        allowed=", ".join(file.name.split(".")[1] for file in files),
        next_step="open the device with backend='hip'",
    )


class BlitKernels:
    """The kernels on one device.

    Attributes:
        handle: keeps the code alive; programs that use it hold it too.
        most_lanes: work-items that one launch may have.
    """

    def __init__(self, api: HsaApi, agent: Agent) -> None:
        self._verified = code_object_for(agent.target)
        self.handle = load_code(api, agent, self._verified.data, "the kernels for fills and copies")
        self.most_lanes = max(agent.compute_units, 1) * WORKGROUPS_PER_UNIT * WORKGROUP_SIZE
        self._kernels = {
            name: find_kernel(api, agent, self.handle.native, export, f"kernel {name}")
            for name, export in self._verified.exports.items()
        }

    def kernel(self, name: str) -> KernelCode:
        return self._kernels[name]


def _runs(file: Path, target: TargetId) -> bool:
    return not incompatibilities(verify(file.read_bytes()).target, target)
