"""Random recordings for a group of devices, with what they leave behind worked out with numpy."""

from __future__ import annotations

import random

import numpy as np

from hipgraph_cb import Slot

SIZE = 256
OF_EACH = 2
"""Buffers of each member."""


class GroupRecording:
    """Commands that a seed decides, on the memory of all members, and the same on arrays.

    Commands that share memory are ordered: by barriers between them, or by inference. The buffers of a group are named
    by their number: those of the members first, then two of the host, then what is in the slots.

    Args:
        kernels: the conformance suite's, loaded on every member.
        is_peered: whether kernels may use memory of other members.
    """

    def __init__(self, group, kernels, seed, is_peered=True):
        self.numbers = random.Random(seed)
        self.group, self.kernels, self.is_peered = group, kernels, is_peered
        content = np.random.default_rng(seed)
        self.owners = [member for member in range(len(group)) for _ in range(OF_EACH)]
        self.buffers = [group[member].from_host(content.integers(0, 256, SIZE, np.uint8)) for member in self.owners]
        for device in (group[0], group[-1]):
            self.owners.append(None)
            self.buffers.append(device.host_buffer(SIZE))
            self.buffers[-1].array[:] = content.integers(0, 256, SIZE, np.uint8)
        self.lasting = len(self.buffers)
        self.slots = [self.numbers.randrange(len(group)) for _ in range(2)]
        self.tables = [
            [group[member].from_host(content.integers(0, 256, SIZE, np.uint8)) for member in self.slots]
            for _ in range(2)
        ]
        self.owners += self.slots
        self.events = [device.event() for device in group]
        self.inferred = self.numbers.random() < 0.4
        self.touched = set()
        self.work = []
        self.recording = None

    def record(self, **options):
        capacity = len(self.slots)
        dependencies = "inferred" if self.inferred else "barriers"
        with self.group.command_buffer(binding_capacity=capacity, dependencies=dependencies, **options) as self.cb:
            for _ in range(self.numbers.randrange(1, 20)):
                self.numbers.choice(self.verbs)(self)
        return self.cb

    def expected(self, tables):
        """The bytes of all memory after replays with these tables, by the rules of the commands alone."""
        lasting = [buffer.to_host().copy() for buffer in self.buffers]
        bound = [[buffer.to_host().copy() for buffer in table] for table in self.tables]
        for table in tables:
            memory = [*lasting, *bound[table]]
            for work in self.work:
                work(memory)
        return [*lasting, *bound[0], *bound[1]]

    def found(self):
        return [buffer.to_host() for buffer in (*self.buffers, *self.tables[0], *self.tables[1])]

    def take(self, *places):
        """For each of some owners and ranges what stands for it in a call, none of it touched since the barrier."""
        names = {name for name, _, _ in places}
        if not self.inferred and (names & self.touched or self.numbers.random() < 0.1):
            self.cb.execution_barrier()
            self.touched.clear()
        self.touched |= names
        return [
            self.buffers[name].view(offset, length)
            if name < self.lasting
            else Slot(name - self.lasting, offset, length)
            for name, offset, length in places
        ]

    def usable(self, member):
        """The names of what commands of a member can use; None for any."""
        names = range(len(self.owners))
        return [name for name in names if self.is_peered or member is None or self.owners[name] in (None, member)]

    def of_device(self, names):
        return [name for name in names if name < self.lasting]

    def fill(self):
        width = self.numbers.choice((1, 2, 4))
        length, name = width * self.numbers.randrange(1, 20), self.numbers.choice(self.places())
        offset = self.numbers.randrange(0, SIZE - length + 1, width)
        pattern = self.numbers.randrange(1 << 8 * width)
        self.cb.fill_buffer(*self.take((name, offset, length)), pattern, pattern_length=width)
        self.note(name, offset, np.frombuffer(pattern.to_bytes(width, "little") * (length // width), np.uint8))

    def places(self):
        """What one command alone can use: without peer access a slot is for its member, which a fill cannot know."""
        return range(len(self.owners)) if self.is_peered else range(self.lasting)

    def update(self):
        data = np.frombuffer(self.numbers.randbytes(self.numbers.randrange(1, 100)), np.uint8)
        name, offset = self.numbers.choice(self.places()), self.numbers.randrange(SIZE - len(data) + 1)
        self.cb.update_buffer(*self.take((name, offset, len(data))), data.tobytes())
        self.note(name, offset, data)

    def note(self, name, offset, data):
        def work(memory):
            memory[name][offset : offset + len(data)] = data

        self.work.append(work)

    def copy(self):
        """Between any two buffers, of whatever members."""
        source, target = self.numbers.sample(self.places(), 2)
        length = self.numbers.randrange(1, 100)
        first, second = (self.numbers.randrange(SIZE - length + 1) for _ in range(2))
        self.cb.copy_buffer(*self.take((source, first, length), (target, second, length)))

        def work(memory):
            memory[target][second : second + length] = memory[source][first : first + length]

        self.work.append(work)

    def scale(self):
        self.dispatch_on(self.numbers.randrange(len(self.group)), self.cb)

    def dispatch_on(self, member, cb):
        source, target = self.numbers.sample(self.usable(member), 2)
        first, second = (4 * self.numbers.randrange(SIZE // 4 - 3) for _ in range(2))
        scale, add = (self.numbers.randrange(1 << 16) for _ in range(2))
        places = self.take((source, first, 16), (target, second, 16))
        cb.dispatch(self.kernels.on(member)["scale_and_offset"], 1, args=[*places, scale, add])

        def work(memory):
            words = memory[source][first : first + 16].view(np.uint32) * np.uint32(scale) + np.uint32(add)
            memory[target][second : second + 16] = words.view(np.uint8)

        self.work.append(work)

    def nest(self):
        """A recording of one member, with places of its own."""
        member = self.numbers.randrange(len(self.group))
        name = self.numbers.choice(self.of_device(self.usable(member)))
        (place,) = self.take((name, 32, 32))
        with self.group.command_buffer(binding_capacity=1) as inner:
            inner.update_buffer(Slot(0, 0, 16), bytes(range(16)))
            inner.execution_barrier()
            inner.dispatch(self.kernels.on(member)["scale_and_offset"], 1, args=[Slot(0, 0, 16), Slot(0, 16, 16), 3, 1])
        self.cb.execute_commands(inner.recording, bindings=[place])
        first = np.arange(16, dtype=np.uint8)
        self.note(name, 32, np.concatenate([first, (first.view(np.uint32) * np.uint32(3) + 1).view(np.uint8)]))

    def through(self):
        """By way of transient memory of a member."""
        member = self.numbers.randrange(len(self.group))
        source, target = self.numbers.choice(self.places()), self.numbers.choice(self.places())
        if not self.is_peered:
            source, target = (self.numbers.randrange(self.lasting) for _ in range(2))
        transient = self.cb.transient(48, device=self.group[member])
        (place,) = self.take((source, 64, 48))
        self.cb.copy_buffer(place, transient)
        self.barrier()
        (place,) = self.take((target, 16, 48))
        self.cb.copy_buffer(transient, place)

        def work(memory):
            memory[target][16:64] = memory[source][64:112].copy()

        self.work.append(work)

    def barrier(self):
        if not self.inferred:
            self.cb.execution_barrier()
        self.touched.clear()

    def signal(self):
        """An event of one member, which another one's commands wait for."""
        if self.inferred:
            return  # of slots and events together nothing can be inferred
        event = self.numbers.choice(self.events)
        self.cb.signal_event(event)
        self.cb.wait_events([event])
        self.barrier()

    verbs = (fill, update, copy, copy, copy, scale, scale, scale, nest, through, signal, barrier)
