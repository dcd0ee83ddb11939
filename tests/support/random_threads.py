"""Threads that record, replay, rebind, close and fault at random, on things of their own and on things they share."""

from __future__ import annotations

import random
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hipgraph_cb import Slot
from hipgraph_cb.errors import HipGraphError

FIXTURES = Path(__file__).parent.parent / "fixtures" / "conformance"
SIZE = 256
SHARED = 6


class Shared:
    """What all threads use, and what each of them may close and make again.

    Attributes:
        wrong: what no thread may find: wrong bytes, and errors that are not ours.
    """

    def __init__(self, device: Any, faults: bool) -> None:
        self.device = device
        self.faults = faults
        self.data = (FIXTURES / f"conformance.{device.target.processor}.hsaco").read_bytes()
        self.buffers = [device.allocate(SIZE) for _ in range(SHARED)]
        self.executables = [device.load(self.data)]
        self.streams = [device.stream() for _ in range(3)]
        self.events = [device.event() for _ in range(3)]
        self.programs: list[Any] = []
        self.wrong: list[str] = []


class RandomThread(threading.Thread):
    """One of the threads; `rounds` steps, drawn by a generator of its own."""

    def __init__(self, shared: Shared, seed: int, rounds: int) -> None:
        super().__init__(daemon=True)
        self._shared = shared
        self._random = random.Random(seed)
        self._rounds = rounds
        self._mine = shared.device.allocate(SIZE)
        self._stream, self._other = shared.device.stream(), shared.device.stream()
        self._steps: list[Callable[[], None]] = [
            self._own_work,
            self._own_work,
            self._record,
            self._record,
            self._replay,
            self._replay,
            self._replay,
            self._close,
            self._renew,
            self._read,
            self._wait,
        ]

    def run(self) -> None:
        for number in range(self._rounds):
            step = self._random.choice(self._steps)
            try:
                step()
            except HipGraphError as error:
                if self._is_raw(error):
                    self._shared.wrong.append(f"step {number}, {step.__name__}: {error}")
            except BaseException:  # noqa: BLE001 - the test tells it
                self._shared.wrong.append(f"step {number}, {step.__name__}: {traceback.format_exc()}")

    def _is_raw(self, error: HipGraphError) -> bool:
        """Whether the runtime was given something that it does not know any more; faults are made on purpose only."""
        text = str(error)
        if "freed" in text or "destroyed" in text or "no hip" in text:
            return True
        return "returned" in error.what and not self._shared.faults

    def _own_work(self) -> None:
        """Nothing else touches this buffer or this stream: a fault fails what stands behind it on its stream."""
        value = self._random.randrange(256)
        with self._shared.device.command_buffer() as cb:
            cb.fill_buffer(self._mine, value, pattern_length=1)
            cb.execution_barrier()
            cb.fill_buffer(self._mine, value ^ 1, offset=64, length=64, pattern_length=1)
        cb.replay(stream=self._stream, mode=self._random.choice(["graph", "stream"]))
        self._stream.synchronize()
        try:
            found = self._mine.to_host()
        finally:
            cb.program.close()
        expected = np.full(SIZE, value, np.uint8)
        expected[64:128] ^= 1
        if not np.array_equal(found, expected):
            self._shared.wrong.append(f"wrong bytes: {found.tolist()}")

    def _record(self) -> None:
        shared, draw = self._shared, self._random
        with shared.device.command_buffer(binding_capacity=1) as cb:
            for _ in range(draw.randrange(1, 5)):
                buffer, kind = draw.choice(shared.buffers), draw.random()
                if kind < 0.4:
                    cb.fill_buffer(buffer, 1)
                elif kind < 0.6:
                    cb.update_buffer(buffer, bytes(8))
                elif kind < 0.8:
                    export = draw.choice(shared.executables)["workgroup_ids"]
                    is_fault = shared.faults and draw.random() < 0.2
                    cb.dispatch(export, 4, args=[None if is_fault else Slot(0, 0, 16)])  # address 0 is nobody's
                else:
                    cb.signal_event(draw.choice(shared.events))
                if draw.random() < 0.3:
                    cb.execution_barrier()
        shared.programs.append(cb.program)
        if len(shared.programs) > 12:
            shared.programs.pop(0).close()

    def _replay(self) -> None:
        shared, draw = self._shared, self._random
        if shared.programs:
            stream = draw.choice([None, self._other, *shared.streams])
            mode = draw.choice(["graph", "graph", "stream"])
            draw.choice(shared.programs).replay(stream=stream, bindings=[draw.choice(shared.buffers)], mode=mode)

    def _close(self) -> None:
        shared, draw = self._shared, self._random
        things = draw.choice([shared.buffers, shared.streams, shared.events, shared.executables, shared.programs])
        if things:
            draw.choice(things).close()

    def _renew(self) -> None:
        shared, draw, device = self._shared, self._random, self._shared.device
        shared.buffers[draw.randrange(SHARED)] = device.allocate(SIZE)
        shared.streams[draw.randrange(3)] = device.stream()
        shared.events[draw.randrange(3)] = device.event()
        shared.executables[0] = device.load(shared.data)

    def _read(self) -> None:
        self._random.choice(self._shared.buffers).to_host()

    def _wait(self) -> None:
        self._shared.device.synchronize()


def run_threads(device: Any, seed: int, rounds: int, threads: int = 8, faults: bool = False) -> list[str]:
    """What went wrong when so many threads made so many steps each, and the interpreter changed threads very often."""
    shared = Shared(device, faults)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        workers = [RandomThread(shared, seed * threads + number, rounds) for number in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(interval)
    return shared.wrong
