"""What a kernel sees of its packet: sizes, segments, the packet itself and the queue."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.hsa_client import dispatch

from hipgraph_cb.virtual import dispatch as virtual_dispatch
from hipgraph_cb.virtual.dispatch import DEFAULTS
from hipgraph_cb.virtual.hsa.objects.packets import read_dispatch

FAULTS = (Path(__file__).resolve().parents[2] / "fixtures" / "virtual" / "faults.gfx942.hsaco").read_bytes()
ONE_WAVE = (64, 1, 1)


def run(client, queue, module, name, format, *values, grid=ONE_WAVE, workgroup=ONE_WAVE, **changes):
    """Status of the queue's error callback, or 0."""
    done = client.signal()
    kernarg = module.kernargs(name, grid, workgroup, format, *values)
    queue.submit(dispatch(kernarg, grid, workgroup, **{**module.kernel(name), **changes}, completion=done))
    while client.hsa.hsa_signal_wait_scacquire(done, 2, 1, 1_000_000, 0) == 1:
        if queue.errors:
            return queue.errors[0][0]
    return 0


def test_a_kernel_reads_its_packet_in_the_queue(client, queue):
    module = client.load("clang/c_kern.gfx942.hsaco")
    grid, workgroup = (130, 70, 3), (16, 8, 2)
    words = client.upload(np.zeros(16, np.uint32))
    assert run(client, queue, module, "c_sizes", "Q", words, grid=grid, workgroup=workgroup) == 0
    # workgroup and grid from the packet; whole workgroups, sizes, remainders and dimensions from the hidden arguments
    expected = [16, 8, 2, 130, 70, 3, 8, 8, 1, 16 | 8 << 16, 2 | 2 << 16, 6 | 1 << 16, 3]
    assert list(client.read(words, 13, np.uint32)) == expected


@pytest.mark.parametrize(("extra", "status"), [(0, 0x1016), (256, 0)])
def test_the_group_segment_of_the_packet_bounds_local_memory(client, queue, monkeypatch, extra, status):
    """The kernel writes its words behind those that it declares, on a device where that is a fault."""
    monkeypatch.setattr(
        virtual_dispatch, "execution_settings", lambda settings, target: replace(DEFAULTS, refuses_outside_lds=True)
    )
    module = client.load(FAULTS)
    size = module.kernel("local_at")["group_segment_size"] + extra
    y = client.allocate(256)
    assert run(client, queue, module, "local_at", "QI", y, 64, group_segment_size=size) == status


def test_a_packet_with_less_local_memory_than_the_kernel_declares_is_refused(client, queue):
    module = client.load(FAULTS)
    assert run(client, queue, module, "local_at", "QI", client.allocate(256), 0, group_segment_size=128) == 0x1003


@pytest.mark.parametrize(("extra", "status"), [(0, 43), (4096, 0)])
def test_the_private_segment_of_the_packet_bounds_scratch(client, queue, extra, status):
    module = client.load(FAULTS)
    size = module.kernel("private_at")["private_segment_size"] + extra
    y = client.allocate(256)
    assert run(client, queue, module, "private_at", "QI", y, 64, private_segment_size=size) == status


def test_a_kernel_gets_the_address_of_its_queue(client, module, queue, library):
    index = queue.write(dispatch(0, ONE_WAVE, ONE_WAVE, **module.kernel("saxpy")))
    runtime = library.runtime
    launch = read_dispatch(runtime, runtime.queues[queue.address], queue.base + 64 * index).launch
    assert (launch.queue_address, launch.packet_address) == (queue.address, queue.base + 64 * index)


@pytest.mark.parametrize(("name", "status"), [("unknown", 42), ("trap", 0x1016)])
def test_what_else_can_go_wrong_has_its_own_status(client, queue, name, status):
    module = client.load(FAULTS)
    y = client.allocate(1024)
    assert run(client, queue, module, name, "Q", y, grid=(128, 1, 1)) == status
