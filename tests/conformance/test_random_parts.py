"""Random recordings with events, nested recordings and indirect dispatches: the bytes are those of running in order."""

import random

import numpy as np
import pytest

from hipgraph_cb import Slot
from hipgraph_cb.opening import virtual_runtime
from hipgraph_cb.recording.dependencies import JoinPolicy

WORDS = 16
POLICIES = tuple(JoinPolicy)


class Scenario:
    """Calls and their meaning, side by side; the order is inferred, with events strewn between."""

    def __init__(self, device, kernels, seed):
        self.numbers = random.Random(seed)
        self.device, self.kernels = device, kernels
        self.buffers = [device.allocate(4 * WORDS, f"buffer {index}") for index in range(4)]
        self.counts = device.allocate(16, "counts")
        self.events = [device.event() for _ in range(2)]
        self.signalled = set()
        self.memory = [np.arange(WORDS, dtype=np.uint32) + 100 * index for index in range(4)]
        self.initial = [each.copy() for each in self.memory]
        self.affine = self._affine()
        with device.command_buffer(dependencies="inferred") as cb:
            for _ in range(14):
                self.numbers.choice([self.fill, self.copy, self.nested, self.indirect, self.event])(cb)
        cb.program.close()
        self.recording = cb.recording

    def _affine(self):
        """Slot 1 = 3 * slot 0 + 1, four words, then a mark behind them."""
        with self.device.command_buffer(binding_capacity=2) as cb:
            cb.dispatch(self.kernels["scale_and_offset"], 1, bindings=[Slot(0), Slot(1)], constants=[3, 1])
            cb.execution_barrier()
            cb.fill_buffer(Slot(1, 16, 4), 5)
        return cb.recording

    def fill(self, cb):
        target, start, value = self.numbers.randrange(4), self.numbers.randrange(WORDS - 3), self.numbers.randrange(99)
        cb.fill_buffer(self.buffers[target], value, offset=4 * start, length=12)
        self.memory[target][start : start + 3] = value

    def copy(self, cb):
        source, target = self.numbers.sample(range(4), 2)
        start, place = self.numbers.randrange(WORDS - 5), self.numbers.randrange(WORDS - 5)
        cb.copy_buffer(
            self.buffers[source], self.buffers[target], source_offset=4 * start, target_offset=4 * place, length=20
        )
        self.memory[target][place : place + 5] = self.memory[source][start : start + 5]

    def nested(self, cb):
        source, target = self.numbers.sample(range(4), 2)
        start, place = 4 * self.numbers.randrange(3), 4 * self.numbers.randrange(2)
        views = self.buffers[source].view(4 * start, 16), self.buffers[target].view(4 * place, 20)
        cb.execute_commands(self.affine, bindings=views)
        self.memory[target][place : place + 4] = 3 * self.memory[source][start : start + 4] + 1
        self.memory[target][place + 4] = 5

    def indirect(self, cb):
        target, count = self.numbers.randrange(4), self.numbers.randrange(6)
        cb.update_buffer(self.counts, np.array([count, 1, 1], np.uint32))
        cb.dispatch_indirect(self.kernels["workgroup_ids"], self.counts, args=[self.buffers[target]])
        self.memory[target][:count] = np.arange(count)

    def event(self, cb):
        event = self.numbers.randrange(2)
        if event in self.signalled and self.numbers.random() < 0.7:
            cb.wait_events([self.events[event]])
        else:
            cb.signal_event(self.events[event])
            self.signalled.add(event)

    def check(self, program, mode):
        for buffer, values in zip(self.buffers, self.initial, strict=True):
            buffer.write(values)
        program.replay(mode=mode)
        for buffer, values in zip(self.buffers, self.memory, strict=True):
            assert buffer.to_host(np.uint32).tolist() == values.tolist()


def run(device, kernels, seed):
    scenario = Scenario(device, kernels, seed)
    assert scenario.recording.hazards() == ()
    with device.program(scenario.recording, join=POLICIES[seed % len(POLICIES)]) as program:
        for order in range(4):
            if device.is_virtual:
                virtual_runtime().reseed(order)
            scenario.check(program, "graph")
        scenario.check(program, "stream")


@pytest.mark.parametrize("seed", range(12))
def test_random_parts_end_as_if_run_in_order(device, kernels, seed):
    run(device, kernels, seed)


@pytest.mark.long
@pytest.mark.parametrize("block", range(8))
def test_many_random_parts_end_as_if_run_in_order(device, kernels, block):
    for seed in range(12 + 50 * block, 62 + 50 * block):
        run(device, kernels, seed)
