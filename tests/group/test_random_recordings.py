"""Random recordings that span devices leave the bytes that numpy says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.devices import OF_ONE_TARGET, no_peer_access
from support.random_group import GroupRecording

from hipgraph_cb import open_devices

KERNELS = Path(__file__).parent.parent / "fixtures" / "conformance"
TABLES = (0, 1, 1, 0)


@pytest.fixture(scope="module", params=[(backend, count) for count in (1, 2, 4) for backend in ("hip", "hsa")], ids=str)
def opened(request, load):
    backend, count = request.param
    with open_devices(backend, devices=OF_ONE_TARGET[:count]) as group:
        yield group, load(group)


@pytest.fixture(scope="module")
def load():
    return lambda group: group.load(f"{KERNELS}/conformance.gfx942.hsaco")


@pytest.fixture(scope="module", params=["hip", "hsa"])
def without_peers(request, load):
    """Members of which the runtime says that they cannot access each other's memory."""
    with no_peer_access(request.param), open_devices(request.param, devices=OF_ONE_TARGET[:3]) as group:
        assert not group[0].can_access(group[1])
        yield group, load(group)


def check(group, kernels, seed, is_peered=True):
    made = GroupRecording(group, kernels, seed, is_peered)
    cb = made.record(join=("auto", "edges", "empty", "kernel")[seed % 4])
    expected = made.expected(TABLES)
    stream = group.stream() if seed % 3 == 0 else None
    for table in TABLES:
        cb.replay(stream, bindings=made.tables[table], mode="stream" if seed % 5 == 0 else "graph")
    if stream is not None:
        stream.synchronize()
    for name, (one, other) in enumerate(zip(made.found(), expected, strict=True)):
        assert np.array_equal(one, other), f"seed {seed}, buffer {name}"
    return cb


@pytest.mark.parametrize("seed", range(4))
def test_a_recording_for_several_devices_leaves_what_numpy_says(opened, seed):
    check(*opened, seed)


@pytest.mark.parametrize("seed", range(6))
def test_without_peer_access_copies_go_through_the_host(without_peers, seed):
    check(*without_peers, seed, is_peered=False)


@pytest.mark.long
@pytest.mark.parametrize("block", range(10))
def test_200_recordings_leave_what_numpy_says(opened, block):
    for seed in range(20 * block, 20 * block + 20):
        check(*opened, seed)


@pytest.mark.long
@pytest.mark.parametrize("block", range(10))
def test_200_recordings_without_peer_access_leave_what_numpy_says(without_peers, block):
    for seed in range(20 * block, 20 * block + 20):
        check(*without_peers, seed, is_peered=False)
