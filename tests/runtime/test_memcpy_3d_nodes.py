"""Memcpy nodes of 3-D copies: hipMemcpy3DParms, and the driver interface's HIP_MEMCPY3D."""

from __future__ import annotations

import numpy as np
import pytest
from support.hip_callers import structure

from hipgraph_cb.abi.hip.structures import DriverMemcpy3D, Memcpy3DParams

HOST, DEVICE, UNIFIED = 1, 2, 11
D2D = 3


@pytest.fixture
def ends(hip):
    """Two allocations of 1024 bytes; the source holds 0 to 255 four times."""
    target, source = (hip.done("hipMalloc", 1024) for _ in range(2))
    hip.done("hipMemset", target, 0, 1024)
    hip.done("hipMemcpyHtoD", source, np.arange(1024).astype(np.uint8), 1024)
    yield target, source
    hip.done("hipFree", target)
    hip.done("hipFree", source)


def copy_3d(ends, extent=(10, 3, 4), position=(0, 0, 0), pitch=16, xsize=10, kind=D2D):
    target, source = ends
    return structure(
        Memcpy3DParams,
        dstPtr=(target, pitch, xsize, 4),
        srcPtr=(source, 32, 10, 4),
        dstPos=position,
        extent=extent,
        kind=kind,
    )


def driver_copy_3d(ends, **changes):
    target, source = ends
    fields = {"dstDevice": target, "srcDevice": source, "WidthInBytes": 10, "Height": 3, "Depth": 4}
    for side, pitch in (("dst", 16), ("src", 32)):
        fields |= {f"{side}MemoryType": DEVICE, f"{side}Pitch": pitch, f"{side}Height": 4}
    return structure(DriverMemcpy3D, **fields | changes)


COPIES = [
    ("a 3-D copy", {}, 0),
    ("a pitch below xsize", {"pitch": 8, "xsize": 9}, 12),
    ("a position past the pitch", {"position": (7, 0, 0)}, 1),
    ("a position up to the pitch", {"position": (6, 0, 0)}, 0),
    ("no width", {"extent": (0, 3, 4)}, 0),
    ("no height", {"extent": (10, 0, 4)}, 0),
    ("no depth", {"extent": (10, 3, 0)}, 0),
    ("a kind that is none", {"kind": 9}, 21),
]


@pytest.mark.parametrize("changes, expected", [case[1:] for case in COPIES], ids=[case[0] for case in COPIES])
def test_what_is_accepted(hip, graph, ends, changes, expected):
    assert hip.hipGraphAddMemcpyNode(graph, 0, 0, copy_3d(ends, **changes))[0] == expected


def test_neither_pitch_nor_xsize_was_refused_in_6_4(hip, profile, graph, ends):
    params = copy_3d(ends, extent=(10, 1, 1), pitch=0, xsize=0)
    assert hip.hipGraphAddMemcpyNode(graph, 0, 0, params)[0] == {"6.4": 1, "7.2": 0}[profile]


def test_a_3d_copy_is_done_row_by_row_at_launch(hip, graph, ends, run, read):
    hip.done("hipGraphAddMemcpyNode", graph, 0, 0, copy_3d(ends, extent=(3, 2, 2)))
    run(graph)
    copied = {(z * 4 + y) * 16 + x: ((z * 4 + y) * 32 + x) % 256 for z in range(2) for y in range(2) for x in range(3)}
    assert read(ends[0], 256) == [copied.get(place, 0) for place in range(256)]


def test_a_node_returns_its_parameters(hip, graph, ends):
    node = hip.done("hipGraphAddMemcpyNode", graph, 0, 0, copy_3d(ends))
    returned = hip.done("hipGraphMemcpyNodeGetParams", node)
    assert [int(returned.dstPtr.ptr), int(returned.srcPtr.ptr), int(returned.kind)] == [*ends, D2D]
    assert (returned.extent.width, returned.extent.height, returned.extent.depth) == (10, 3, 4)


DRIVER_COPIES = [
    ("a 3-D copy", {}, 0),
    ("an old memory type", {"srcMemoryType": 0}, 1),
    ("a memory type that is none", {"srcMemoryType": 5}, 1),
    ("rows closer than they are wide", {"dstPitch": 8}, 1),
    ("rows without a gap", {"srcPitch": 0}, 0),
    ("no address", {"srcDevice": 0}, 1),
    ("beyond the end", {"Depth": 17}, 1),
]


@pytest.mark.parametrize(
    "changes, expected", [case[1:] for case in DRIVER_COPIES], ids=[case[0] for case in DRIVER_COPIES]
)
def test_what_the_driver_interface_accepts(hip, graph, ends, changes, expected):
    context = hip.done("hipDevicePrimaryCtxRetain", 0)
    assert hip.hipDrvGraphAddMemcpyNode(graph, 0, 0, driver_copy_3d(ends, **changes), context)[0] == expected
    assert hip.hipDrvMemcpy3D(driver_copy_3d(ends, **changes))[0] == expected


def test_the_driver_interface_needs_a_context(hip, graph, ends):
    assert hip.hipDrvGraphAddMemcpyNode(graph, 0, 0, driver_copy_3d(ends), 0)[0] == 1


@pytest.mark.parametrize(
    "changes, expected",
    [({"WidthInBytes": 0}, {"6.4": 0, "7.2": 1}), ({"srcMemoryType": UNIFIED}, {"6.4": 1, "7.2": 0})],
    ids=["no width", "unified memory"],
)
def test_where_the_versions_differ(hip, profile, graph, ends, changes, expected):
    context = hip.done("hipDevicePrimaryCtxRetain", 0)
    code = hip.hipDrvGraphAddMemcpyNode(graph, 0, 0, driver_copy_3d(ends, **changes), context)[0]
    assert code == expected[profile]
