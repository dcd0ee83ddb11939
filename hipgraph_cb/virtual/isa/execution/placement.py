"""Where the waves of a chunk are in the grid, and how a place is named in a fault."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hipgraph_cb.cached import cached_property
from hipgraph_cb.virtual.faults import DeviceFault, FaultKind

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction
    from hipgraph_cb.virtual.isa.core.target import Target


@dataclass(frozen=True)
class Placement:
    """A chunk: `groups` consecutive workgroups from `first_group` (x fastest) of a grid of `grid_groups`.

    Attributes:
        kernel: name of the kernel.
        code_address: device address of the start of the code segment; instruction addresses count from there.
        entry: offset of the kernel's first instruction in the code segment.
        lanes: of a wave.
        target: the processors that the code is for.
    """

    kernel: str
    code_address: int
    entry: int
    grid_groups: tuple[int, int, int]
    first_group: int
    groups: int
    waves_per_group: int
    lanes: int
    target: Target

    @cached_property
    def waves(self) -> int:
        return self.groups * self.waves_per_group

    def workgroup(self, wave: int) -> tuple[int, int, int]:
        """Index (x, y, z) of the workgroup that wave number `wave` of the chunk belongs to."""
        index = self.first_group + wave // self.waves_per_group
        x, y, _ = self.grid_groups
        return index % x, index // x % y, index // (x * y)

    def fault(
        self,
        kind: FaultKind,
        description: str,
        instruction: Instruction | None,
        wave: int | None = None,
        lane: int | None = None,
        address: int | None = None,
    ) -> DeviceFault:
        """Make the fault of `instruction` in wave number `wave` of the chunk."""
        return DeviceFault(
            kind,
            description,
            kernel=self.kernel,
            pc=None if instruction is None else self.code_address + instruction.address,
            offset=None if instruction is None else instruction.address - self.entry,
            instruction=None if instruction is None else self.text_of(instruction),
            workgroup=None if wave is None else self.workgroup(wave),
            wave=None if wave is None else wave % self.waves_per_group,
            lane=lane,
            address=address,
        )

    def fault_at(
        self, kind: FaultKind, description: str, offset: int, wave: int, text: str | None = None
    ) -> DeviceFault:
        """Make a fault of a whole wave at a PC (an offset into the code segment); `text` is the instruction there."""
        return DeviceFault(
            kind,
            description,
            kernel=self.kernel,
            pc=self.code_address + offset,
            offset=offset - self.entry,
            instruction=text,
            workgroup=self.workgroup(wave),
            wave=wave % self.waves_per_group,
        )

    def text_of(self, instruction: Instruction) -> str:
        """The instruction in LLVM's syntax."""
        return self.target.text(instruction.encoded or instruction, self.lanes)
