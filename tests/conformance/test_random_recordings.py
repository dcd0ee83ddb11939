"""Random recordings leave the same bytes in every buffer on every backend."""

import random

import numpy as np
import pytest

from hipgraph_cb import Slot, open_device

BACKENDS = ("hip", "hsa")
BUFFERS, SIZE, SLOTS = 4, 512, 2


@pytest.fixture(scope="module")
def devices(conformance_kernels):
    opened = [open_device(backend) for backend in BACKENDS]
    yield [(device, conformance_kernels(device)) for device in opened]
    for device in opened:
        device.close()


class RandomRecording:
    """Commands that a seed decides, on the memory of one device.

    Buffers and what replays bind are accessed in order: by barriers between commands that share one, or by inference.
    """

    def __init__(self, device, kernels, seed):
        self.numbers = random.Random(seed)
        self.kernels = kernels
        content = np.random.default_rng(seed)
        self.device = device
        self.buffers = [device.from_host(content.integers(0, 256, SIZE, np.uint8)) for _ in range(BUFFERS)]
        tables = content.integers(0, 256, (2, SLOTS, SIZE), np.uint8)
        self.tables = [[device.from_host(each) for each in table] for table in tables]
        self.counts = device.from_host(np.array([self.numbers.randrange(4), 1, 1, 0], np.uint32))
        self.inferred = self.numbers.random() < 0.5
        self.touched = set()

    def record(self):
        options = {"dependencies": "inferred"} if self.inferred else {}
        with self.device.command_buffer(binding_capacity=SLOTS, **options) as cb:
            for _ in range(self.numbers.randrange(1, 25)):
                self.numbers.choice(self.verbs)(self, cb)
        return cb

    def place(self, cb, length, alignment=1, avoid=None):
        """Some bytes of a buffer, or of what stands in a slot, none of which the layer has touched."""
        owner = self.numbers.choice([each for each in range(BUFFERS + SLOTS) if each != avoid])
        if owner in self.touched and not self.inferred:
            cb.execution_barrier()
            self.touched.clear()
        self.touched.add(owner)
        offset = self.numbers.randrange(0, SIZE - length + 1, alignment)
        if owner < BUFFERS:
            return owner, self.buffers[owner].view(offset, length)
        return owner, Slot(owner - BUFFERS, offset, length)

    def fill(self, cb):
        width = self.numbers.choice((1, 2, 4))
        length = width * self.numbers.randrange(1, 60)
        _, target = self.place(cb, length, width)
        cb.fill_buffer(target, self.numbers.randrange(1 << 8 * width), pattern_length=width)

    def update(self, cb):
        data = self.numbers.randbytes(self.numbers.randrange(1, 200))
        cb.update_buffer(self.place(cb, len(data))[1], data)

    def copy(self, cb):
        length = self.numbers.randrange(1, 200)
        (_, source), (_, target) = self.two(cb, (length, 1), (length, 1))
        cb.copy_buffer(source, target)

    def two(self, cb, first, second):
        """Two places in different buffers, in one layer."""
        owner, one = self.place(cb, *first)
        before = set(self.touched)
        other, two = self.place(cb, *second, avoid=owner)
        if not before <= self.touched:  # a barrier came in between: the first place is touched behind it too
            self.touched.add(owner)
        return (owner, one), (other, two)

    def scale(self, cb):
        (_, source), (_, target) = self.two(cb, (16, 4), (16, 4))
        numbers = [self.numbers.randrange(1000) for _ in range(2)]
        cb.dispatch(self.kernels["scale_and_offset"], 1, bindings=[source, target], constants=numbers)

    def saxpby(self, cb):
        count = self.numbers.randrange(1, 64)
        (_, source), (_, target) = self.two(cb, (4 * count, 4), (4 * count, 4))
        groups = -(-count // 16)
        cb.dispatch(self.kernels["saxpby"], groups, 16, args=[target, source, source, 1.5, count])

    def indirect(self, cb):
        _, target = self.place(cb, 64, 4)
        cb.dispatch_indirect(self.kernels["workgroup_ids"], self.counts.view(0, 12), args=[target])

    def nest(self, cb):
        (_, one), (_, two) = self.two(cb, (64, 4), (64, 4))
        with self.device.command_buffer(binding_capacity=2) as inner:
            inner.fill_buffer(Slot(0, 0, 32), self.numbers.randrange(1 << 32))
            inner.execution_barrier()
            inner.copy_buffer(Slot(0, 0, 64), Slot(1, 0, 64))
        cb.execute_commands(inner.recording, bindings=[one, two])

    verbs = (fill, fill, update, copy, copy, scale, saxpby, indirect, nest)

    def results(self, mode):
        """The recording, and all bytes after a replay with each of the two tables and one without."""
        cb = self.record()
        for table in (*self.tables, None):
            cb.replay(bindings=table, mode=mode)
        every = [*self.buffers, *self.tables[0], *self.tables[1]]
        return cb.recording, [buffer.to_host().tobytes() for buffer in every]


def check(devices, seed):
    mode = "stream" if seed % 5 == 0 else "graph"
    (one, expected), *others = [RandomRecording(device, kernels, seed).results(mode) for device, kernels in devices]
    for recording, found in others:
        assert recording == one
        assert found == expected, f"seed {seed}"


@pytest.mark.parametrize("seed", range(20))
def test_both_backends_leave_equal_bytes(devices, seed):
    check(devices, seed)


@pytest.mark.long
@pytest.mark.parametrize("block", range(14))
def test_300_recordings_leave_equal_bytes(devices, block):
    for seed in range(20 + 20 * block, 40 + 20 * block):
        check(devices, seed)
