"""Random recordings whose replay has one result: the commands of one layer share no memory that any of them writes."""

from __future__ import annotations

import random

import numpy as np
from support.fakes import FakeBuffer, FakeEvent, FakeRank

from hipgraph_cb import Slot
from hipgraph_cb.recording.command_buffer import CommandBuffer

SIZE = 256
BUFFERS = 5
SLOTS = 2

MOVES = ("fill", "update", "copy", "fill_rows", "copy_rows", "through", "scale", "saxpby", "sum", "nothing")
EVERYTHING = (*MOVES, "indirect", "nested", "signal", "wait", "reset")


class NoDevice:
    """What a recording needs of a device, without one."""

    @staticmethod
    def allocate(size, label):
        return FakeBuffer(size, label)

    @staticmethod
    def host_buffer(size, label):
        return FakeBuffer(size, label, is_host=True)

    @staticmethod
    def event(label):
        return FakeEvent(label)

    @staticmethod
    def command_buffer(**options):
        return CommandBuffer(**options)


class Writer:
    """Writes one random recording.

    Args:
        device: gives command buffers and buffers.
        kernels: the executable of the conformance suite.
        kinds: what may be recorded.
    """

    def __init__(self, seed, device, kernels, kinds=MOVES, depth=1):
        self.random = random.Random(seed)
        self.device = device
        self.kernels = kernels
        self.kinds = kinds
        self.depth = depth
        labels = [None, "x", "y", "naïve \ud800\n"]
        self.buffers = [*(device.allocate(SIZE, label) for label in labels), device.host_buffer(SIZE, "z")]
        labels = ("ready", None) if "signal" in kinds else ()
        self.events = [device.event(label) for label in labels]
        self.rank = FakeRank()
        self.with_slots = self.random.random() < 0.5
        self.inferred = not self.with_slots and self.random.random() < 0.3

    def recording(self):
        choose = self.random
        with self.device.command_buffer(
            label=choose.choice([None, "step", "é"]),
            binding_capacity=SLOTS if self.with_slots else 0,
            dependencies="inferred" if self.inferred else "barriers",
        ) as self.cb:
            self.free = self.places()
            for _ in range(choose.randint(0, 12)):
                if choose.random() < 0.3:
                    with self.cb.debug_group(choose.choice(["group", "ü"])):
                        self.command()
                        self.command()
                else:
                    self.command()
        return self.cb.recording

    def places(self):
        slots = [Slot(index, 0, SIZE) for index in range(SLOTS)] if self.with_slots else []
        places = [*self.buffers, *slots]
        self.random.shuffle(places)
        return places

    def barrier(self):
        self.cb.execution_barrier()
        self.free = self.places()

    def take(self, count):
        """So many places that no command since the barrier has touched."""
        if len(self.free) < count or self.random.random() < 0.2:
            self.barrier()
        taken, self.free = self.free[:count], self.free[count:]
        return taken

    def part(self, place, length):
        """A stretch of a place, from a multiple of 16 bytes on."""
        offset = 16 * self.random.randint(0, (SIZE - length) // 16)
        return Slot(place.index, offset, length) if isinstance(place, Slot) else place.view(offset, length)

    def command(self):
        kind = self.random.choice(self.kinds)
        getattr(self, kind)(self.random.choice([None, None, "named", "ß\n"]))

    def fill(self, label):
        (target,) = self.take(1)
        length = self.random.choice([1, 2, 4])
        pattern = self.random.randrange(1 << (8 * length))
        self.cb.fill_buffer(self.part(target, 32), pattern, pattern_length=length, label=label)

    def update(self, label):
        (target,) = self.take(1)
        data = self.random.randbytes(self.random.randint(1, SIZE))
        offset = self.random.randint(0, SIZE - len(data))
        self.cb.update_buffer(target, data, offset=offset, label=label)

    def copy(self, label):
        source, target = self.take(2)
        length = 16 * self.random.randint(1, 4)
        self.cb.copy_buffer(self.part(source, length), self.part(target, length), label=label)

    def fill_rows(self, label):
        (target,) = self.take(1)
        pitch = 4 * self.random.randint(2, 8)
        shape = {"width": 4 * self.random.randint(1, pitch // 4), "height": self.random.randint(1, 3), "pitch": pitch}
        self.cb.fill_buffer_2d(self.part(target, 96), self.random.randrange(1 << 32), label=label, **shape)

    def copy_rows(self, label):
        source, target = (self.part(place, 96) for place in self.take(2))
        width = self.random.randint(1, 24)
        pitches = {f"{end}_pitch": self.random.randint(width, 32) for end in ("source", "target")}
        self.cb.copy_buffer_2d(source, target, width=width, height=3, label=label, **pitches)

    def through(self, label):
        """A copy that goes through a transient buffer."""
        source, target = (self.part(place, 32) for place in self.take(2))
        transient = self.cb.transient(64, label)
        self.cb.copy_buffer(source, transient.view(16, 32), label=label)
        self.barrier()
        self.cb.copy_buffer(transient.view(16, 32), target)
        self.barrier()

    def call(self, label):
        """Of a function of the host; not among what files and replays are tried with, for it needs a function."""
        (source,) = self.take(1)
        self.cb.host_call(print, reads=[self.part(source, 16)], label=label)

    def collective(self, label):
        """Between ranks; not among what is replayed, for the other rank would have to take part."""
        source, target = self.take(2)
        op = self.random.choice(["all_reduce", "all_to_all", "broadcast"])
        source, target = self.part(source, 32), self.part(target, 32)
        self.cb.collective(op, self.rank, source, target, type=self.random.choice(["u8", "f32", "i64"]), label=label)

    def scale(self, label):
        source, target = (self.part(place, 16) for place in self.take(2))
        constants = [self.random.randrange(1 << 32), self.random.randrange(1 << 32)]
        kernel = self.kernels["scale_and_offset"]
        reads = [source] if self.random.random() < 0.3 else None
        self.cb.dispatch(kernel, 1, bindings=[source, target], constants=constants, reads=reads, label=label)

    def saxpby(self, label):
        out, x, y = (self.part(place, 64) for place in self.take(3))
        scale = np.float32(self.random.uniform(-2, 2))
        self.cb.dispatch(self.kernels["saxpby"], 2, 8, args=[out, x, y, scale, 16], label=label)

    def sum(self, label):
        source, target = self.take(2)
        self.cb.dispatch(self.kernels["sum"], 1, args=[self.part(source, 64), self.part(target, 16), 16], label=label)

    def nothing(self, label):
        count, priority = (1, self.random.randint(1, 3)), self.random.choice([0, 0, -2, 5])
        self.cb.dispatch(self.kernels["nothing"], count, args=[], priority=priority, label=label)

    def indirect(self, label):
        counts, source, target = self.take(3)
        self.cb.update_buffer(counts, np.array([1, 1, 1], np.uint32))
        self.barrier()
        kernel = self.kernels["scale_and_offset"]
        arguments = [self.part(source, 16), self.part(target, 16), 3, 4]
        place = Slot(counts.index, 0, 12) if isinstance(counts, Slot) else counts.view(0, 12)
        self.cb.dispatch_indirect(kernel, place, args=arguments, label=label)
        self.barrier()

    def nested(self, label):
        if not self.depth:
            return
        inner = Writer(self.random.random(), self.device, self.kernels, self.kinds, self.depth - 1)
        inner.buffers, inner.events = self.buffers, self.events
        recording = inner.recording()
        self.barrier()
        places = [self.device.allocate(SIZE, "own"), Slot(1) if self.with_slots else self.device.allocate(SIZE, None)]
        self.cb.execute_commands(recording, bindings=places if inner.with_slots else None, label=label)
        self.barrier()

    def signal(self, label):
        self.cb.signal_event(self.events[0], label=label)

    def wait(self, label):
        self.cb.signal_event(self.events[1])
        self.cb.wait_events([self.events[1]], label=label)

    def reset(self, label):
        self.cb.reset_event(self.events[0], label=label)


def contents(seed):
    """What buffers and slots hold to begin with: floats that stay small."""
    generator = np.random.default_rng(seed)
    return [generator.uniform(-4, 4, SIZE // 4).astype(np.float32) for _ in range(BUFFERS + SLOTS)]
