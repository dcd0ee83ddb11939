"""1-D memcpy nodes: directions, ranges, and when host memory is read."""

from __future__ import annotations

import numpy as np
import pytest

H2H, H2D, D2H, D2D, DEFAULT = range(5)
ALL = {H2H, H2D, D2H, D2D, DEFAULT}
ACCEPTED = {
    ("device", "device"): ALL,
    ("pageable", "device"): {H2D, DEFAULT},
    ("device", "pageable"): {D2H, DEFAULT},
    ("pageable", "pageable"): {H2H, DEFAULT},
    ("pinned", "device"): ALL,
    ("device", "pinned"): ALL,
    ("pinned", "pinned"): ALL,
    ("pageable", "pinned"): {H2D, DEFAULT},
    ("pinned", "pageable"): {D2H, DEFAULT},
}


@pytest.fixture
def memory(hip):
    """16 bytes of a kind."""
    released = []

    def make(kind):
        if kind == "pageable":
            return np.zeros(16, np.uint8)
        if kind == "device":
            address, release = hip.done("hipMalloc", 16), "hipFree"
        else:
            address, release = hip.done("hipHostMalloc", 16, 0), "hipHostFree"
        released.append((release, address))
        return address

    yield make
    for release, address in released:
        hip.done(release, address)


@pytest.mark.parametrize("source, target", ACCEPTED)
def test_the_direction_has_to_fit_pageable_memory_only(hip, graph, memory, source, target):
    ends = memory(target), memory(source)
    codes = {kind: hip.hipGraphAddMemcpyNode1D(graph, 0, 0, *ends, 16, kind)[0] for kind in range(5)}
    assert codes == {kind: 0 if kind in ACCEPTED[source, target] else 1 for kind in range(5)}


def test_a_kind_that_is_none_is_an_invalid_direction(hip, graph, block):
    if hip.name == "hip-python":
        with pytest.raises(ValueError, match="7 is not a valid hipMemcpyKind"):
            hip.hipGraphAddMemcpyNode1D(graph, 0, 0, block, block + 8, 8, 7)
    else:
        codes = [hip.hipGraphAddMemcpyNode1D(graph, 0, 0, block, block + 8, 8, kind)[0] for kind in (5, 7, 1023, 1024)]
        assert codes == [21, 21, 21, 0]


@pytest.mark.parametrize(
    "target, source, size, expected",
    [
        (0, 0, 64, 0),
        (0, 0, 0, 1),
        (0, 0, 65, 1),
        (60, 0, 8, 1),
        (0, 60, 8, 1),
        (60, 0, 4, 0),
        (0, 4, 32, 0),
        (None, 0, 4, 1),
        (0, None, 4, 1),
    ],
)
def test_ranges_stay_in_their_allocations_and_may_overlap(hip, graph, block, target, source, size, expected):
    ends = [0 if offset is None else block + offset for offset in (target, source)]
    assert hip.hipGraphAddMemcpyNode1D(graph, 0, 0, *ends, size, D2D)[0] == expected


def test_host_memory_is_read_at_each_launch(hip, graph, block, read):
    data = np.zeros(8, np.uint8)
    hip.done("hipGraphAddMemcpyNode1D", graph, 0, 0, block, data, 8, H2D)
    executable = hip.done("hipGraphInstantiateWithFlags", graph, 0)
    for value in (3, 9):
        data[:] = value
        hip.done("hipGraphLaunch", executable, 0)
        assert read(block, 8) == [value] * 8


def test_host_memory_is_written_at_each_launch(hip, graph, block):
    data = np.full(8, 77, np.uint8)
    hip.done("hipGraphAddMemcpyNode1D", graph, 0, 0, data, block, 8, D2H)
    executable = hip.done("hipGraphInstantiateWithFlags", graph, 0)
    assert data.tolist() == [77] * 8
    for value in (3, 9):
        hip.done("hipMemset", block, value, 8)
        hip.done("hipGraphLaunch", executable, 0)
        hip.done("hipDeviceSynchronize")
        assert data.tolist() == [value] * 8


def test_a_1d_node_reported_zeros_in_6_4(hip, profile, graph, block):
    node = hip.done("hipGraphAddMemcpyNode1D", graph, 0, 0, block, block + 16, 16, D2D)
    reported = hip.done("hipGraphMemcpyNodeGetParams", node)
    numbers = [
        int(reported.dstPtr.ptr or 0),
        int(reported.srcPtr.ptr or 0),
        reported.extent.width,
        reported.extent.height,
    ]
    assert numbers == ([0] * 4 if profile == "6.4" else [block, block + 16, 16, 1])
