"""An address in a runtime's report is shown relative to the device's own buffers."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from hipgraph_cb.backend.address_map import AddressMap


class Buffer(SimpleNamespace):
    """The attributes of a buffer that the map uses."""


def buffer(address: int, size: int, label: str | None = None) -> Buffer:
    return Buffer(address=address, size=size, label=label, closed=False)


@pytest.fixture
def x() -> Buffer:
    return buffer(0x10000, 256, "x")


@pytest.fixture
def y() -> Buffer:
    return buffer(0x20000, 4096, "y")


@pytest.fixture
def known(x, y) -> AddressMap:
    known = AddressMap()
    known.note(x)
    known.note(y)
    return known


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (0x20000, "0 bytes into `y`, 4096 bytes"),
        (0x20FFF, "4095 bytes into `y`, 4096 bytes"),
        (0x21000, "0 bytes past the end of `y`, 4096 bytes"),
        (0x21030, "48 bytes past the end of `y`, 4096 bytes"),
        (0x1FFFC, "4 bytes before `y`, 4096 bytes"),
        (0x10180, "128 bytes past the end of `x`, 256 bytes"),
        (0x20000000, None),
        (0, "65536 bytes before `x`, 256 bytes"),
    ],
)
def test_an_address_is_reported_from_the_nearest_buffer(known, address, text):
    assert known.describe(address) == text


def test_a_closed_buffer_is_named_where_nothing_has_taken_its_place(known, y):
    y.closed = True
    assert known.describe(0x20010) == "16 bytes into `y`, 4096 bytes, which was closed"
    successor = buffer(0x20000, 64)
    known.note(successor)
    assert known.describe(0x20010) == "16 bytes into a buffer without a label, 64 bytes"
    assert known.describe(0x20050) == "80 bytes into `y`, 4096 bytes, which was closed"


def test_a_buffer_that_nobody_holds_any_more_counts_as_closed():
    known = AddressMap()
    known.note(buffer(0x20000, 64, "gone"))
    assert known.describe(0x20000) == "0 bytes into `gone`, 64 bytes, which was closed"


def test_a_line_is_added_behind_each_address_of_a_report(known):
    explained = known.explained(lambda: "kernel k:\n  address: 0x21000\nmore\n  address: 0x7fffffff0000")
    assert explained is not None
    assert explained() == (
        "kernel k:\n  address: 0x21000\n  in this device's buffers: 0 bytes past the end of `y`, 4096 bytes\n"
        "more\n  address: 0x7fffffff0000"
    )


def test_no_report_stays_no_report(known):
    assert known.explained(None) is None
    explained = known.explained(lambda: None)
    assert explained is not None
    assert explained() is None
