"""A backend of the test's own: memory is a numpy array, nothing can be loaded or recorded."""

from __future__ import annotations

import numpy as np

from hipgraph_cb.runtime.buffer import Buffer
from hipgraph_cb.runtime.device import Device


class HostBuffer(Buffer):
    def __init__(self, device, size, label):
        super().__init__(device, size, 0x10000, label)
        self.memory = np.full(size, 0xCD, np.uint8)
        self.releases = 0

    def _write(self, offset, host):
        self.memory[offset : offset + host.nbytes] = host

    def _read(self, offset, host, stream=None):
        host[:] = self.memory[offset : offset + host.nbytes]

    def _settle(self, stream=None):
        pass

    def _keep(self, action):
        return self.memory

    def _release(self):
        self.releases += 1


class HostDevice(Device):
    backend = "host"
    name = "test device"
    ordinal = 0
    is_virtual = False
    target = None
    limits = None

    def synchronize(self, timeout=None):
        self._check_open("synchronize")

    def _allocate(self, size, label):
        return HostBuffer(self, size, label)

    def _load(self, verified, label):
        raise NotImplementedError

    def _program(self, recording, resources, options):
        raise NotImplementedError

    def _launched(self, stream, name):
        raise NotImplementedError

    def _stream(self, label):
        raise NotImplementedError

    def _release(self):
        pass
