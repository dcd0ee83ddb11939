"""Record, lower, rebind and replay over the null runtime, beside the program by hand: the host's part alone.

Runs in a process of its own, since a process has one HIP library: `figures()` starts it and reads what it prints. Times
are those of the processor.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hipgraph_cb import Slot
from hipgraph_cb.hip.device import HipDevice
from hipgraph_cb.virtual.install import install
from tests.benchmarks.timing import Figure, interleaved_medians
from tests.benchmarks.workloads import (
    BUFFER_SIZE,
    POOL,
    WORKLOADS,
    Fill,
    Launch,
    Layers,
    Memory,
    decode_step,
    random_graph,
)

CODE_OBJECT = Path(__file__).parent.parent / "fixtures" / "benchmarks" / "decode.gfx942.hsaco"
LENGTHS = (1_000, 10_000, 50_000)
MEASURED = 10_000
REPLAYS = 2_000
REBOUND = 1_000
REBINDS = 10


def figures() -> list[Figure]:
    result = subprocess.run([sys.executable, "-m", "tests.benchmarks.host_side"], stdout=subprocess.PIPE, check=True)
    return [Figure(*row) for row in json.loads(result.stdout)]


class Bench:
    """A device with a pool of buffers and the kernels of the workloads."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self.executable = device.load(CODE_OBJECT)
        self.kernels = {name: self.executable[name] for name in self.executable}
        self.pool = [device.allocate(BUFFER_SIZE) for _ in range(POOL)]

    def calls(self, layers: Layers) -> list[list[Any]]:
        """The workload with buffers and kernels, as a user would have them in hand."""

        def at(value: Any) -> Any:
            return self.pool[value.number] if isinstance(value, Memory) else value

        return [
            [
                step._replace(**{name: at(value) for name, value in step._asdict().items()})
                if not isinstance(step, Launch)
                else Launch(self.kernels[step.kernel], step.count, step.size, list(map(at, step.args)))  # type: ignore[arg-type]
                for step in layer
            ]
            for layer in layers
        ]

    def record(self, calls: list[list[Any]]) -> Any:
        with self.device.command_buffer(join="edges") as cb:
            for layer in calls:
                for step in layer:
                    kind = type(step)
                    if kind is Launch:
                        kernel, count, size, args = step
                        cb.dispatch(kernel, count, size, args=args)
                    elif kind is Fill:
                        cb.fill_buffer(step.target, step.value)
                    else:
                        cb.copy_buffer(step.source, step.target)
                cb.execution_barrier()
        return cb

    def by_hand(self, layers: Layers) -> Callable[[], Any]:
        from tests.benchmarks.by_hand import Kernel, build, prepared

        kernels = {
            name: Kernel(self.executable.function(name), kernel.parameters) for name, kernel in self.kernels.items()
        }
        steps = prepared(layers, [buffer.address for buffer in self.pool])
        return lambda: build(kernels, steps, BUFFER_SIZE)


def measure(device: Any) -> list[Figure]:
    bench = Bench(device)
    rows = [row for name in WORKLOADS for length in LENGTHS for row in record_and_lower(bench, name, length)]
    return [*rows, *memory(bench), *replay(bench), *rebind(bench), *renumber(bench)]


def record_and_lower(bench: Bench, name: str, length: int) -> list[Figure]:
    """Beside the program by hand of the same length."""
    layers = WORKLOADS[name](length)
    calls = bench.calls(layers)
    actions = {"ours": lambda: bench.record(calls), "hand": bench.by_hand(layers)}
    if length == MEASURED:
        recording = bench.record(calls).recording
        actions["lower"] = lambda: bench.device.program(recording, join="edges")
    runs = 9 if length <= MEASURED else 5
    medians = interleaved_medians(actions, length, runs, clock=time.process_time)
    ours, hand = medians["ours"], medians["hand"]
    what = f"{name}, one of {length:,}".replace(",", " ").replace("  ", ", ", 1)
    rows = [Figure(f"by hand: {what}", hand), Figure(f"record + lower: {what}", ours, ours / hand, "by hand", "0.55")]
    if "lower" in medians:
        rows.append(Figure("of that, lower", medians["lower"], medians["lower"] / hand, "by hand"))
    return rows


def memory(bench: Bench) -> list[Figure]:
    """What a recorded dispatch takes, as `Figure.seconds` has no unit for bytes: in its name."""
    calls = bench.calls(random_graph(MEASURED))
    bench.record(calls)
    gc.collect()
    objects = len(gc.get_objects())
    tracemalloc.start()
    recording = bench.record(calls).recording
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0] / MEASURED
    tracemalloc.stop()
    visited = (len(gc.get_objects()) - objects) / MEASURED
    del recording
    return [Figure(f"a recorded dispatch takes {taken:.0f} bytes and {visited:.2f} objects", 0.0, hold="200 bytes, 0")]


def rebind(bench: Bench) -> list[Figure]:
    """One slot given other memory, used by one of 1 000 dispatches and by all of them, beside the setter alone."""
    layers = decode_step(REBOUND)
    out, other = (bench.pool[0].view(offset, 2048) for offset in (0, 2048))
    figures = []
    setters = _setters(bench)
    for users in (1, REBOUND):
        for update in ("exec", "reinstantiate"):
            with bench.device.command_buffer(binding_capacity=1, update=update, join="edges") as cb:
                done = 0
                for layer in bench.calls(layers):
                    for kernel, count, size, args in layer:
                        cb.dispatch(kernel, count, size, args=[Slot(0), *args[1:]] if done < users else args)
                        done += 1
                    cb.execution_barrier()
            tables = [[out], [other]]

            def rebinds(cb: Any = cb, tables: Any = tables) -> None:
                for index in range(REBINDS):
                    cb.replay(bindings=tables[index % 2])

            medians = interleaved_medians({"rebind": rebinds, "set": setters}, REBINDS, clock=time.process_time)
            seconds, setter = medians["rebind"] / users, medians["set"] / REBOUND
            used = "the only user of" if users == 1 else "one user of 1 000 of"
            row = Figure(f"rebind {used} a slot ({update})", seconds)
            if users == REBOUND and update == "exec":
                figures.append(Figure("hipGraphExecKernelNodeSetParams alone", setter))
                row = row._replace(ratio=seconds / setter, unit="the setter alone", hold="1.5")
            figures.append(row)
    return figures


def renumber(bench: Bench) -> list[Figure]:
    """One number in a slot, an argument of 1 000 dispatches, given another value; beside the setter alone."""
    with bench.device.command_buffer(binding_capacity=1, join="edges") as cb:
        for layer in bench.calls(decode_step(REBOUND)):
            for kernel, count, size, args in layer:
                cb.dispatch(kernel, count, size, args=_with_slot(kernel, args))
            cb.execution_barrier()

    def renumbers() -> None:
        for step in range(REBINDS):
            cb.replay(bindings={0: step})

    users = len(cb.recording.slots[0].commands)
    medians = interleaved_medians({"renumber": renumbers, "set": _setters(bench)}, REBINDS, clock=time.process_time)
    seconds, setter = medians["renumber"] / users, medians["set"] / REBOUND
    what = f"a number in a slot for each of {users} dispatches"
    return [Figure(what, seconds, seconds / setter, "the setter alone", "1.5")]


def _with_slot(kernel: Any, args: list[Any]) -> list[Any]:
    """The arguments with the slot for the first 32-bit number that is no float."""
    for index, parameter in enumerate(kernel.parameters):
        if parameter.size == 4 and parameter.type_name != "float":
            return [*args[:index], Slot(0, type="u32"), *args[index + 1 :]]
    return args


def _setters(bench: Bench) -> Callable[[], None]:
    """As many calls of the setter alone as a rebind of all nodes makes."""
    from hip import hip

    _, graph = hip.hipGraphCreate(0)
    parameters = hip.hipKernelNodeParams()
    parameters.func = bench.executable.function("add")
    _, node = hip.hipGraphAddKernelNode(graph, None, 0, parameters)
    _, executable, _, _ = hip.hipGraphInstantiate(graph, 0)

    def calls() -> None:
        for _ in range(REBINDS * REBOUND):
            hip.hipGraphExecKernelNodeSetParams(executable, node, parameters)

    return calls


def replay(bench: Bench) -> list[Figure]:
    from hip import hip

    program = bench.record(bench.calls(decode_step(10))).program
    _, graph = hip.hipGraphCreate(0)
    _, executable, _, _ = hip.hipGraphInstantiate(graph, 0)
    _, stream = hip.hipStreamCreateWithFlags(1)

    def launches() -> None:
        for _ in range(REPLAYS):
            hip.hipGraphLaunch(executable, stream)

    def replays() -> None:
        for _ in range(REPLAYS):
            program.replay()

    medians = interleaved_medians({"launch": launches, "replay": replays}, REPLAYS, clock=time.process_time)
    return [
        Figure("hipGraphLaunch alone", medians["launch"]),
        Figure("ours on top, of a replay without slots", medians["replay"] - medians["launch"], hold="1.2 us"),
    ]


def main() -> None:
    runtime = install(["gfx942"])
    with runtime.null_runtime(), HipDevice() as device:
        print(json.dumps(measure(device)))


if __name__ == "__main__":
    main()
