"""Prints every figure. Virtual figures need a process that sees a virtual gfx942."""

from __future__ import annotations

import os

from tests.benchmarks import exports, hip_replay, host_side, hsa_replay, import_time, verification
from tests.benchmarks.calibration import calibrate
from tests.benchmarks.timing import RUNS, Figure


def main() -> None:
    os.environ["HIPGRAPH_CB_VIRTUAL"] = "gfx942"
    print(f"median of {RUNS} runs\n")
    calibration = calibrate()
    print(Figure("calibrate()", calibration), flush=True)
    from tests.benchmarks import virtual_kernels

    for figure in virtual_kernels.figures(calibration):
        print(figure, flush=True)
    for module in (hip_replay, host_side, hsa_replay, verification, exports, import_time):
        for figure in module.figures():
            print(figure, flush=True)


main()
