"""The faults of a kernel on the virtual GPU, and how they are reported.

A fault has one of the codes that AMD's runtime gives (hipErrorIllegalAddress, hipErrorLaunchTimeOut,
hipErrorLaunchFailure) and names the instruction, the place in the grid and the address.
"""

from __future__ import annotations

from enum import Enum

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.code_object.debug_info.debug_info import Frame
from hipgraph_cb.code_object.debug_info.source_text import described
from hipgraph_cb.errors import HipGraphError


class FaultKind(Enum):
    """What went wrong; `.hip_code` is the hipError_t that a HIP call returns for it."""

    ILLEGAL_ADDRESS = ("memory access fault", Code.ILLEGAL_ADDRESS)
    ILLEGAL_INSTRUCTION = ("illegal instruction", Code.LAUNCH_FAILURE)
    LAUNCH_FAILURE = ("launch failure", Code.LAUNCH_FAILURE)
    TIMEOUT = ("kernel stopped before its end", Code.LAUNCH_TIME_OUT)

    def __init__(self, title: str, hip_code: Code) -> None:
        self.title = title
        self.hip_code = hip_code


class DeviceFault(HipGraphError):  # noqa: N818
    """A kernel was stopped.

    Attributes:
        kind: a `FaultKind`; `hip_code` is its number.
        description: what was wrong, in words.
        kernel: name of the kernel.
        pc: address of the instruction, or None before the first one.
        offset: the same, in bytes from the kernel's entry.
        instruction: its text in LLVM's syntax.
        workgroup, wave, lane: of the first fault: group index (x, y, z), wave in the group, lane in the wave.
        address: the memory address of the access.
        frames: the source line of the instruction, and where it was inlined; empty where that is not known.
    """

    status = "ABORTED"

    def __init__(
        self,
        kind: FaultKind,
        description: str,
        *,
        kernel: str,
        pc: int | None = None,
        offset: int | None = None,
        instruction: str | None = None,
        workgroup: tuple[int, int, int] | None = None,
        wave: int | None = None,
        lane: int | None = None,
        address: int | None = None,
    ) -> None:
        super().__init__(f"{kind.title}: {description}")
        self.kind = kind
        self.hip_code = kind.hip_code
        self.description = description
        self.kernel = kernel
        self.pc = pc
        self.offset = offset
        self.instruction = instruction
        self.workgroup = workgroup
        self.wave = wave
        self.lane = lane
        self.address = address
        self.frames: tuple[Frame, ...] = ()

    def report(self) -> str:
        """The fault in several lines: what, kernel, instruction, source line, place in the grid, address."""
        lines = [self.what, f"  kernel: {self.kernel}"]
        if self.instruction is not None:
            lines.append(f"  instruction: {self.instruction}")
        lines += [f"  {what}: {place}" for what, place in described(self.frames)]
        if self.pc is not None:
            entry = "" if self.offset is None else f" (entry {self.offset:+#x})"
            lines.append(f"  pc: {self.pc:#x}{entry}")
        if self.workgroup is not None:
            wave = "" if self.wave is None else f", wave {self.wave}"
            lane = "" if self.lane is None else f", lane {self.lane}"
            lines.append(f"  workgroup: {self.workgroup}{wave}{lane}")
        if self.address is not None:
            lines.append(f"  address: {self.address:#x}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.report()
