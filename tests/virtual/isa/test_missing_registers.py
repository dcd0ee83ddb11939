"""Encodings that name registers which do not exist are refused as illegal instructions, before anything is written."""

from __future__ import annotations

import numpy as np
import pytest
from support.lanes import make_state, run
from support.random_instructions import END, Scene

from hipgraph_cb.virtual.memory import Memory


@pytest.fixture(scope="module")
def scene() -> Scene:
    return Scene()


def encoded(value: int, size: int) -> bytes:
    return value.to_bytes(size, "little")


def sop1(opcode: int, destination: int, source: int) -> bytes:
    return encoded(0b101111101 << 23 | destination << 16 | opcode << 8 | source, 4)


def smem(opcode: int, destination: int, base: int) -> bytes:
    return encoded(0b110000 << 26 | opcode << 18 | 1 << 17 | destination << 6 | base >> 1, 8)


def vop3(opcode: int, destination: int, source0: int, source1: int) -> bytes:
    return encoded(0b110100 << 26 | opcode << 16 | destination | source0 << 32 | source1 << 41, 8)


def memory(form: int, opcode: int, **fields: int) -> bytes:
    places = {"addr": 32, "data": 40, "data0": 40, "data1": 48, "saddr": 48, "vdst": 56, "segment": 14}
    return encoded(form << 26 | opcode << 18 | sum(value << places[name] for name, value in fields.items()), 8)


DS, FLAT = 0b110110, 0b110111


def ds(opcode: int, **fields: int) -> bytes:
    return encoded(int.from_bytes(memory(DS, 0, **fields), "little") | opcode << 17, 8)


SDWA, V0, V255 = 249, 256, 511
BY_PAIR = {"segment": 2, "addr": 2, "saddr": 0x7F}
REGISTERS = [
    (sop1(1, 127, 128), "s_mov_b64", "2 scalar registers from number 127 on"),
    (sop1(1, 17, 128), "s_mov_b64", "2 scalar registers from number 17 on"),
    (sop1(1, 18, 17), "s_mov_b64", "2 scalar registers from number 17 on"),
    (sop1(32, 21, 20), "s_and_saveexec_b64", "2 scalar registers from number 21 on"),
    (smem(2, 18, 4), "s_load_dwordx4", "4 scalar registers from number 18 on"),
    (smem(4, 120, 4), "s_load_dwordx16", "16 scalar registers from number 120 on"),
    (vop3(0x42, 200, V0, V0), "v_cmp_eq_f32", "2 scalar registers from number 200 on"),
    (vop3(0x289, 144, V0, 128), "v_readlane_b32", "a scalar register from number 144 on"),
    (vop3(0x280, 255, V0, V0), "v_add_f64", "2 vector registers from number 255 on"),
    (vop3(0x280, 0, V255, V0), "v_add_f64", "2 vector registers from number 255 on"),
    (vop3(0x280, 0, 17, V0), "v_add_f64", "2 scalar registers from number 17 on"),
    (memory(FLAT, 0x17, **BY_PAIR, vdst=253), "global_load_dwordx4", "4 vector registers from number 253 on"),
    (memory(FLAT, 0x1D, **BY_PAIR, data=255), "global_store_dwordx2", "2 vector registers from number 255 on"),
    (memory(FLAT, 0x14, segment=2, addr=255, saddr=0x7F), "global_load_dword", "2 vector registers from number 255 on"),
    (memory(FLAT, 0x14, segment=2, addr=6, saddr=9), "global_load_dword", "2 scalar registers from number 9 on"),
    (ds(0x77, addr=6, vdst=253), "ds_read2_b64", "4 vector registers from number 253 on"),
    (ds(0x4D, addr=6, data0=255), "ds_write_b64", "2 vector registers from number 255 on"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "mnemonic", "what"), REGISTERS, ids=[f"{row[1]}: {row[2]}" for row in REGISTERS])
def test_registers_that_do_not_exist_are_refused(scene, code, mnemonic, what):
    fault = scene.run(code + END, 1, 64).fault
    assert fault is not None
    assert fault.splitlines()[0] == f"illegal instruction: {mnemonic} is not implemented with {what}"


def test_the_last_registers_can_be_used(scene):
    code = sop1(1, 126, 126) + vop3(0x280, 254, V255 - 1, V255 - 1) + smem(4, 108, 4)
    code += memory(FLAT, 0x17, **BY_PAIR, vdst=252)
    fault = scene.run(code + END, 1, 64).fault
    assert fault is not None
    assert "is not implemented with" not in fault  # the addresses lead nowhere


@pytest.mark.parametrize(("word", "what"), [(0x07060700, "SDWA selector 7"), (0x00061600 | 3 << 11, "dst_unused 3")])
def test_selectors_that_do_not_exist_are_refused(scene, word, what):
    code = encoded(1 << 25 | SDWA, 4) + encoded(word, 4)  # v_add_f32
    fault = scene.run(code + END, 1, 64).fault
    assert fault is not None
    assert fault.startswith("illegal instruction: v_add_f32 is not implemented with ")
    assert what in fault.splitlines()[0]


@pytest.mark.usefixtures("each_way")
@pytest.mark.parametrize("distance", [1, 2, 3, 4])
def test_of_bytes_that_several_lanes_store_the_highest_lanes_stay(distance):
    memory = Memory(1 << 20)
    at = memory.allocate(512)
    state = make_state(memory)
    lanes = np.arange(64, dtype=np.uint32)
    values = lanes * np.uint32(0x01030507) + np.uint32(0x11223344)
    state.write_sgpr64(8, at)
    state.write_vgpr(0, (lanes * np.uint32(distance)).reshape(1, 64))
    state.write_vgpr(1, values.reshape(1, 64))
    expected = memory.bytes(at, 512).copy()
    for lane in range(64):
        expected[distance * lane : distance * lane + 4] = values[lane : lane + 1].view(np.uint8)
    run(state, "global_store_dword", "GLOBAL", addr=0, saddr=8, data=1)
    assert np.array_equal(memory.bytes(at, 512), expected)
