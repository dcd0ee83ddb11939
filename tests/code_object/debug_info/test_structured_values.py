"""Values for parameters whose types debug information has. Expected bytes are those of numpy records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hipgraph_cb.code_object.kernel_args import KernargLayout
from hipgraph_cb.code_object.verify import inspect
from hipgraph_cb.errors import InvalidArgumentError

FOLDER = Path(__file__).parents[2] / "fixtures" / "debug_info"
EXPORTS = inspect((FOLDER / "shapes.dwarf5.gfx942.hsaco").read_bytes()).exports
SCALE: KernargLayout = EXPORTS["scale"].layout
STORE_PAIR: KernargLayout = EXPORTS["store_pair"].layout
EVERY: KernargLayout = next(export for name, export in EXPORTS.items() if "every" in name).layout
INNER = np.dtype({"names": ["a", "b"], "formats": ["<i2", "<f8"], "offsets": [0, 8]})
PAIR = np.dtype(
    {
        "names": ["scale", "n", "inner", "w"],
        "formats": [
            "<f4",
            "<i4",
            np.dtype({"names": ["a", "b"], "formats": ["<i2", "<f8"], "offsets": [0, 8]}),
            "3<f4",
        ],
        "offsets": [0, 4, 8, 24],
        "itemsize": 40,
    }
)
VALUES = (2.5, -3, (4, 5.5), (1.0, 2.0, 3.0))
RECORD = np.array([VALUES], PAIR)[0]


def every(**given: object) -> bytes:
    """The block of the kernel with all kinds of parameters, of which only some are given."""
    values: list[object] = []
    for row in EVERY.parameters:
        default = None if row.kind.name == "POINTER" else bytes(row.size)
        values.append(given.get(str(row.name), default))
    return EVERY.pack(values).block


def part(name: str, value: object) -> bytes:
    row = next(row for row in EVERY.parameters if row.name == name)
    return every(**{name: value})[row.offset : row.offset + row.size]


@pytest.mark.parametrize(
    "value",
    [
        VALUES,
        [2.5, -3, [4, 5.5], [1, 2, 3]],
        {"w": np.array([1, 2, 3]), "n": -3, "inner": {"b": 5.5, "a": 4}, "scale": 2.5},
        RECORD,
        np.array([VALUES], PAIR),
        RECORD.tobytes(),
        (np.float64(2.5), np.int8(-3), np.array((5.5, 4), [("b", "f4"), ("a", "i8")]), np.float64([1, 2, 3])),
    ],
    ids=["tuple", "list", "dict", "record", "array", "bytes", "numpy parts"],
)
def test_a_structure_is_given_by_position_by_name_or_as_bytes(value: Any) -> None:
    block = STORE_PAIR.pack([None, value]).block[8:48]
    found = np.frombuffer(block, PAIR)[0]
    assert found.tolist()[:2] == RECORD.tolist()[:2]
    assert found["inner"].tolist() == (4, 5.5)
    assert found["w"].tolist() == [1, 2, 3]


def test_bytes_between_the_fields_are_zero() -> None:
    block = STORE_PAIR.pack([None, VALUES]).block[8:48]
    assert block[10:16] == bytes(6)
    assert block[36:40] == bytes(4)


def test_a_whole_number_for_a_float_is_converted() -> None:
    block = SCALE.pack([None, None, 2, 3]).block
    assert np.frombuffer(block, np.float32, 1, 16)[0] == 2.0
    assert np.frombuffer(block, np.int32, 1, 20)[0] == 3
    types = (type(None), type(None), int, int)
    packer = SCALE.packer(types)
    assert packer is not None
    packed = packer[0]([None, None, 2, 3], {None: 0}, 1, 1, 1, bytes(20))
    assert packed is not None
    assert packed[16:24] == block[16:24]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("h", 1.5, np.float16(1.5).tobytes()),
        ("h", (2,), np.float16(2).tobytes()),
        ("bf", 1.0, (0x3F80).to_bytes(2, "little")),
        ("bf", -2, (0xC000).to_bytes(2, "little")),
        ("bf", 1.00390625, (0x3F80).to_bytes(2, "little")),  # half way, to the even one
        ("bf", 1.01171875, (0x3F82).to_bytes(2, "little")),
        ("m", 1, (1).to_bytes(4, "little")),
        ("v", (1, 2, 3, 4), np.arange(1, 5, dtype=np.float32).tobytes()),
        (
            "vector",
            (7, (1, 2, 3, 4)),
            np.array([7], np.int32).tobytes() + bytes(12) + np.float32([1, 2, 3, 4]).tobytes(),
        ),
        (
            "vector",
            {"first": 7, "x": 1},
            np.array([7], np.int32).tobytes() + bytes(12) + np.float32([1, 0, 0, 0]).tobytes(),
        ),
    ],
)
def test_a_value_becomes_the_bytes_of_its_type(name: str, value: object, expected: bytes) -> None:
    assert part(name, value) == expected


@pytest.mark.parametrize(
    ("value", "found", "allowed"),
    [
        ((1, 2), "2 values", "4 values for struct Pair (scale, n, inner, w)"),
        ((1, 2.5, (3, 4), (5, 6, 7)), "at .n: the float 2.5", "an integer"),
        ((1, 1 << 31, (3, 4), (5, 6, 7)), "at .n: the number 2147483648", "-2147483648 to 2147483647"),
        ((1, 2, (3.5, 4), (5, 6, 7)), "at .inner.a: the float 3.5", "an integer"),
        ((1, 2, (3, 4), (5, 6)), "at .w: 2 values", "3 values for float[3]"),
        ((1, 2, (3, 4), "abc"), "at .w: str", "3 values for float[3], or 12 bytes"),
        (
            {"scale": 1, "m": 2, "inner": (3, 4), "w": (5, 6, 7)},
            "unknown field 'm' and no field 'n'",
            "the fields of struct Pair (scale, n, inner, w)",
        ),
        (5, "int", "a tuple, dict or numpy record for struct Pair, or 40 bytes"),
        (b"abc", "bytes of 3 bytes", "a tuple, dict or numpy record for struct Pair, or 40 bytes"),
    ],
)
def test_a_value_that_does_not_fit_a_structure_names_the_field(value: object, found: str, allowed: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        STORE_PAIR.pack([None, value])
    assert str(caught.value).splitlines()[0] == "store_pair: argument 1 (p: struct Pair) does not fit"
    assert caught.value.found is not None
    assert caught.value.found.startswith(f"{found} (given: ")
    assert caught.value.allowed == allowed
    assert caught.value.detail == STORE_PAIR.signature()


class Array:
    """Device memory with an element type, as far as packing looks at it."""

    __hash__ = None  # type: ignore[assignment]
    dtype = np.dtype("float32")
    buffer = None

    def __init__(self, dtype: str) -> None:
        self.dtype = np.dtype(dtype)


def test_an_array_of_another_element_type_than_the_pointers_is_refused() -> None:
    assert SCALE.pack([Array("float32"), Array("float32"), 1, 2]).pointers[0][0] == 0
    with pytest.raises(InvalidArgumentError) as caught:
        SCALE.pack([Array("float32"), Array("float64"), 1, 2])
    assert caught.value.allowed == "float32 elements; .view('float32') takes the bytes as such"
