"""8-bit floats: every code, and rounding against a search through all values of the format."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from support.edge_values import FLOATS, state_with
from support.lanes import lanes_of, run_code

from hipgraph_cb.virtual.isa.core.float_mode import FloatMode
from hipgraph_cb.virtual.isa.vector.small_floats import values_of

CODES = np.arange(256, dtype=np.uint32).reshape(4, 64)
NAN, LARGEST = 0x80, {"fp8": 0x7F, "bf8": 0x7F}


def value_of(kind: str, code: int) -> float:
    """The definition of the FNUZ encodings."""
    fraction_bits, bias = {"fp8": (3, 8), "bf8": (2, 16)}[kind]
    if code == NAN:
        return float("nan")
    exponent, fraction = (code & 0x7F) >> fraction_bits, (code & ((1 << fraction_bits) - 1)) / 2**fraction_bits
    magnitude = (1 + fraction) * 2.0 ** (exponent - bias) if exponent else fraction * 2.0 ** (1 - bias)
    return -magnitude if code & 0x80 else magnitude


@functools.cache
def all_values(kind: str) -> np.ndarray:
    return np.array([value_of(kind, code) for code in range(256)], np.float32)


@pytest.mark.parametrize(("kind", "largest", "smallest"), [("fp8", 240.0, 2.0**-10), ("bf8", 57344.0, 2.0**-17)])
def test_8_bit_floats_have_the_range_of_the_fnuz_encodings(kind, largest, smallest):
    values = values_of(kind)
    assert np.isnan(values[0x80]) and np.isnan(values).sum() == 1
    assert values[0] == 0
    assert np.nanmax(values) == largest
    assert np.nanmin(values[values > 0]) == smallest


@pytest.mark.parametrize(
    ("code", "kind", "byte"),
    [
        ("00a9107e", "fp8", 0),  # v_cvt_f32_fp8 v8, v0
        ("00ab107e", "bf8", 0),  # v_cvt_f32_bf8 v8, v0
        ("f9a8107e00060200", "fp8", 2),  # v_cvt_f32_fp8_sdwa v8, v0 src0_sel:BYTE_2
        ("f9aa107e00060300", "bf8", 3),  # v_cvt_f32_bf8_sdwa v8, v0 src0_sel:BYTE_3
    ],
)
def test_every_code_of_the_chosen_byte_has_its_value(code, kind, byte):
    state = state_with((0, CODES << 8 * byte | np.uint32(0x5A5A5A5A & ~(0xFF << 8 * byte))))
    run_code(state, code)
    assert np.array_equal(lanes_of(state, 8).view(np.float32).ravel(), all_values(kind), equal_nan=True)


@pytest.mark.parametrize(
    ("code", "kind", "shift"),
    [
        ("00ad107e", "fp8", 0),  # v_cvt_pk_f32_fp8 v[8:9], v0
        ("f9ae107e00060500", "bf8", 16),  # v_cvt_pk_f32_bf8_sdwa v[8:9], v0 src0_sel:WORD_1
    ],
)
def test_two_codes_become_a_pair(code, kind, shift):
    state = state_with((0, (CODES | (CODES ^ 0xFF) << 8) << shift))
    run_code(state, code)
    values = all_values(kind)
    assert np.array_equal(lanes_of(state, 8).view(np.float32).ravel(), values, equal_nan=True)
    assert np.array_equal(lanes_of(state, 9).view(np.float32).ravel(), values[::-1], equal_nan=True)


def nearest_code(kind: str, value: float, saturate: bool) -> int:
    """The code of the nearest value; of two the even one; what is at least half a step too large is NaN or clamped."""
    if np.isnan(value) or np.isinf(value):
        return NAN
    table = all_values(kind)[:128].astype(np.float64)
    table = np.append(table, 2 * table[-1] - table[-2])
    distances = np.abs(min(abs(float(value)), table[-1]) - table).tolist()
    smallest = min(distances)
    code = min((code for code in range(129) if distances[code] == smallest), key=lambda code: (code & 1, code))
    if code == 128:
        code = LARGEST[kind] if saturate else NAN
        return code | (0x80 if saturate and value < 0 else 0)
    return code | 0x80 if value < 0 and code else code


def samples(kind: str) -> np.ndarray:
    """Edge values, every value of the format, the middle between neighbours, and the values just beside it."""
    values = all_values(kind)[:128].astype(np.float64)
    middles = (values[1:] + values[:-1]) / 2
    top = 2 * values[-1] - values[-2]
    table = np.concatenate([values, middles, middles * (1 + 1e-6), middles * (1 - 1e-6), [top, top * 0.97, top * 9]])
    edge = np.array(FLOATS, np.uint32).view(np.float32)
    both = np.concatenate([edge, table.astype(np.float32), -table.astype(np.float32)])
    return np.resize(both, -(-both.size // 64) * 64).reshape(-1, 64)


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        ("fp8", "0800a2d200050200", "0840a2d200050200"),  # v_cvt_pk_fp8_f32 v8, v0, v2 [op_sel:[0,0,1]]
        ("bf8", "0800a3d200050200", "0840a3d200050200"),  # v_cvt_pk_bf8_f32 v8, v0, v2 [op_sel:[0,0,1]]
    ],
)
def test_packing_rounds_to_nearest_even_and_keeps_the_other_half(kind, low, high, saturate):
    values = samples(kind)
    expected = np.array([nearest_code(kind, value, saturate) for value in values.ravel()], np.uint32)
    expected = expected.reshape(values.shape)
    for code, shift in ((low, 0), (high, 16)):
        other = values[::-1].copy()
        state = state_with((0, values.view(np.uint32)), (2, other.view(np.uint32)))
        state.write_vgpr(8, np.full(values.shape, 0x12345678, np.uint32))
        run_code(state, code, FloatMode(fp16_overflow=saturate))
        kept = 0x12345678 & (0xFFFF0000 if shift == 0 else 0xFFFF)
        assert np.array_equal(lanes_of(state, 8), kept | (expected | expected[::-1] << 8) << shift)


@pytest.mark.parametrize(
    ("kind", "code", "byte"),
    [
        ("fp8", "0820a4d200050200", 1),  # v_cvt_sr_fp8_f32 v8, v0, v2 op_sel:[0,0,1,0]
        ("bf8", "0860a5d200050200", 3),  # v_cvt_sr_bf8_f32 v8, v0, v2 op_sel:[0,0,1,1]
    ],
)
def test_stochastic_rounding_goes_up_as_often_as_the_value_is_far(kind, code, byte):
    """A third of the way between two neighbours a third of evenly spread numbers rounds up, others down."""
    values = [value_of(kind, code) for code in range(128)]
    for place in (1, 9, 64, 120):
        value = np.float32(values[place] + (values[place + 1] - values[place]) / 3)
        state = state_with((0, np.full((4, 64), -value, np.float32).view(np.uint32)))
        state.write_vgpr(2, (np.arange(256, dtype=np.uint32) * (1 << 24)).reshape(4, 64))
        state.write_vgpr(8, np.zeros((4, 64), np.uint32))
        run_code(state, code)
        result = lanes_of(state, 8)
        assert not (result & np.uint32(0xFFFFFFFF ^ 0xFF << 8 * byte)).any()
        codes = result >> 8 * byte & 0x7F
        assert set(codes.ravel().tolist()) == {place, place + 1}
        assert abs(int((codes == place + 1).sum()) - 256 / 3) < 2


def test_stochastic_rounding_keeps_exact_values_and_nan():
    values = all_values("fp8").reshape(4, 64)
    state = state_with((0, values.view(np.uint32)), (2, np.full((4, 64), 0xFFFFFFFF, np.uint32)))
    state.write_vgpr(8, np.zeros((4, 64), np.uint32))
    run_code(state, "0800a4d200050200")  # v_cvt_sr_fp8_f32 v8, v0, v2
    assert np.array_equal(lanes_of(state, 8), CODES)
