"""Verifying code objects, warm: a real one of 6 KB beside `llvm-readobj`, and built ones that grow in kernels."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from hipgraph_cb.code_object.verify import verify
from tests.benchmarks.timing import Figure, median_seconds
from tests.support import elf

CODE_OBJECT = Path(__file__).parent.parent / "fixtures" / "corpus" / "clang" / "h_hip.gfx942.hsaco"
READOBJ = "llvm-readobj-19"
REPEATS = 20
KERNELS = (200, 2_000)


def figures() -> list[Figure]:
    data = CODE_OBJECT.read_bytes()
    seconds = median_seconds(lambda: [verify(data) for _ in range(REPEATS)], REPEATS)
    rows = [Figure(f"verify a code object of {len(data)} bytes, warm", seconds, hold="300 us")]
    if shutil.which(READOBJ):
        command = [READOBJ, "--notes", "--symbols", str(CODE_OBJECT)]
        seconds = median_seconds(lambda: subprocess.run(command, capture_output=True, check=True))
        rows.append(Figure(f"the same file through {READOBJ}, a process", seconds))
    return rows + _growth()


def _growth() -> list[Figure]:
    few, many = KERNELS
    each = {count: _seconds_per_kernel(count) for count in KERNELS}
    return [
        Figure(f"verify, one kernel of {few}", each[few]),
        Figure(f"verify, one kernel of {many}", each[many], each[many] / each[few], f"one of {few}", "1.5 x: linear"),
    ]


def _seconds_per_kernel(count: int) -> float:
    arguments = [elf.pointer(0), elf.pointer(8), elf.argument(16, 4, type_name="float"), elf.argument(20, 4)]
    data = elf.code_object(*(elf.kernel(f"kernel_{index}", arguments) for index in range(count)))
    return median_seconds(lambda: verify(data), count)
