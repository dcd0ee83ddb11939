"""What calls of hip-python cost on the virtual library: memory, events, and a graph of 1 000 memset nodes.

Runs in a process of its own, as any hip-python program would: `figures()` starts it and reads what it prints.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks.timing import Figure, median_seconds

CALLS = 1_000
NODES = 1_000


def figures() -> list[Figure]:
    result = subprocess.run([sys.executable, "-m", "tests.benchmarks.hip_replay"], stdout=subprocess.PIPE, check=True)
    return [Figure(*row) for row in json.loads(result.stdout)]


def repeated(action: Callable[[], object]) -> Callable[[], None]:
    def actions() -> None:
        for _ in range(CALLS):
            action()

    return actions


def memory_and_events(hip: Any) -> list[Figure]:
    block = int(hip.hipMalloc(4096)[1])
    host, to_device = np.zeros(4096, np.uint8), hip.hipMemcpyKind.hipMemcpyHostToDevice
    event, stream = hip.hipEventCreate()[1], hip.hipStreamCreate()[1]
    actions = {
        "hipGetDevice: a call that does nothing": hip.hipGetDevice,
        "hipMalloc + hipFree of 4 KiB": lambda: hip.hipFree(hip.hipMalloc(4096)[1]),
        "hipMemcpy of 4 KiB from the host": lambda: hip.hipMemcpy(block, host, 4096, to_device),
        "hipEventRecord": lambda: hip.hipEventRecord(event, stream),
    }
    return [Figure(name, median_seconds(repeated(action), CALLS)) for name, action in actions.items()]


def graph_of_fills(hip: Any) -> list[Figure]:
    params = hip.hipMemsetParams()
    params.dst, params.elementSize, params.width, params.height = int(hip.hipMalloc(4096)[1]), 1, 64, 1

    def add() -> Any:
        graph, before = hip.hipGraphCreate(0)[1], (None, 0)
        for _ in range(NODES):
            node = hip.hipGraphAddMemsetNode(graph, *before, params)[1]
            before = (ctypes.c_void_p * 1)(int(node)), 1
        return graph

    graph, stream = add(), hip.hipStreamCreate()[1]
    executable = hip.hipGraphInstantiate(graph, 0)[1]

    def launch() -> None:
        hip.hipGraphLaunch(executable, stream)
        hip.hipStreamSynchronize(stream)

    return [
        Figure("graph of 1 000 memset nodes in a chain: add, per node", median_seconds(add, NODES)),
        Figure("instantiate, per node", median_seconds(lambda: hip.hipGraphInstantiate(graph, 0), NODES)),
        Figure("launch and wait, per node", median_seconds(launch, NODES), hold="30 us"),
    ]


def main() -> None:
    from hipgraph_cb.virtual.install import install

    install(["gfx942"])
    from hip import hip

    print(json.dumps([*memory_and_events(hip), *graph_of_fills(hip)]))


if __name__ == "__main__":
    main()
