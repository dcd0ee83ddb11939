"""For tests of the HSA backend: recordings of real kernels without a device, and queues that take notes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from support.fakes import FakeBuffer, FakeExecutable

from hipgraph_cb.code_object.target_id import TargetId
from hipgraph_cb.code_object.verify import verify
from hipgraph_cb.hsa.blits import blits_for
from hipgraph_cb.hsa.executable import KernelCode
from hipgraph_cb.hsa.lowering import Surroundings, lower, payload_room
from hipgraph_cb.hsa.packets import describe
from hipgraph_cb.hsa.ring import Feeder, Ring
from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.runtime.executable import Export

FIXTURES = Path(__file__).parent.parent / "fixtures"
BUFFERS, PAYLOAD, SIZE = 0x1000000, 0x9000000, 0x10000


def no_rank(id):
    raise KeyError(id)  # no recording here has a collective


class Desk:
    """Records commands with the kernels of one code object, and lowers them with addresses that are easy to read.

    Buffer n is at 0x1000000 + n * 0x10000; kernel n of the code object has the kernel object 0x100 * (n + 1), kernel
    n of the fill and copy kernels 0xb0000 + 0x100 * n.
    """

    def __init__(self, code_object="conformance/conformance.gfx942.hsaco"):
        self.verified = verify((FIXTURES / code_object).read_bytes())
        self._blits = blits_for(TargetId.parse("gfx942")).exports
        self.executable = FakeExecutable(self.verified)
        self.names = {0x100 * number: name for number, name in enumerate(self.verified.exports, 1)}
        self.names |= {0xB0000 + 0x100 * number: name for number, name in enumerate(self._blits)}
        self._objects = {name: key for key, name in self.names.items()}

    def __getitem__(self, name):
        return Export(self.executable, self.verified.exports[name])

    def kernel(self, _executable, name):
        export = self.verified.exports[name]
        return KernelCode(export.private_segment_size, export.group_segment_size, self._objects[name], export.layout)

    def blit(self, name):
        export = self._blits[name]
        return KernelCode(0, 0, self._objects[name], export.layout)

    def lower(self, recording, most_lanes=4096):
        addresses = {entry.id: BUFFERS + SIZE * entry.id for entry in recording.resources.buffers.values()}
        payload = np.zeros(payload_room(recording), np.uint8)
        image = lower(recording, Surroundings(addresses, self.kernel, self.blit, no_rank, most_lanes, PAYLOAD, payload))
        return image, payload.tobytes()

    def stream(self, recording, in_order=False):
        """A line for each packet: its header word in words, its kernel, its grid."""
        template, _payload = self.lower(recording)
        words = template.words_in_order if in_order else template.words
        lines = []
        for word, packet in zip(describe(words), template.packets, strict=True):
            name = self.names.get(int(packet["kernel_object"]))
            grid = "x".join(str(size) for size in packet["grid_size"])
            lines.append(word if name is None else f"{word}: {name} {grid}")
        return lines


def record(fill, **options):
    """The recording that `fill(cb)` makes."""
    with CommandBuffer(**options) as cb:
        fill(cb)
    return cb.recording


def buffers(*sizes):
    return [FakeBuffer(size) for size in sizes]


class Notes(list):
    """What happened to a queue, in order."""


class NotedRows:
    """An array that notes what is stored into it; the rows are stored for real."""

    def __init__(self, array, name, notes):
        self.array, self._name, self._notes = array, name, notes

    def __setitem__(self, key, value):
        self.array[key] = value
        if isinstance(key, slice):
            rows = list(range(*key.indices(len(self.array))))
            if rows:
                self._notes.append((self._name, rows))
        else:
            self._notes.append((self._name, [int(key[0]) if isinstance(key, tuple) else int(key)]))


class QueueDouble:
    """A queue in host memory. It consumes what `consume` says; the read index stands still otherwise."""

    def __init__(self, size, timeout=0.0):
        self.notes = Notes()
        self.memory = np.zeros(size * 64, np.uint8)
        self.ring = Ring(self.memory)
        self.ring.words[:] = 1
        self.ring.bodies = NotedRows(self.ring.bodies, "bodies", self.notes)
        self.ring.words = NotedRows(self.ring.words, "words", self.notes)
        self.read = self.written = 0
        self.feeder = Feeder(self.ring, self, lambda: timeout, "a queue double")

    def read_index(self):
        return self.read

    def reserve(self, count):
        self.written += count
        return self.written - count

    def ring_doorbell(self, index):
        self.notes.append(("doorbell", index))

    def check(self):
        pass

    def packets(self):
        from hipgraph_cb.hsa.packets import DISPATCH_PACKET

        return self.memory.view(DISPATCH_PACKET)
