"""Comparison of buffers: exact where nothing is declared, with tolerances where a type is."""

from types import SimpleNamespace

import numpy as np
import pytest

from hipgraph_cb.capture.expected import TOLERANCES, Difference, Expected
from hipgraph_cb.errors import InvalidArgumentError


class BFloat16:
    """An array as packages with a bfloat16 for numpy make it: the upper halves of float32."""

    dtype = SimpleNamespace(name="bfloat16", byteorder="=", hasobject=False)

    def __init__(self, *values):
        self._words = (np.array(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)

    def tobytes(self):
        return self._words.tobytes()


def differs(wanted, found, **tolerances):
    return Expected.of(wanted, **tolerances).difference(np.asarray(found).tobytes())


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats_are_compared_as_numpy_compares_them(dtype):
    generator = np.random.default_rng(1)
    rtol, atol = TOLERANCES[dtype]
    wanted = generator.standard_normal(500).astype(dtype)
    for scale in (0.2, 0.9, 1.5, 5):
        found = (wanted * (1 + scale * rtol * generator.choice([-1, 1], 500))).astype(dtype)
        close = np.isclose(found.astype(np.float64), wanted.astype(np.float64), rtol, atol)
        difference = differs(wanted, found)
        assert (difference is None) == bool(close.all())
        if difference is not None:
            first = int(np.argmin(close))
            assert difference.count == int((~close).sum())
            assert difference.offset == first * wanted.itemsize
            assert (difference.found, difference.expected) == (repr(found[first].item()), repr(wanted[first].item()))


def test_special_values_match_only_themselves():
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30], np.float32)
    assert differs(special, special) is None
    assert differs(np.array([0.0], np.float32), np.array([-0.0], np.float32)) is None
    for index, other in ((0, 1.0), (1, np.nan), (1, -np.inf), (1, 3e38), (2, np.inf), (3, np.nan), (5, np.inf)):
        changed = special.copy()
        changed[index] = other
        assert differs(special, changed).offset == 4 * index


def test_nan_with_another_payload_is_nan_for_floats_and_another_value_for_bytes():
    one, other = np.array([0x7FC00000], np.uint32), np.array([0x7FC00001], np.uint32)
    assert differs(one.view(np.float32), other) is None
    assert differs(one.tobytes(), other) == Difference(0, "1", "0", 1, 4, "uint8")


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("start", [1.0, -1.0, 0.0, 1e-7])
@pytest.mark.parametrize("steps", [1, 7, 300])
def test_how_far_off_a_float_is_is_said_in_units_in_the_last_place(dtype, start, steps):
    wanted = np.array([start, 2.0], dtype)
    found = wanted.copy()
    for _ in range(steps):  # numpy's next value, over zero where it starts above
        found[0] = np.nextafter(found[0], dtype(-np.inf))
    difference = differs(wanted, found, rtol=0.0, atol=0.0)
    assert (difference.count, difference.largest_ulps) == (1, steps)


def test_values_that_are_not_finite_have_no_distance_in_units_in_the_last_place():
    assert differs(np.array([np.nan], np.float32), np.array([1.0], np.float32)).largest_ulps is None
    assert differs(np.array([1], np.int32), np.array([2], np.int32)).largest_ulps is None


def test_a_difference_says_both_distances():
    wanted = np.array([1.0, 1.0], np.float32)
    found = np.array([1.0, 1.0 + 2.0**-10], np.float32)
    assert str(differs(wanted, found)) == (
        "byte 4 (float32 1): 1.0009765625 instead of 1.0; 1 of 2 elements differ, largest difference 0.000977 "
        "(8192 units in the last place)"
    )


def test_integers_and_bytes_are_exact():
    assert differs(np.array([1, 2, 3], np.int16), np.array([1, 2, 4], np.int16)) == Difference(
        4, "4", "3", 1, 3, "int16"
    )
    assert str(differs(bytes(4), np.array([0, 0, 7, 7], np.uint8))) == (
        "byte 2 (uint8 2): 7 instead of 0; 2 of 4 elements differ"
    )


def test_bfloat16_is_compared_by_value():
    expected = Expected.of(BFloat16(1, -2, 300))
    assert (expected.dtype, expected.rtol) == ("bfloat16", 1.6e-2)
    assert expected.difference(BFloat16(1.0078125, -2, 304).tobytes()) is None
    found = expected.difference(BFloat16(1, -2, 310).tobytes())
    assert (found.offset, found.expected, found.count) == (4, "300.0", 1)
    assert found.largest_ulps == 5  # a unit of bfloat16 is 2 from 256 to 512


def test_complex_numbers_are_compared_by_their_distance():
    wanted = np.array([1 + 1j, 2], np.complex64)
    assert differs(wanted, wanted * np.complex64(1 + 1e-7)) is None
    assert differs(wanted, wanted + np.complex64(1e-3j)).largest == pytest.approx(1e-3, rel=1e-3)


def test_tolerances_that_were_given_are_taken():
    assert differs(np.array([100.0]), np.array([101.0]), rtol=0.02) is None
    assert differs(np.array([100]), np.array([101]), atol=1) is None
    assert differs(np.array([100]), np.array([102]), atol=1).largest == 2


@pytest.mark.parametrize("wrong", [np.array(["a"]), np.array([1], ">i4"), np.array([None]), np.zeros(1, "M8[s]")])
def test_types_that_cannot_be_declared_are_refused(wrong):
    with pytest.raises(InvalidArgumentError):
        Expected.of(wrong)


@pytest.mark.parametrize("wrong", [-1, np.nan, np.inf, "x"])
def test_a_tolerance_is_a_number_of_0_or_more(wrong):
    with pytest.raises(InvalidArgumentError):
        Expected.of(np.zeros(1), rtol=wrong)
