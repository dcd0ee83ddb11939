"""MessagePack that claims more than it holds, and maps made to be slow."""

from __future__ import annotations

import struct
import tracemalloc

import msgpack
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.steps import steps

from hipgraph_cb.code_object.messagepack import check_claims, check_structure
from hipgraph_cb.code_object.metadata import parse_metadata
from hipgraph_cb.errors import InvalidArgumentError

SIZE = 60_000
ARRAY_HEADER = b"\xdd" + struct.pack(">I", SIZE)
MAP_HEADER = b"\xdf" + struct.pack(">I", SIZE // 2)

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.floats()
    | st.text(max_size=40)
    | st.binary(max_size=300)
    | st.builds(msgpack.ExtType, st.integers(0, 127), st.binary(max_size=20)),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=5), inner, max_size=20),
    max_leaves=30,
)


@pytest.mark.parametrize("header", [ARRAY_HEADER, MAP_HEADER, MAP_HEADER + b"\xa0"], ids=["arrays", "maps", "values"])
def test_nested_claims_do_not_add_up_to_memory(header: bytes) -> None:
    note = (header * 900).ljust(SIZE, b"\xc0")
    tracemalloc.start()
    with pytest.raises(InvalidArgumentError):
        parse_metadata(note)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


def test_the_message_names_the_item_that_claims_too_much() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        parse_metadata(b"\x81\xa1k" + b"\xdd\xff\xff\xff\xff\xc0")
    assert str(caught.value).splitlines()[1:3] == [
        "  where: byte 3 of the metadata",
        "  found: a size or count exceeds the bytes that are left",
    ]


def test_a_map_of_one_repeated_unknown_key_is_read_in_linear_time() -> None:
    def refuse(size: int) -> None:
        note = b"\x81\xa1k" + b"\xdf" + (size // 2).to_bytes(4, "big") + b"\xa0\xc0" * (size // 2)
        with pytest.raises(InvalidArgumentError):
            parse_metadata(note)

    assert steps(lambda: refuse(1 << 14)) < 4.1 * steps(lambda: refuse(1 << 12))


@given(VALUES)
def test_the_walk_accepts_what_msgpack_writes(value: object) -> None:
    check_structure(msgpack.packb(value))


@given(VALUES, st.data())
def test_the_walk_refuses_every_strict_prefix(value: object, data: st.DataObject) -> None:
    packed = msgpack.packb(value)
    with pytest.raises(InvalidArgumentError):
        check_structure(packed[: data.draw(st.integers(0, len(packed) - 1))])


@given(VALUES)
def test_the_walk_refuses_bytes_behind_the_value(value: object) -> None:
    with pytest.raises(InvalidArgumentError):
        check_structure(msgpack.packb(value) + b"\xc0")


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(st.binary(max_size=200))
def test_what_msgpack_reads_passes_the_check(data: bytes) -> None:
    try:
        msgpack.unpackb(data, strict_map_key=False, raw=True)
    except (ValueError, TypeError):
        assume(False)
    check_claims(data)
    check_structure(data)
