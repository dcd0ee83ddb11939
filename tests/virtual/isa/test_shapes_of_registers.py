"""An instruction does the same whether a value is held once, once a wave, once a lane or in every lane of all waves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.instructions import opcode_list
from support.lanes import GFX942, lanes_of, make_state

from hipgraph_cb.virtual.faults import DeviceFault
from hipgraph_cb.virtual.isa.core.registry import UnsupportedInstruction, compiler_of
from hipgraph_cb.virtual.isa.core.state import AGPR, M0, VCC
from hipgraph_cb.virtual.isa.execution import instruction_set
from hipgraph_cb.virtual.isa.targets.gfx9.decode import decode
from hipgraph_cb.virtual.memory import Memory

pytestmark = pytest.mark.usefixtures("each_way")

WAVES = 3
BUFFER = 4096
AT_ONCE = 16
WORDS = np.dtype(np.uint32)
MEMORY = Memory(1 << 20)
PLACE = MEMORY.allocate(BUFFER)
SHAPES = [(1, 1), (WAVES, 1), (1, 64), (WAVES, 64)]
OFFSETS = {"GLOBAL": 0, "MUBUF": 0, "MTBUF": 0, "DS": 1, "SCRATCH": 0}  # which register holds an address of 32 bits
SKIPPED = ("s_endpgm", "s_trap", "s_sethalt", "s_memtime", "s_memrealtime")
OPCODES = [(code, text) for _, _, code, text in opcode_list() if not text.startswith(SKIPPED)]


class Setting:
    """Registers whose values have the given shapes, or the same values written out for every lane."""

    def __init__(self, seed: int, *, compact: bool) -> None:
        rng = np.random.default_rng(seed)
        self.bytes = MEMORY.bytes(PLACE, BUFFER)
        self.bytes[:] = rng.integers(0, 256, BUFFER, dtype=np.uint8)
        self.state = make_state(MEMORY, groups=WAVES, lds_size=BUFFER)
        self.state.lds[:] = rng.integers(0, 256, self.state.lds.shape, dtype=np.uint8)
        self.state.scratch_size = 64
        self.state.scratch[:] = 0x01020304
        self.compact = compact
        self.clamp = seed % 2
        for register in [*range(64), *range(AGPR, AGPR + 32)]:
            shape = SHAPES[int(rng.integers(len(SHAPES)))]
            values = rng.integers(0, 2**32, shape, dtype=np.uint32)
            if rng.integers(2):  # ordinary floats too
                values = rng.normal(size=shape).astype(np.float32).view(np.uint32)
            self.write(register, values)
        for register in range(100):
            self.state.write_sgpr(register, rng.integers(0, 2**32, (WAVES, 1), dtype=np.uint32))
        self.state.write_mask(VCC, rng.integers(0, 2, (WAVES, 64)).astype(np.bool_))
        self.state.write_sgpr(M0, 64)
        self.base = PLACE + 64 * np.arange(WAVES, dtype=np.uint64).reshape(WAVES, 1)
        self.offsets = 8 * rng.integers(0, 6, SHAPES[int(rng.integers(len(SHAPES)))]).astype(np.uint32)
        if rng.integers(2):
            self.state.write_exec(rng.integers(0, 2, (WAVES, 64)).astype(np.bool_))

    def write(self, register: int, values: np.ndarray) -> None:
        full = np.ascontiguousarray(np.broadcast_to(values, (WAVES, 64)))
        self.state.write_vgpr(register, values if self.compact else full)

    def prepare(self, instruction):
        """Point the address operands of a memory instruction at memory, another place for each wave."""
        state, form = self.state, instruction.format
        fields = dict(instruction.fields)
        fields |= {"clamp": self.clamp} if "clamp" in fields else {}
        if form == "SMEM":
            state.write_sgpr64(fields["sbase"], int(self.base[0, 0]))
            fields |= {"offset": 16, "imm": 1, "soffset_en": 0}
        elif form == "FLAT":
            pair = self.base + self.offsets
            state.write_vgpr64(0, pair if self.compact else np.array(np.broadcast_to(pair, (WAVES, 64))))
        elif form in OFFSETS:
            self.write(OFFSETS[form] if form != "DS" else fields["addr"], self.offsets)
        if form == "GLOBAL":
            state.write_sgpr64(8, self.base)
            fields["saddr"] = 8
        if form in ("MUBUF", "MTBUF"):
            state.write_sgpr64(4, self.base)
            state.write_sgpr(6, 512)
            state.write_sgpr(7, 4 | 5 << 3 | 6 << 6 | 7 << 9 | 4 << 12 | 4 << 15)
            fields |= {"dfmt": 4, "nfmt": 4} if form == "MTBUF" else {}
        return replace(instruction, fields=fields)

    def run(self, code: bytes) -> str | None:
        """Execute one instruction; the text of its fault, if it has one."""
        assert instruction_set.MODULES
        instruction = self.prepare(decode(code, 0))
        compiler = compiler_of(instruction.mnemonic)
        try:
            step = None if compiler is None else compiler(instruction, GFX942)
            if callable(step):
                with np.errstate(all="ignore"):
                    step(self.state)
            assert {self.state.read_vgpr(register).dtype for register in range(16)} == {WORDS}, instruction.mnemonic
        except (DeviceFault, UnsupportedInstruction) as error:
            return str(error)
        return None

    def everything(self) -> list[np.ndarray]:
        state = self.state
        vectors = [lanes_of(state, register) for register in [*range(70), *range(AGPR, AGPR + 40)]]
        scalars = [np.broadcast_to(np.asarray(state.read_sgpr(register)), (WAVES, 1)) for register in range(126)]
        masks = [np.broadcast_to(np.asarray(state.read_scc()), (WAVES, 1)), state.exec_mask().words(state.shape)]
        return [*vectors, *scalars, *masks, self.bytes.copy(), state.lds, state.scratch]


def outcome(seed: int, codes: list[bytes], *, compact: bool) -> tuple[list[str | None], list[np.ndarray]]:
    setting = Setting(seed, compact=compact)
    return [setting.run(code) for code in codes], setting.everything()


def compare(seed: int) -> None:
    """Every opcode once, some after each other on the same registers."""
    for first in range(0, len(OPCODES), AT_ONCE):
        codes, texts = zip(*OPCODES[first : first + AT_ONCE], strict=True)
        compact, full = (outcome(seed + first // AT_ONCE, codes, compact=compact) for compact in (True, False))
        assert compact[0] == full[0], texts
        for one, other in zip(compact[1], full[1], strict=True):
            assert np.array_equal(one, other), texts


@pytest.mark.parametrize("seed", [0, 1], ids=["without clamp at first", "with clamp at first"])
def test_the_shape_in_which_a_register_is_held_makes_no_difference(seed):
    """Odd seeds clamp; batches take turns."""
    compare(seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10_000, 200_000, 10_000))
def test_the_shape_in_which_a_register_is_held_never_makes_a_difference(seed):
    compare(seed)
