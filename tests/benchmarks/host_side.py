"""Record, lower and replay over the null runtime, beside the straightforward program: the host's part alone.

Runs in a process of its own, since a process has one HIP library: `figures()` starts it and reads what it prints.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from hipgraph_cb.hip.device import HipDevice
from hipgraph_cb.virtual.install import install
from tests.benchmarks.timing import Figure, interleaved_medians, median_seconds

CODE_OBJECT = Path(__file__).parent.parent / "fixtures" / "conformance" / "conformance.gfx942.hsaco"
NODES = 10_000
REPLAYS = 2_000


def figures() -> list[Figure]:
    result = subprocess.run([sys.executable, "-m", "tests.benchmarks.host_side"], stdout=subprocess.PIPE, check=True)
    return [Figure(*row) for row in json.loads(result.stdout)]


class Chain:
    """A chain of dispatches with three buffers and two scalars each, made by us and by the straightforward program."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self.executable = device.load(CODE_OBJECT)
        self.kernel = self.executable["saxpby"]
        self.function = self.executable.function("saxpby")
        self.buffers = [device.allocate(4096, label) for label in ("out", "x", "y")]

    def record(self, count: int) -> Any:
        out, x, y = self.buffers
        kernel = self.kernel
        with self.device.command_buffer() as cb:
            for _ in range(count):
                cb.dispatch(kernel, 4, 256, args=[out, x, y, 2.0, 1000])
                cb.execution_barrier()
        return cb

    def straightforward(self, count: int, build: Any) -> Any:
        addresses = [buffer.address for buffer in self.buffers]
        return build(self.function, [(*addresses, 2.0, 1000)] * count)


def measure(device: Any) -> list[Figure]:
    from tests.benchmarks.straightforward import build, build_reusing

    chain = Chain(device)
    medians = interleaved_medians(
        {
            "ours": lambda: chain.record(NODES),
            "straightforward": lambda: chain.straightforward(NODES, build),
            "tuned": lambda: chain.straightforward(NODES, build_reusing),
        },
        NODES,
    )
    recording = chain.record(NODES).recording
    lowering = median_seconds(lambda: device.program(recording), NODES)
    ours, straightforward, tuned = medians["ours"], medians["straightforward"], medians["tuned"]
    return [
        Figure("straightforward.py: add one dispatch of 10 000", straightforward),
        Figure("straightforward.py, tuned for one kernel", tuned),
        Figure(
            "record + lower one dispatch of 10 000", ours, ours / straightforward, "straightforward", "1.0, then 0.7"
        ),
        Figure("of that, lower", lowering, lowering / straightforward, "straightforward"),
        *growth(chain),
        *replay(chain),
    ]


def growth(chain: Chain) -> list[Figure]:
    seconds = {count: median_seconds(lambda n=count: chain.record(n), count, runs=5) for count in (1_000, 50_000)}
    ratio = seconds[50_000] / seconds[1_000]
    return [
        Figure("record + lower one dispatch of 1 000", seconds[1_000]),
        Figure("record + lower one dispatch of 50 000", seconds[50_000], ratio, "that of 1 000", "linear: about 1"),
    ]


def replay(chain: Chain) -> list[Figure]:
    from hip import hip

    program = chain.record(10).program
    _, graph = hip.hipGraphCreate(0)
    _, executable, _, _ = hip.hipGraphInstantiate(graph, 0)
    _, stream = hip.hipStreamCreateWithFlags(1)

    def launches() -> None:
        for _ in range(REPLAYS):
            hip.hipGraphLaunch(executable, stream)

    def replays() -> None:
        for _ in range(REPLAYS):
            program.replay()

    medians = interleaved_medians({"launch": launches, "replay": replays}, REPLAYS)
    return [
        Figure("hipGraphLaunch alone", medians["launch"]),
        Figure("ours on top, of a replay without slots", medians["replay"] - medians["launch"], hold="2 us"),
    ]


def main() -> None:
    runtime = install(["gfx942"])
    with runtime.null_runtime(), HipDevice() as device:
        print(json.dumps(measure(device)))


if __name__ == "__main__":
    main()
