"""Small programs in machine code: assembled once with llvm-mc-19 for gfx942, kept as source and bytes."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from hipgraph_cb.virtual.dispatch import DEFAULTS, ExecutionSettings, execute
from hipgraph_cb.virtual.launch import Launch
from hipgraph_cb.virtual.memory import Memory

KERNARG_PTR = 1 << 3
NEAREST_KEEP_DENORMALS = 0xF0 << 12 | 1 << 21 | 1 << 23


@dataclass(frozen=True)
class Assembled:
    """Source for the reader, bytes for the machine."""

    source: str
    code: bytes


def assembled(source: str, code: str) -> Assembled:
    return Assembled(source, bytes.fromhex(code))


def kernel_of(memory: Memory, program: Assembled, *, lds: int = 0, scratch: int = 0, **fields: int) -> SimpleNamespace:
    """A kernel that gets the kernarg pointer in s[0:1], workgroup ids x, y, z in s2, s3, s4, and packed ids in v0."""
    descriptor = {
        "group_segment_fixed_size": lds,
        "private_segment_fixed_size": scratch,
        "kernel_code_entry_byte_offset": 0,
        "compute_pgm_rsrc1": NEAREST_KEEP_DENORMALS,
        "compute_pgm_rsrc2": 2 << 1 | 7 << 7 | 2 << 11,
        "compute_pgm_rsrc3": 0,
        "kernel_code_properties": KERNARG_PTR,
        "kernarg_preload_length": 0,
        "kernarg_preload_offset": 0,
    }
    address = memory.allocate(len(program.code), label="code")
    memory.bytes(address, len(program.code))[:] = np.frombuffer(program.code, np.uint8)
    return SimpleNamespace(
        name="tried",
        descriptor=SimpleNamespace(**descriptor | fields),
        descriptor_address=address,
        code_address=address,
        code_size=len(program.code),
        frames_at=lambda pc: (),
    )


def run_program(
    program: Assembled,
    *,
    groups: int = 1,
    group_size: int = 64,
    words: int = 1024,
    lds: int = 0,
    settings: ExecutionSettings = DEFAULTS,
    interrupted=lambda: False,
    **fields: int,
) -> np.ndarray:
    """Run it with one argument, the address of `words` zeroed words; returns them."""
    memory = Memory(1 << 24)
    kernel = kernel_of(memory, program, lds=lds, **fields)
    out = memory.allocate(4 * words, label="out")
    memory.bytes(out, 4 * words)[:] = 0
    kernarg = memory.allocate(8, label="kernarg")
    memory.bytes(kernarg, 8).view(np.uint64)[0] = out
    launch = Launch(kernel, (groups * group_size, 1, 1), (group_size, 1, 1), kernarg)
    execute(launch, memory, settings=settings, interrupted=interrupted)
    return memory.bytes(out, 4 * words).view(np.uint32).copy()
