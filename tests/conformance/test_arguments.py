"""Arguments of every size and alignment reach the kernel byte for byte; what numpy lays out is the measure."""

import struct
from pathlib import Path

import numpy as np
import pytest

FIXTURES = Path(__file__).parent.parent / "fixtures" / "conformance"


@pytest.fixture(scope="module")
def arguments(device):
    return device.load(FIXTURES / f"arguments.{device.target.processor}.hsaco")


SCALARS = [
    (-7, 1.5, -300, 1 << 30, -2.25, -(1 << 40)),
    (127, -65504.0, 32767, -(1 << 31), 1e300, (1 << 63) - 1),
    (-128, float("inf"), -32768, (1 << 31) - 1, float("-inf"), -(1 << 63)),
]


@pytest.mark.parametrize("values", SCALARS)
@pytest.mark.parametrize("given_as", ["numbers", "numpy"])
def test_scalars_of_one_to_eight_bytes_round_trip(device, arguments, run, zeros, values, given_as):
    types = (np.int8, np.float16, np.int16, np.int32, np.float64, np.int64)
    exact = [kind(value) for kind, value in zip(types, values, strict=True)]
    first, *rest = exact if given_as == "numpy" else values
    out = zeros(32)
    run(lambda cb, place: cb.dispatch(arguments["scalars"], 1, 1, args=[first, place, *rest]), out)
    expected = bytearray(32)
    for offset, value in zip((0, 2, 4, 8, 16, 24), exact, strict=True):
        expected[offset : offset + value.nbytes] = value.tobytes()
    assert out.to_host().tobytes() == bytes(expected)


def test_vectors_and_structures_go_by_value_between_pointers(device, arguments, run, zeros):
    vector, structure = np.arange(4, dtype=np.float32) + 0.5, struct.pack("<i4xqh6x", -5, 1 << 50, -3)
    out, second = zeros(64), zeros(4)

    def record(cb, first, last):
        args = [np.uint8(200), vector.tobytes(), structure, first, np.uint8(55), last]
        cb.dispatch(arguments["blocks"], 1, 1, args=args)

    run(record, out, second)
    expected = bytearray(64)
    expected[0], expected[56] = 200, 55
    expected[16:32] = vector.tobytes()
    struct.pack_into("<i4xqh", expected, 32, -5, 1 << 50, -3)
    assert out.to_host().tobytes() == bytes(expected)
    assert second.to_host().tobytes() == bytes([255, 0, 0, 0])
