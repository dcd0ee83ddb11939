"""Loads of 16 bits into one half of a register, of every kind of memory.

With error correction in the register file (the target ID says `sramecc+`) the other half is zero afterwards, without
it that half stays. LLVM counts on the latter for `sramecc-` targets only (GCNSubtarget::d16PreservesUnusedBits).
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from support.instructions import opcode_list
from support.lanes import GFX942, execute, lanes_of, make_state

from hipgraph_cb.virtual.isa.targets.gfx9.decode import decode
from hipgraph_cb.virtual.memory import Memory

pytestmark = pytest.mark.usefixtures("each_way")

WORD = 0x80F1
OLD = 0xAAAABBBB
UINT, SIXTEEN_BITS = 4, 2  # number and data format
INTO_ONE_HALF = re.compile(r"\w+_(?:load|read)_\w*d16(?:_hi)?(?:_x)?")
LOADS = [
    (code, text.split()[0])
    for _, _, code, text in opcode_list()
    if INTO_ONE_HALF.fullmatch(text.split()[0]) is not None
]


def loaded(mnemonic: str) -> int:
    """The 16 bits that are loaded."""
    if re.search(r"_(ubyte|u8)_", mnemonic):
        return WORD & 0xFF
    return WORD & 0xFF | 0xFF00 if re.search(r"_(sbyte|i8)_", mnemonic) else WORD


def expected(mnemonic: str, old: int) -> int:
    half = loaded(mnemonic)
    return half << 16 | old & 0xFFFF if "_hi" in mnemonic else half | old & 0xFFFF0000


@pytest.fixture
def state():
    """A state in which every place that the listed encodings name holds the word, as a buffer's element too."""
    memory = Memory(1 << 20)
    buffer = memory.allocate(256)
    memory.bytes(buffer, 256).view(np.uint16)[:] = WORD
    state = make_state(memory, lds_size=256)
    state.lds[:] = np.full(128, WORD, np.uint16).view(np.uint8)
    state.scratch_size = 16
    state.scratch[:] = WORD << 16 | WORD
    flags = 4 | UINT << 12 | SIXTEEN_BITS << 15
    for register, value in enumerate((buffer & 0xFFFFFFFF, buffer >> 32, 256, flags), 4):
        state.write_sgpr(register, value)
    return state, buffer


def test_every_kind_of_memory_has_such_loads():
    kinds = {mnemonic.split("_")[0] for _, mnemonic in LOADS}
    assert kinds == {"ds", "flat", "global", "scratch", "buffer", "tbuffer"}
    assert len(LOADS) == 33


@pytest.mark.parametrize("sram_ecc", [True, False], ids=["sramecc+", "sramecc-"])
@pytest.mark.parametrize(("code", "mnemonic"), LOADS, ids=[mnemonic for _, mnemonic in LOADS])
def test_a_load_into_one_half_clears_the_other_where_registers_have_error_correction(state, code, mnemonic, sram_ecc):
    state, buffer = state
    instruction = decode(code, 0)
    fields = dict(instruction.fields)
    fields |= {"dfmt": SIXTEEN_BITS, "nfmt": UINT} if "dfmt" in fields else {}
    address = buffer if instruction.format in ("GLOBAL", "FLAT") else 0
    if instruction.format != "DS":
        state.write_vgpr64(0, np.full((1, 1), address, np.uint64))
    else:
        state.write_vgpr(1, np.zeros((1, 1), np.uint32))
    destination = fields["vdata"] if "vdata" in fields else fields["vdst"]
    state.write_vgpr(destination, np.full((1, 1), OLD, np.uint32))
    state.write_exec((np.arange(64) % 3 != 0).reshape(1, 64))
    execute(state, replace(instruction, fields=fields), replace(GFX942, sram_ecc=sram_ecc))
    result = lanes_of(state, destination)[0]
    assert set(result[np.arange(64) % 3 != 0].tolist()) == {expected(mnemonic, 0 if sram_ecc else OLD)}
    assert set(result[np.arange(64) % 3 == 0].tolist()) == {OLD}
