"""What a replay on the HSA backend costs the host: packets into a queue that nobody consumes, and beside HIP.

Packets and kernel arguments lie in plain host memory, as they do on a real machine.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from hipgraph_cb.code_object.target_id import TargetId
from hipgraph_cb.code_object.verify import verify
from hipgraph_cb.hsa.blits import blits_for
from hipgraph_cb.hsa.executable import KernelCode
from hipgraph_cb.hsa.instances import Instances
from hipgraph_cb.hsa.lowering import Surroundings, lower
from hipgraph_cb.hsa.ring import Feeder, Ring
from hipgraph_cb.recording.binding_table import BoundRange
from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.resources import Slot
from hipgraph_cb.runtime.executable import Export
from tests.benchmarks.timing import Figure, interleaved_medians, median_seconds

CODE_OBJECT = Path(__file__).parent.parent / "fixtures" / "conformance" / "conformance.gfx942.hsaco"
RING = 16384
HOLD = "100 ns"
DISPATCHES = 200
TRANSFERS = 2_000


class Memory:
    """Host memory in place of a pool's."""

    def __init__(self, size: int) -> None:
        self.bytes = np.zeros(-(-size // 8) * 8, np.uint8)
        self.address = int(self.bytes.ctypes.data)

    def release(self) -> None:
        pass


class Unattended:
    """A queue whose packets are taken at once and never looked at."""

    def __init__(self) -> None:
        self.index = 0
        self.feeder = Feeder(Ring(np.ones(RING * 64, np.uint8)), self, lambda: 0.0, "unattended")

    def read_index(self) -> int:
        return self.index

    def reserve(self, count: int) -> int:
        self.index += count
        return self.index - count

    def ring_doorbell(self, index: int) -> None:
        pass

    def check(self) -> None:
        pass


class Buffer:
    """As much of a buffer as a recording asks for."""

    def __init__(self, size: int, address: int) -> None:
        self.size = self.length = size
        self.bound_address, self.offset = address, 0
        self.label, self.closed, self.buffer = None, False, self


def templates(count: int) -> tuple[Any, Any]:
    """Instances of a chain of dispatches, with the buffers themselves and with slots."""
    verified = verify(CODE_OBJECT.read_bytes())
    export = verified.exports["saxpby"]
    executable: Any = SimpleNamespace(verified=verified, label=None, closed=False)
    kernel = KernelCode(0, 0, 0xABC00, export.layout)
    blits = {name: KernelCode(0, 0, 0xB0000, each.layout) for name, each in _blits().items()}
    buffers = [Buffer(4096, 0x10000 * (index + 1)) for index in range(3)]
    results = []
    for places in (buffers, [Slot(0), Slot(1), Slot(2)]):
        with CommandBuffer(binding_capacity=3) as cb:
            for _ in range(count):
                cb.dispatch(Export(executable, export), 4, 256, args=[*places, 2.0, 1000])
                cb.execution_barrier()
        table = cb.recording.resources.buffers.values()
        addresses = {entry.id: 0x10000 for entry in table}
        ranks: dict[int, Any] = {}
        finders = (lambda *_: kernel), blits.__getitem__, ranks.__getitem__
        surroundings = Surroundings(addresses, *finders, 4096, 0, np.zeros(0, np.uint8))
        template = lower(cb.recording, surroundings)
        results.append(Instances(template, Memory, blits.__getitem__, 4096))
    return results[0], results[1]


def _blits() -> Any:
    return blits_for(TargetId.parse("gfx942")).exports


def tables() -> list[dict[int, BoundRange]]:
    """Two binding tables, so that every replay has other bindings than the one before."""
    return [
        {slot: BoundRange(Buffer(4096, 0x10000 * (slot + first)), 0, 4096) for slot in range(3)} for first in (1, 7)
    ]


def figures() -> list[Figure]:
    return [*unattended(), *side_by_side(), *transfers()]


def unattended() -> list[Figure]:
    rows = []
    for count in (1_000, 10_000):
        static, bound = templates(count)
        plain = median_seconds(replay(static), count)
        rebound = median_seconds(replay_with_other_bindings(bound), count)
        rows.append(Figure(f"HSA replay, one packet of {count}", plain, hold=HOLD))
        rows.append(Figure(f"HSA replay with other bindings, one packet of {count}", rebound, hold=HOLD))
    return rows


def replay(instances: Instances) -> Callable[[], None]:
    feeder = Unattended().feeder

    def action() -> None:
        feeder.feed(instances.shared().bodies, instances.template.words, waits=True, completion=0x5160)

    return action


def replay_with_other_bindings(instances: Instances) -> Callable[[], None]:
    feeder, choices, numbers = Unattended().feeder, tables(), itertools.count()

    def action() -> None:
        choices.reverse()
        instance = instances.take(0.0)
        instances.bind(instance, choices[0], next(numbers), lambda place: (0, 0))
        feeder.feed(instance.bodies, instances.template.words, waits=True, completion=0x5160)

    return action


def side_by_side() -> list[Figure]:
    """The same recording on both backends of one virtual device, waited for."""
    from hipgraph_cb import open_device

    actions = {}
    devices = [open_device(backend) for backend in ("hip", "hsa")]
    for device in devices:
        kernel = device.load(CODE_OBJECT)["nothing"]
        with device.command_buffer() as cb:
            for _ in range(DISPATCHES):
                cb.dispatch(kernel, 1)
                cb.execution_barrier()

        def replay(cb: Any = cb, device: Any = device) -> None:
            cb.replay()
            device.synchronize()

        actions[device.backend] = replay
    medians = interleaved_medians(actions, DISPATCHES)
    hip, hsa = medians["hip"], medians["hsa"]
    name = f"one empty dispatch of {DISPATCHES}, replayed on the virtual"
    return [Figure(f"{name} HIP", hip), Figure(f"{name} HSA", hsa, hsa / hip, "HIP")]


def transfers() -> list[Figure]:
    """Fills and copies on the virtual HSA device, where our own kernels do them; time of the processor."""
    from hipgraph_cb import open_device

    device = open_device("hsa")
    x, y = device.allocate(4096), device.allocate(4096)
    figures = []
    for what, hold in (("fills", "1 s"), ("copies", "")):
        with device.command_buffer() as cb:
            for number in range(TRANSFERS):
                if what == "fills":
                    cb.fill_buffer(x, number)
                else:
                    cb.copy_buffer(x, y)
                cb.execution_barrier()

        def replay(cb: Any = cb) -> None:
            cb.replay()
            device.synchronize()

        seconds = median_seconds(replay, runs=3, clock=time.process_time)
        figures.append(Figure(f"{TRANSFERS} {what} of 4096 bytes on the virtual HSA", seconds, hold=hold))
    return figures
