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
LENGTHS = (1_000, NODES, 50_000)
REPLAYS = 2_000
REBOUND = 1_000
REBINDS = 10


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
    chain = Chain(device)
    return [*record_and_lower(chain), *replay(chain), *rebind(device)]


def record_and_lower(chain: Chain) -> list[Figure]:
    """For short and long recordings, beside the straightforward program of the same length."""
    from tests.benchmarks.straightforward import build, build_reusing

    figures = []
    for count in LENGTHS:
        actions = {
            "ours": lambda n=count: chain.record(n),
            "straightforward": lambda n=count: chain.straightforward(n, build),
        }
        if count == NODES:
            recording = chain.record(count).recording
            actions["tuned"] = lambda n=count: chain.straightforward(n, build_reusing)
            actions["lower"] = lambda value=recording: chain.device.program(value)
        medians = interleaved_medians(actions, count, runs=9 if count <= NODES else 5)
        ours, straightforward = medians["ours"], medians["straightforward"]
        name = f"{count:,}".replace(",", " ")
        figures.append(Figure(f"straightforward.py: add one dispatch of {name}", straightforward))
        figures.append(
            Figure(f"record + lower one dispatch of {name}", ours, ours / straightforward, "straightforward", "0.7")
        )
        if count == NODES:
            lowering, tuned = medians["lower"], medians["tuned"]
            figures.append(Figure("of that, lower", lowering, lowering / straightforward, "straightforward"))
            figures.append(
                Figure("straightforward.py, tuned for one kernel", tuned, tuned / straightforward, "straightforward")
            )
    return figures


def rebind(device: Any) -> list[Figure]:
    """One slot given other memory, used by one of 1 000 dispatches and by all of them."""
    from hipgraph_cb import Slot

    kernel = device.load(CODE_OBJECT)["saxpby"]
    out, x, y, other = (device.allocate(4096) for _ in range(4))
    figures = []
    for users in (1, REBOUND):
        for update in ("exec", "reinstantiate"):
            with device.command_buffer(binding_capacity=1, update=update) as cb:
                for index in range(REBOUND):
                    cb.dispatch(kernel, 4, 256, args=[Slot(0) if index < users else out, x, y, 2.0, 1000])
                    cb.execution_barrier()
            tables = [[out], [other]]

            def rebinds(cb: Any = cb, tables: Any = tables) -> None:
                for index in range(REBINDS):
                    cb.replay(bindings=tables[index % 2])

            seconds = median_seconds(rebinds, REBINDS, runs=5)
            used = "1 of 1 000 dispatches" if users == 1 else "all of 1 000 dispatches"
            figures.append(Figure(f"rebind a slot of {used} ({update})", seconds))
    return figures


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
