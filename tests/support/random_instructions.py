"""Random programs of machine code, most of them nonsense, and all that they leave behind."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
from support.assembled import Assembled, assembled, kernel_of
from support.instructions import opcode_list
from support.lanes import GFX942

from hipgraph_cb.virtual.faults import DeviceFault
from hipgraph_cb.virtual.initial_state import initial_state
from hipgraph_cb.virtual.isa.core.state import AGPR, State
from hipgraph_cb.virtual.isa.execution.placement import Placement
from hipgraph_cb.virtual.isa.execution.program import program_for
from hipgraph_cb.virtual.isa.execution.scheduler import Chunk, Outcome
from hipgraph_cb.virtual.isa.targets.gfx9.tables_generated import LAYOUTS
from hipgraph_cb.virtual.isa.targets.gfx9.target import TARGET
from hipgraph_cb.virtual.launch import Launch
from hipgraph_cb.virtual.memory import Memory

# s[8:9] and v[2:3] lead to one buffer, s[10:11] and v[4:5] to another, s[12:15] is a V#, v6 has offsets
PROLOGUE = assembled(
    """
    s_load_dwordx4 s[8:11], s[0:1], 0x0
    s_load_dwordx4 s[16:19], s[0:1], 0x10
    s_waitcnt lgkmcnt(0)
    s_mov_b32 s12, s8
    s_mov_b32 s13, s9
    s_movk_i32 s14, 0x800
    s_mov_b32 s15, 0x00027fac
    v_and_b32 v0, 0x3ff, v0
    v_mov_b32 v1, 0
    v_lshlrev_b32 v6, 3, v0
    v_lshl_add_u64 v[2:3], v[0:1], 3, s[8:9]
    v_lshl_add_u64 v[4:5], v[0:1], 3, s[10:11]
    v_cvt_f32_i32 v7, v0
    v_mov_b32 v8, 1.0
    v_not_b32 v9, v0
    v_mov_b32 v10, 0x7f800001
    v_mov_b32 v11, s2
    global_load_dwordx4 v[12:15], v[4:5], off
    v_mul_f32 v16, 0x3dcccccd, v7
    s_mov_b32 s20, 0x80000000
    s_movk_i32 s21, 0x1234
    s_mov_b32 s22, s2
    s_mov_b32 s23, 8
    s_mov_b32 m0, 64
""",
    "00020ac00000000000040ac0100000007fc08cbf08008cbe09008dbe00080eb0ff008fbeac7f0200ff000026ff030000"
    "8002027e83000c24020008d200072100040008d200072900000b0e7ef202107e0057127eff02147e0100807f0202167e"
    "00805cdc04007f0cff0e200acdcccc3dff0094be00000080341215b0020096be880097bec000fcbe",
)
END = bytes.fromhex("000081bf")  # s_endpgm
BUFFER, LDS, SCRATCH, LONGEST = 2048, 1024, 256, 6
MOST_LOOKS = 40  # of the scheduler, each some blocks
VECTORS = [*range(64), *range(AGPR, AGPR + 32)]
WEIGHTS = {
    "DS": 5, "FLAT": 3, "GLOBAL": 6, "MTBUF": 2, "MUBUF": 5, "SCRATCH": 3, "SMEM": 3, "SOP1": 4, "SOP2": 4, "SOPC": 2,
    "SOPK": 2, "SOPP": 1, "VOP1": 6, "VOP2": 6, "VOP3": 10, "VOP3P": 5, "VOPC": 4,
}  # fmt: skip
# which registers may be an address together; the number of a source is 128 + a small constant
ADDRESSES = {
    "GLOBAL": [
        {"addr": 2, "saddr": 0x7F},
        {"addr": 4, "saddr": 0x7F},
        {"addr": 6, "saddr": 8},
        {"addr": 1, "saddr": 10},
    ],
    "FLAT": [{"addr": 2}, {"addr": 4}],
    "SCRATCH": [{"addr": 1, "saddr": 0x7F, "sve": 1}, {"saddr": 0x7F, "sve": 0}, {"addr": 1, "saddr": 23, "sve": 1}],
    "DS": [{"addr": 6}, {"addr": 6}, {"addr": 1}],
    "MUBUF": [
        {"vaddr": 6, "srsrc": 3, "soffset": 128},
        {"vaddr": 1, "srsrc": 3, "soffset": 136},
        {"vaddr": 0, "srsrc": 3},
    ],
    "SMEM": [{"sbase": 4, "imm": 1, "soffset_en": 0}, {"sbase": 5, "imm": 1, "soffset_en": 0}, {"sbase": 6}],
}
ADDRESSES["MTBUF"] = ADDRESSES["MUBUF"]
MATRIX = ("v_mfma", "v_smfmac")
# multiply and add at once: of a NaN that they make only that it is one is certain
FUSED = ("v_fma", "v_pk_fma", "v_div_fmas", "v_mad_mix", "v_mad_", "v_mac_", "v_dot", *MATRIX)
SHORT = ("VOP1", "VOP2", "VOPC", "SOP1", "SOP2", "SOPC")
LITERAL, SDWA, DPP = 255, 249, 250

Entry = tuple[str, bytes, str]


def entries() -> dict[str, list[Entry]]:
    """By format: name of the layout of the fields, an encoding, the mnemonic."""
    found: dict[str, list[Entry]] = {}
    for form, _, code, text in opcode_list():
        mnemonic = text.split()[0]
        layout = "MFMA" if mnemonic.startswith(MATRIX) else form
        found.setdefault(form, []).append((layout, code, mnemonic))
    return found


ENTRIES = entries()


class Generator:
    """Makes the program of a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.is_fused = False

    def program(self) -> bytes:
        parts = [PROLOGUE.code]
        for _ in range(self.random.randint(1, LONGEST)):
            code, mnemonic = self.instruction()
            parts.append(code)
            if mnemonic.startswith(FUSED):
                self.is_fused = True
                break
        return b"".join(parts) + END

    def instruction(self) -> tuple[bytes, str]:
        pick = self.random
        kind = pick.random()
        if kind < 0.03:
            return pick.randbytes(8), ""
        (form,) = pick.choices(list(WEIGHTS), list(WEIGHTS.values()))
        layout, code, mnemonic = pick.choice(ENTRIES[form])
        bits = int.from_bytes(code, "little")
        address = {} if pick.random() < 0.05 else pick.choice(ADDRESSES.get(form, [{}]))
        for name, low, width in LAYOUTS[layout]:
            if low < 8 * len(code) and (name in address or pick.random() < 0.8):
                mask = (1 << width) - 1
                value = address[name] if name in address else self.field(name, width)
                bits = bits & ~(mask << low) | (value & mask) << low
        if kind < 0.08:
            bits ^= 1 << pick.randrange(8 * len(code))
        return bits.to_bytes(len(code), "little") + self.behind(form, bits, len(code)), mnemonic

    def behind(self, form: str, bits: int, size: int) -> bytes:
        """The word that the first source of a short form asks for."""
        sources = {bits & 0x1FF} if form.startswith("V") else {bits & 0xFF, bits >> 8 & 0xFF}
        if size > 4 or form not in SHORT or not sources & {LITERAL, SDWA, DPP}:
            return b""
        word = self.random.getrandbits(32)
        if DPP in sources and form.startswith("V") and self.random.random() < 0.7:
            word = word & 0xFFF0_0000 | self.random.choice([0x1B, 0x111, 0x12F, 0x140, 0x142, 0x151]) << 8 | 7
        if SDWA in sources and form.startswith("V") and self.random.random() < 0.7:
            choose = self.random.randrange
            word = 7 | choose(7) << 8 | choose(3) << 11 | choose(7) << 16 | choose(16) << 19 | choose(7) << 24
        return word.to_bytes(4, "little")

    def field(self, name: str, width: int) -> int:
        pick = self.random
        if pick.random() < 0.03:
            return pick.getrandbits(width)
        if width == 1:
            return pick.random() < 0.15
        if name in ("src0", "src1", "src2", "ssrc0", "ssrc1", "soffset"):
            return self.source(width)
        if name in ("sdst", "sdata"):
            return pick.choice([*range(16, 40, 4), 22, 23, 106, 124, 126])
        if name.startswith("offset"):
            return pick.choice([0, 0, 0, 8, 16, 64, 128, 1, 2, 4, -8, 255, 1000])
        if name == "simm16":
            return pick.choice([0, 1, 2, 3, 0xFFFF, 0xFFF0, 0x7C01, pick.getrandbits(16)])
        if name in ("abs", "neg", "neg_hi", "omod", "op_sel", "cbsz", "abid", "blgp"):
            return pick.getrandbits(width) if pick.random() < 0.3 else 0
        if name in ("dfmt", "nfmt"):
            return pick.choice((1, 2, 4, 5, 10, 11, 14) if name == "dfmt" else (0, 1, 4, 5, 7))
        return pick.randrange(24)

    def source(self, width: int) -> int:
        pick = self.random
        scalar = [
            pick.randrange(8, 24),
            pick.randrange(128, 209),
            pick.randrange(240, 249),
            106,
            124,
            126,
            253,
            LITERAL,
        ]
        if width < 9:
            return pick.choice(scalar)
        return pick.choice([*scalar, *(256 + pick.randrange(20) for _ in range(14)), SDWA, DPP])


@dataclass(frozen=True)
class Left:
    """What a program leaves behind."""

    fault: str | None
    memory: np.ndarray
    registers: dict[str, np.ndarray]


class Scene:
    """A device memory in which one program after the other runs on the same bytes."""

    def __init__(self) -> None:
        self.memory = Memory(1 << 20)
        self.kernel = kernel_of(self.memory, Assembled("", bytes(1024)), lds=LDS, scratch=SCRATCH)
        self.out, self.source = self.memory.allocate(BUFFER), self.memory.allocate(BUFFER)
        self.kernarg = self.memory.allocate(32)
        self.bytes_before = np.random.default_rng(1).integers(0, 256, BUFFER, dtype=np.uint8)
        self.words = self.memory.bytes(self.kernarg, 32).view(np.uint64)

    def run(self, code: bytes, groups: int, group_size: int) -> Left:
        memory = self.memory
        for buffer in (self.out, self.source):
            memory.bytes(buffer, BUFFER)[:] = self.bytes_before
        self.words[:] = [self.out, self.source, 0x1234_5678_9ABC_DEF0, 7]
        launch = Launch(self.kernel, (groups * group_size, 1, 1), (group_size, 1, 1), self.kernarg)
        address = self.kernel.code_address
        memory.bytes(address, len(code))[:] = np.frombuffer(code, np.uint8)
        placement = Placement("tried", address, 0, launch.groups, 0, groups, launch.waves_per_group(64), 64, TARGET)
        state, fault = initial_state(launch, memory, placement), None
        try:
            with np.errstate(all="ignore"):
                finish(Chunk(state, program_for(code, GFX942), 0))
        except DeviceFault as error:
            fault = str(error)
        parts = [memory.bytes(buffer, BUFFER) for buffer in (self.out, self.source)]
        return Left(fault, np.concatenate([*parts, state.lds.reshape(-1)]), registers(state))


def finish(chunk: Chunk) -> None:
    """Run to the end, or until it is clear that there is none; not by time, which differs from run to run."""
    looks = iter(range(MOST_LOOKS))
    while chunk.run(lambda: next(looks, None) is None) is Outcome.SPINNING:
        pass


def registers(state: State) -> dict[str, np.ndarray]:
    """All that has a number, written out for every lane or wave."""
    vectors = {f"v{number}": np.array(state.full(state.read_vgpr(number))) for number in VECTORS}
    scalars = {
        f"s{number}": np.array(np.broadcast_to(state.read_sgpr(number), (state.waves, 1))) for number in range(128)
    }
    return vectors | scalars | {"scc": np.array(np.broadcast_to(state.read_scc(), (state.waves, 1)))}


def differences(one: Left, other: Left, *, any_nan: bool) -> list[str]:
    """What differs, in words; with `any_nan` two floats that are no numbers are the same."""
    if one.fault is not None or other.fault is not None:
        return [] if one.fault == other.fault else [f"fault: {one.fault} / {other.fault}"]
    found = [] if np.array_equal(one.memory, other.memory) else ["memory"]
    for name, value in one.registers.items():
        wanted = other.registers[name]
        if name.startswith("v") and not value.dtype == wanted.dtype == np.uint32:
            found.append(f"the type of {name}: {value.dtype} / {wanted.dtype}")
        elif not np.array_equal(value, wanted) and not (any_nan and are_nans(value, wanted)):
            found.append(name)
    return found


def are_nans(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether they differ only where both are NaN, as f32, as the upper half of an f64 or as a pair of f16."""
    where = one != other
    exponents = (0x7F800000, 0x7FF00000, 0x7C007C00)
    return all(
        any(int(a) & mask == mask and int(b) & mask == mask for mask in exponents)
        or (int(a) | int(b)) >> 10 & 0x1F == 0x1F
        for a, b in zip(one[where], other[where], strict=True)
    )
