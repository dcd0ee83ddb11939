"""Memory of rows: the measured answers of AMD's runtimes."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from support.hip_callers import RawLibrary

from hipgraph_cb.abi.hip.structures import Extent, PitchedPointer

UNTOUCHED = 5
INVALID_VALUE, OUT_OF_MEMORY = 1, 2


@pytest.fixture
def raw(profile):
    return RawLibrary()


def rows(raw, width, height, function="hipMallocPitch", *more):
    """The code, whether there is an address (or what was written), and the pitch."""
    address, pitch = ctypes.c_size_t(UNTOUCHED), ctypes.c_size_t(UNTOUCHED)
    code = getattr(raw, function)(address, pitch, width, height, *more)
    is_made = code == 0 and address.value
    assert not is_made or raw.hipFree(address.value) == 0
    return code, True if is_made else address.value, pitch.value


@pytest.mark.parametrize(
    ("width", "height", "expected"),
    [
        (0, 0, (0, 0, UNTOUCHED)),
        (0, 4, (0, 0, UNTOUCHED)),
        (4, 0, (0, 0, UNTOUCHED)),
        (1, 1, (0, True, 256)),
        (256, 2, (0, True, 256)),
        (257, 2, (0, True, 512)),
        (1 << 40, 1 << 20, (OUT_OF_MEMORY, UNTOUCHED, 1 << 40)),
        ((1 << 64) - 1, 1, (INVALID_VALUE, UNTOUCHED, UNTOUCHED)),
    ],
)
def test_rows_are_256_bytes_apart_or_a_multiple(raw, width, height, expected):
    assert rows(raw, width, height) == expected


def test_rows_of_elements_have_elements_of_4_8_or_16_bytes_and_are_not_empty(raw):
    for size in (4, 8, 16):
        assert rows(raw, 257, 4, "hipMemAllocPitch", size) == (0, True, 512)
    for width, height, size in (
        (100, 4, 0),
        (100, 4, 1),
        (100, 4, 2),
        (100, 4, 12),
        (100, 4, 32),
        (0, 4, 4),
        (4, 0, 4),
    ):
        assert rows(raw, width, height, "hipMemAllocPitch", size) == (INVALID_VALUE, UNTOUCHED, UNTOUCHED)


@pytest.mark.parametrize(
    ("extent", "expected"),
    [
        ((0, 0, 0), (0, 0, 0, 0)),
        ((0, 4, 4), (0, 0, 0, 4)),
        ((4, 0, 4), (0, 0, 4, 0)),
        ((4, 4, 0), (0, 0, 4, 4)),
        ((257, 2, 2), (True, 512, 257, 2)),
    ],
)
def test_slices_say_how_their_rows_are(raw, extent, expected):
    allocate = ctypes.CDLL("libamdhip64.so").hipMalloc3D
    allocate.argtypes = (ctypes.c_void_p, Extent)
    made = PitchedPointer(*[UNTOUCHED] * 4)
    assert allocate(ctypes.addressof(made), Extent(*extent)) == 0
    assert (bool(made.ptr), made.pitch, made.xsize, made.ysize) == expected
    assert raw.hipFree(made.ptr) == 0


def test_a_fill_of_rows_takes_no_pitch_below_its_width(raw):
    address, pitch = ctypes.c_size_t(), ctypes.c_size_t()
    assert raw.hipMallocPitch(address, pitch, 100, 4) == 0
    at = address.value
    for place, distance, width, height, code in (
        (at, 256, 100, 4, 0),
        (at, 256, 0, 4, 0),
        (at, 256, 100, 0, 0),
        (at, 256, 256, 4, 0),
        (at + 256, 256, 100, 3, 0),
        (at, 64, 100, 4, 1),
        (at, 0, 100, 4, 1),
        (at, 256, 1024, 1, 1),
        (at, 256, 300, 4, 1),
        (at, 256, 100, 5, 1),
        (0, 256, 100, 4, 1),
    ):
        assert raw.hipMemset2D(place, distance, 7, width, height) == code
    assert raw.hipMemset2D(np.zeros(1024, np.uint8), 256, 7, 100, 4) == 1
    assert raw.hipMemset(at, 1, 1024) == raw.hipMemset2D(at, 256, 2, 100, 4) == 0
    host = np.zeros((4, 256), np.uint8)
    assert raw.hipMemcpy(host, at, 1024, 2) == raw.hipFree(at) == 0
    assert (host[:, :100] == 2).all()
    assert (host[:, 100:] == 1).all()
