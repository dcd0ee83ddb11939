"""Whatever is made and released again and again, memory stays flat."""

from __future__ import annotations

import tracemalloc
from collections import deque
from pathlib import Path

import numpy as np
import pytest
from support.collection import collect

from hipgraph_cb import open_device
from hipgraph_cb.virtual import quarantine

FIXTURES = Path(__file__).parent.parent / "fixtures" / "conformance"


class Cycles:
    """What is made and released, with what it needs."""

    def __init__(self, device) -> None:
        self.device = device
        self.image = (FIXTURES / f"conformance.{device.target.processor}.hsaco").read_bytes()
        self.buffer = device.from_host(np.zeros(64, np.uint32))
        with device.command_buffer() as self.fill:
            self.fill.fill_buffer(self.buffer, 5)

    def a_buffer(self) -> None:
        self.device.allocate(4096).close()

    def an_executable(self) -> None:
        self.device.load(self.image).close()

    def a_stream(self) -> None:
        stream = self.device.stream()
        self.fill.replay(stream=stream)
        stream.synchronize()
        stream.close()

    def an_event(self) -> None:
        self.device.event().close()

    def a_device(self) -> None:
        with open_device(self.device.backend, device=self.device.ordinal) as other:
            other.allocate(64).close()

    def a_recording_that_nobody_closes(self) -> None:
        with self.device.command_buffer() as cb:
            cb.fill_buffer(self.buffer, 1)
            cb.execution_barrier()
            cb.fill_buffer(self.buffer, 2)
        cb.replay()
        self.device.synchronize()

    def a_program(self) -> None:
        program = self.device.program(self.fill.recording)
        program.replay()
        self.device.synchronize()
        program.close()


NAMES = [name for name in vars(Cycles) if name.startswith("a")]


def grown(cycle, count: int) -> float:
    """Bytes that each of `count` cycles left behind."""
    held = tracemalloc.get_traced_memory()[0]
    for _ in range(count):
        cycle()
    collect()
    return (tracemalloc.get_traced_memory()[0] - held) / count


@pytest.mark.parametrize("count", [20, pytest.param(4000, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_released_leaves_nothing_behind(device, monkeypatch, name, count):
    # What remembers a bounded number of things is full at once.
    monkeypatch.setattr(quarantine, "MOST_RANGES", 4)
    monkeypatch.setattr(device.address_map, "_known", deque(maxlen=4))
    cycle = getattr(Cycles(device), name)
    tracemalloc.start()
    try:
        grown(cycle, 20)
        # A table of the interpreter may grow once, for good.
        bytes_each = min(grown(cycle, count) for _ in range(3))
    finally:
        tracemalloc.stop()
    assert bytes_each < 150
