"""Memset nodes: what is accepted, and what is written."""

from __future__ import annotations

import ctypes

import pytest

from hipgraph_cb.abi.hip.structures import DriverMemsetParams

CASES = [
    ("an element of 3 bytes", {"element_size": 3}, 1),
    ("an element of 8 bytes", {"element_size": 8}, 1),
    ("elements of 2 bytes", {"element_size": 2, "width": 32}, 0),
    ("no width", {"width": 0}, 1),
    ("no height", {"height": 0}, 1),
    ("no destination", {"address": 0}, 1),
    ("the width counts elements", {"element_size": 4, "width": 16}, 0),
    ("one element too many", {"element_size": 4, "width": 17}, 1),
    ("one row ignores a pitch below its width", {"width": 8, "pitch": 4}, 0),
    ("one row checks the pitch against the allocation", {"width": 8, "pitch": 65}, 1),
    ("the offset counts for one row", {"offset": 60, "width": 5}, 1),
    ("a row up to the end", {"offset": 60, "width": 4}, 0),
    ("a destination that is not aligned to its element", {"offset": 3, "element_size": 4, "width": 15}, 0),
    ("rows closer than they are wide", {"width": 8, "height": 2, "pitch": 4}, 1),
    ("rows of wide elements closer than they are wide", {"element_size": 4, "width": 8, "height": 2, "pitch": 16}, 1),
    ("rows without a pitch", {"width": 8, "height": 2, "pitch": 0}, 1),
    ("rows that fill the allocation", {"width": 8, "height": 8, "pitch": 8}, 0),
    ("rows beyond the allocation", {"width": 8, "height": 9, "pitch": 8}, 1),
    ("the offset does not count for rows with gaps", {"offset": 32, "width": 4, "height": 8, "pitch": 8}, 0),
    ("the offset counts for rows without gaps", {"offset": 32, "width": 8, "height": 8, "pitch": 8}, 1),
]
each_case = pytest.mark.parametrize("changes, expected", [case[1:] for case in CASES], ids=[case[0] for case in CASES])


def made(params, block, changes):
    changes = dict(changes)
    address = changes.pop("address", block + changes.pop("offset", 0))
    return params.memset(address, **changes)


@each_case
def test_what_is_accepted(hip, graph, block, params, changes, expected):
    assert hip.hipGraphAddMemsetNode(graph, 0, 0, made(params, block, changes))[0] == expected


@each_case
def test_the_driver_interface_checks_the_same_and_needs_no_context(
    hip, profile, graph, block, params, changes, expected
):
    """Its structure was another one in 6.4."""
    given = made(params, block, changes)
    if profile == "6.4":
        given = DriverMemsetParams(**{name: getattr(given, name) for name, _ in DriverMemsetParams._fields_})
    for context in (hip.done("hipDevicePrimaryCtxRetain", 0), 0):
        assert hip.hipDrvGraphAddMemsetNode(graph, 0, 0, given, context)[0] == expected


def test_host_memory_has_to_be_pinned(hip, graph, params):
    pageable = ctypes.create_string_buffer(8)
    assert hip.hipGraphAddMemsetNode(graph, 0, 0, params.memset(ctypes.addressof(pageable)))[0] == 1
    assert hip.hipMemset(ctypes.addressof(pageable), 1, 8)[0] == 1
    pinned = hip.done("hipHostMalloc", 8, 0)
    assert hip.hipMemset(pinned, 1, 8)[0] == 0
    assert ctypes.string_at(pinned, 8) == b"\1" * 8
    hip.done("hipHostFree", pinned)


@pytest.mark.parametrize("element_size, expected", [(1, [0x78]), (2, [0x78, 0x56]), (4, [0x78, 0x56, 0x34, 0x12])])
def test_the_value_is_cut_to_the_element(hip, graph, block, params, run, read, element_size, expected):
    hip.done("hipGraphAddMemsetNode", graph, 0, 0, params.memset(block + 1, 0x12345678, element_size, 2))
    run(graph)
    assert read(block, 10) == [0, *expected * 2, *[0] * (9 - 2 * element_size)]


def test_rows_of_wide_elements_are_written_exactly(hip, graph, block, params, run, read):
    """AMD's launcher writes 32 bytes a row here; this is the documented form."""
    hip.done("hipGraphAddMemsetNode", graph, 0, 0, params.memset(block, 0x04030201, 4, width=2, height=4, pitch=16))
    run(graph)
    assert read(block, 64) == [1, 2, 3, 4, 1, 2, 3, 4, *[0] * 8] * 4


def test_a_node_tells_its_parameters(hip, graph, block, params):
    node = hip.done("hipGraphAddMemsetNode", graph, 0, 0, params.memset(block, 7, 2, width=3, height=4, pitch=16))
    reported = hip.done("hipGraphMemsetNodeGetParams", node)
    numbers = [int(getattr(reported, name)) for name in ("dst", "value", "elementSize", "width", "height", "pitch")]
    assert numbers == [block, 7, 2, 3, 4, 16]
