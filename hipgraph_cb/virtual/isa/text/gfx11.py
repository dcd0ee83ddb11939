"""Text of gfx11's instructions."""

from __future__ import annotations

from hipgraph_cb.virtual.isa.core.instruction import Instruction
from hipgraph_cb.virtual.isa.targets.gfx11.tables_generated import HALVES, NAMES
from hipgraph_cb.virtual.isa.text import forms
from hipgraph_cb.virtual.isa.text.names import Names, by_mnemonic

SPECIAL = {
    106: "vcc_lo",
    107: "vcc_hi",
    124: "null",
    125: "m0",
    126: "exec_lo",
    127: "exec_hi",
    230: "src_flat_scratch_base_lo",
    231: "src_flat_scratch_base_hi",
    235: "src_shared_base",
    236: "src_shared_limit",
    237: "src_private_base",
    238: "src_private_limit",
    239: "src_pops_exiting_wave_id",
    248: "0.15915494",
    251: "src_vccz",
    252: "src_execz",
    253: "src_scc",
    254: "src_lds_direct",
}
PAIRS = {106: "vcc", 126: "exec"}
_NAMES = Names(
    special=SPECIAL,
    pairs=PAIRS,
    first_trap=108,
    null=124,
    tables=NAMES,
    halves=by_mnemonic(HALVES),
    cache=("glc", "slc", "dlc"),
    returns="glc",
    counters={"vmcnt": ((10, 6),), "expcnt": ((0, 3),), "lgkmcnt": ((4, 6),)},
)


def text_of(instruction: Instruction, wave_size: int = 32) -> str:
    """The instruction as text, such as "v_add_f32 v0, s2, v1"."""
    return forms.text_of(instruction, _NAMES, wave_size)
