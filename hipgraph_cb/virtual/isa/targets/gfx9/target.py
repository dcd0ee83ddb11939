"""gfx9 with waves of 64 lanes, as a target: gfx942."""

from __future__ import annotations

from types import MappingProxyType

from hipgraph_cb.virtual.isa.core.target import Target
from hipgraph_cb.virtual.isa.core.wait_layout import WaitLayout
from hipgraph_cb.virtual.isa.targets.gfx9.decode import TARGETS, decode
from hipgraph_cb.virtual.isa.targets.gfx9.tables_generated import MNEMONICS
from hipgraph_cb.virtual.isa.text.disassemble import disassemble

_WAVE = 64
_EXCLUSIONS = {
    "not on gfx942": ("image (MIMG)", "export (EXP)", "interpolation (VINTRP)"),
    "graphics": ("s_endpgm_ordered_ps_done", "s_sendmsghalt", "s_setkill", "v_screen_partition_4se_b32"),
    "global wave sync, which the driver has to allot": (
        "ds_gws_barrier",
        "ds_gws_init",
        "ds_gws_sema_br",
        "ds_gws_sema_p",
        "ds_gws_sema_release_all",
        "ds_gws_sema_v",
    ),
    "there is no trap handler to return from": ("s_rfe_b64", "s_rfe_restore_b64"),
    "forks that compilers for compute do not emit": (
        "s_cbranch_g_fork",
        "s_cbranch_i_fork",
        "s_cbranch_join",
    ),
    "private memory through scalar registers, whose addresses are undocumented with architected scratch": (
        "s_scratch_load_dword",
        "s_scratch_load_dwordx2",
        "s_scratch_load_dwordx4",
        "s_scratch_store_dword",
        "s_scratch_store_dwordx2",
        "s_scratch_store_dwordx4",
    ),
}

TARGET = Target(
    family="gfx9",
    processors=TARGETS,
    decode=decode,
    text=lambda instruction, lanes: disassemble(instruction),
    opcodes=MNEMONICS,
    source="every opcode of gfx942 that LLVM 19's disassembler knows; CDNA3 ISA document for what they do",
    exclusions=MappingProxyType(_EXCLUSIONS),
    wave_size=lambda properties: _WAVE,
    vector_granule=MappingProxyType({_WAVE: 8}),
    hardware_registers=MappingProxyType(
        {1: "mode", 2: "status", 3: "trap status", 4: "hardware id", 15: "memory bases", 20: "die id"}
    ),
    wait_layout=WaitLayout(vector=((0, 4), (14, 2)), local=((8, 4),), counts_stores_apart=False),
)
