"""Buffers whose elements have a format, against Python's reading of the bytes."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from support.lanes import lanes_of, make_state, run

from hipgraph_cb.virtual.faults import DeviceFault
from hipgraph_cb.virtual.memory import Memory

ZERO = 128  # the inline constant 0 as scalar offset
VADDR, VDATA, DESCRIPTOR = 0, 4, 8
UNORM, SNORM, USCALED, SSCALED, UINT, SINT, FLOAT = 0, 1, 2, 3, 4, 5, 7
NAMES = ("x", "xy", "xyz", "xyzw")
# data format -> bits of each component, the lowest first
WIDTHS = {1: (8,), 2: (16,), 3: (8, 8), 4: (32,), 5: (16, 16), 6: (11, 11, 10), 7: (10, 11, 11), 8: (2, 10, 10, 10)}
WIDTHS |= {9: (10, 10, 10, 2), 10: (8,) * 4, 11: (32, 32), 12: (16,) * 4, 13: (32,) * 3, 14: (32,) * 4}
SMALL_FLOATS = {6, 7, 2, 5, 12, 4, 11, 13, 14}
FORMATS = [
    (data, kind)
    for data in WIDTHS
    for kind in (UNORM, SNORM, USCALED, SSCALED, UINT, SINT, FLOAT)
    if kind != FLOAT or data in SMALL_FLOATS
]


def signed(raw: int, bits: int) -> int:
    return raw - (1 << bits) if raw >> bits - 1 else raw


def word_of(value: float) -> int:
    return int.from_bytes(struct.pack("<f", np.float32(value)), "little")


def decoded(raw: int, bits: int, kind: int) -> int:
    """The 32 bits that one component becomes in a register."""
    if kind == UINT:
        return raw
    if kind == SINT:
        return signed(raw, bits) & 0xFFFFFFFF
    if kind == FLOAT:
        if bits == 32:
            return raw
        half = raw if bits == 16 else raw << 15 - bits
        return word_of(struct.unpack("<e", half.to_bytes(2, "little"))[0])
    if kind == UNORM:
        return word_of(raw / ((1 << bits) - 1))
    if kind == SNORM:
        return word_of(max(signed(raw, bits) / ((1 << bits - 1) - 1), -1))
    return word_of(raw if kind == USCALED else signed(raw, bits))


def element(data: bytes, widths: tuple[int, ...]) -> list[int]:
    number, parts = int.from_bytes(data, "little"), []
    for bits in widths:
        parts.append(number & (1 << bits) - 1)
        number >>= bits
    return parts


class Scene:
    """64 elements of a format in memory, one for each lane in reverse order."""

    def __init__(self, data_format: int, kind: int, *, records: int | None = None, selectors=(4, 5, 6, 7)) -> None:
        self.size = sum(WIDTHS[data_format]) // 8
        self.memory = Memory(1 << 20)
        self.base = self.memory.allocate(64 * self.size + 16)
        self.bytes = self.memory.bytes(self.base, 64 * self.size)
        self.bytes[:] = np.random.default_rng(data_format).integers(0, 256, 64 * self.size, dtype=np.uint8)
        self.state = make_state(self.memory)
        flags = sum(code << 3 * index for index, code in enumerate(selectors)) | kind << 12 | data_format << 15
        limit = 64 * self.size if records is None else records * self.size
        for index, word in enumerate((self.base & 0xFFFFFFFF, self.base >> 32, limit, flags)):
            self.state.write_sgpr(DESCRIPTOR + index, word)
        self.order = np.arange(64)[::-1]
        self.state.write_vgpr(VADDR, (self.order * self.size).astype(np.uint32).reshape(1, -1))

    def run(self, mnemonic: str, **fields: int) -> None:
        form = "MTBUF" if mnemonic.startswith("t") else "MUBUF"
        given = {"vaddr": VADDR, "vdata": VDATA, "srsrc": DESCRIPTOR, "soffset": ZERO, "offen": 1}
        run(self.state, mnemonic, form, **given, **fields)

    def elements(self, widths: tuple[int, ...]) -> list[list[int]]:
        """The components of each lane's element."""
        data = self.bytes.tobytes()
        return [element(data[start : start + self.size], widths) for start in (self.order * self.size).tolist()]


def same_float_or_bits(found: int, wanted: int, kind: int) -> bool:
    if kind in (UINT, SINT):
        return found == wanted
    a, b = (np.uint32(value).view(np.float32) for value in (found, wanted))
    return found == wanted or bool(np.isnan(a) and np.isnan(b))


@pytest.mark.parametrize("typed", [False, True], ids=["buffer", "tbuffer"])
@pytest.mark.parametrize(("data_format", "kind"), FORMATS)
def test_a_load_decodes_every_component_and_fills_up_with_0_0_0_1(data_format, kind, typed):
    widths = WIDTHS[data_format]
    for count, name in enumerate(NAMES, 1):
        scene = Scene(data_format, kind)
        scene.run(f"{'t' * typed}buffer_load_format_{name}", **({"dfmt": data_format, "nfmt": kind} if typed else {}))
        one = 1 if kind in (UINT, SINT) else word_of(1)
        for index in range(count):
            found = lanes_of(scene.state, VDATA + index)[0].tolist()
            for lane, parts in enumerate(scene.elements(widths)):
                missing = one if index == 3 else 0
                wanted = decoded(parts[index], widths[index], kind) if index < len(parts) else missing
                assert same_float_or_bits(found[lane], wanted, kind), (name, index, lane)


def test_the_descriptor_chooses_the_order_of_the_components():
    scene = Scene(10, UINT, selectors=(6, 1, 0, 4))
    scene.run("buffer_load_format_xyzw")
    parts = scene.elements(WIDTHS[10])
    columns = [lanes_of(scene.state, VDATA + index)[0].tolist() for index in range(4)]
    assert columns == [[part[2] for part in parts], [1] * 64, [0] * 64, [part[0] for part in parts]]


def test_elements_out_of_range_read_as_zero_with_one_behind():
    scene = Scene(5, FLOAT, records=10)
    scene.run("buffer_load_format_xyzw")
    outside = scene.order >= 10
    for index, value in enumerate((0, 0, 0, word_of(1))):
        assert set(lanes_of(scene.state, VDATA + index)[0][outside].tolist()) == {value}


def test_halves_are_packed_two_to_a_register():
    scene = Scene(12, FLOAT)
    scene.run("buffer_load_format_d16_xyz")
    parts = scene.elements(WIDTHS[12])
    finite = [lane for lane, part in enumerate(parts) if all((value & 0x7C00) != 0x7C00 for value in part)]
    first, second = (lanes_of(scene.state, VDATA + index)[0] for index in (0, 1))
    assert finite
    for lane in finite:
        assert first[lane] == parts[lane][0] | parts[lane][1] << 16
        assert second[lane] == parts[lane][2]


def nearest_even(value: float) -> int:
    return int(np.rint(value))


def encoded(value: float, bits: int, kind: int) -> int:
    """What a float becomes in memory."""
    value = 0.0 if np.isnan(value) else float(value)
    if kind == UNORM:
        return nearest_even(min(max(value, 0), 1) * ((1 << bits) - 1))
    if kind == SNORM:
        return nearest_even(min(max(value, -1), 1) * ((1 << bits - 1) - 1)) & (1 << bits) - 1
    low, high = (0, (1 << bits) - 1) if kind == USCALED else (-(1 << bits - 1), (1 << bits - 1) - 1)
    return int(min(max(value, low), high)) & (1 << bits) - 1


@pytest.mark.parametrize("kind", [UNORM, SNORM, USCALED, SSCALED])
@pytest.mark.parametrize("data_format", [1, 2, 3, 5, 8, 9, 10, 12])
def test_a_store_encodes_floats(data_format, kind):
    widths, scene = WIDTHS[data_format], Scene(data_format, kind)
    random = np.random.default_rng(kind)
    values = (random.standard_normal((4, 64)) * (1 if kind in (UNORM, SNORM) else 300)).astype(np.float32)
    values[:, :4] = [np.nan, np.inf, -np.inf, -0.0]
    for index in range(4):
        scene.state.write_vgpr(VDATA + index, values[index].view(np.uint32).reshape(1, -1))
    scene.run("buffer_store_format_xyzw")
    for lane, parts in enumerate(scene.elements(widths)):
        wanted = [encoded(values[index, lane], bits, kind) for index, bits in enumerate(widths)]
        assert parts == wanted


@pytest.mark.parametrize("typed", [False, True], ids=["buffer", "tbuffer"])
@pytest.mark.parametrize("kind", [UINT, SINT, FLOAT])
def test_what_is_stored_is_loaded_again(kind, typed):
    data_format = 12
    scene = Scene(data_format, kind)
    values = np.random.default_rng(3).integers(-30, 30, (4, 64))
    words = values.astype(np.float32).view(np.uint32) if kind == FLOAT else (values + 30).astype(np.uint32)
    fields = {"dfmt": data_format, "nfmt": kind} if typed else {}
    for index in range(4):
        scene.state.write_vgpr(VDATA + index, words[index].reshape(1, -1))
    scene.run(f"{'t' * typed}buffer_store_format_xyzw", **fields)
    for index in range(4):
        scene.state.write_vgpr(VDATA + index, np.zeros((1, 1), np.uint32))
    scene.run(f"{'t' * typed}buffer_load_format_xyzw", **fields)
    for index in range(4):
        assert lanes_of(scene.state, VDATA + index)[0].tolist() == words[index].tolist()


def test_halves_are_stored_from_both_parts_of_their_registers():
    scene = Scene(12, FLOAT)
    halves = np.random.default_rng(6).standard_normal((64, 4)).astype(np.float16)
    words = halves.view(np.uint32)
    for index in (0, 1):
        scene.state.write_vgpr(VDATA + index, np.ascontiguousarray(words[:, index]).reshape(1, -1))
    scene.run("buffer_store_format_d16_xyzw")
    assert scene.elements(WIDTHS[12]) == halves.view(np.uint16).tolist()


@pytest.mark.parametrize(("bits", "mantissa"), [(11, 6), (10, 5)])
def test_short_floats_are_stored_without_sign_and_towards_zero(bits, mantissa):
    data_format, place = (6, 0) if bits == 11 else (7, 0)
    scene = Scene(data_format, FLOAT)
    values = np.exp2(np.random.default_rng(1).uniform(-10, 10, 64)).astype(np.float32)
    values[:2] = [-1.0, 0.0]
    for index in range(3):
        scene.state.write_vgpr(VDATA + index, values.view(np.uint32).reshape(1, -1))
    scene.run("buffer_store_format_xyz")
    for lane, parts in enumerate(scene.elements(WIDTHS[data_format])):
        value = max(float(values[lane]), 0.0)
        exponent = int(np.floor(np.log2(value))) if value else -15
        fraction = int((value / 2.0**exponent - 1) * (1 << mantissa)) if value else 0
        assert parts[place] == (exponent + 15 << mantissa | fraction if value else 0)


def test_a_store_of_too_few_components_is_a_fault():
    with pytest.raises(DeviceFault) as caught:
        Scene(10, UNORM).run("buffer_store_format_xy")
    assert caught.value.description == "a store of 2 components to elements of 4"


@pytest.mark.parametrize(("data_format", "kind"), [(0, 0), (15, 0), (10, FLOAT), (4, 6)])
def test_a_format_that_does_not_exist_is_a_fault(data_format, kind):
    scene = Scene(10, UNORM)
    with pytest.raises(DeviceFault) as caught:
        scene.run("tbuffer_load_format_x", dfmt=data_format, nfmt=kind)
    assert caught.value.description == f"there is no data format {data_format} with number format {kind}"
