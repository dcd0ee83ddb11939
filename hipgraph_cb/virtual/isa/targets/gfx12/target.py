"""gfx12 as a target: gfx1201 and its like."""

from __future__ import annotations

from types import MappingProxyType

from hipgraph_cb.abi.kernel_descriptor import WAVEFRONT_SIZE_32
from hipgraph_cb.virtual.isa.core.target import Differences, Target
from hipgraph_cb.virtual.isa.core.wait_layout import WaitLayout
from hipgraph_cb.virtual.isa.targets.gfx11.buffer_formats import BUFFER_FORMATS
from hipgraph_cb.virtual.isa.targets.gfx12.decode import DECODER, TARGETS, decode
from hipgraph_cb.virtual.isa.targets.gfx12.operation_names import operation_name
from hipgraph_cb.virtual.isa.targets.gfx12.operations import operations
from hipgraph_cb.virtual.isa.text.gfx12 import text_of

_NARROW, _WIDE = 32, 64
_EXCLUDED_FORMATS = ("MIMG", "SAMPLE", "EXP", "VINTERP", "LDSDIR")
_EXCLUSIONS = {
    "graphics: images, exports, interpolation": tuple(
        sorted({mnemonic for name in _EXCLUDED_FORMATS for mnemonic in DECODER.opcodes[name].values()})
    ),
    "graphics": (
        "ds_bvh_stack_push4_pop1_rtn_b32",
        "ds_bvh_stack_push8_pop1_rtn_b32",
        "ds_bvh_stack_push8_pop2_rtn_b64",
        "global_atomic_ordered_add_b64",
        "s_sendmsghalt",
        "s_setkill",
        "s_wait_event",
    ),
    "there is no trap handler to return from": ("s_rfe_b64",),
    "not to be executed": ("s_code_end", "v_illegal"),
}

TARGET = Target(
    family="gfx12",
    processors=TARGETS,
    decode=decode,
    text=text_of,
    opcodes=DECODER.opcodes,
    source="every opcode of gfx1201 that LLVM 22's disassembler knows; RDNA4 ISA document for what they do",
    exclusions=MappingProxyType(_EXCLUSIONS),
    wave_size=lambda properties: _NARROW if properties & WAVEFRONT_SIZE_32 else _WIDE,
    vector_granule=MappingProxyType({_NARROW: 8, _WIDE: 4}),
    hardware_registers=MappingProxyType({1: "mode"}),
    wait_layout=WaitLayout(vector=(), local=(), counts_stores_apart=True),
    operations=operations,
    operation_name=operation_name,
    buffer_formats=BUFFER_FORMATS,
    differences=Differences(
        keeps_other_half=True,
        halves_in_short_forms=True,
        compares_write_exec_only=True,
        descriptors_choose_range=True,
        compares_through_dpp=True,
        ids_in_trap_registers=True,
        always_clamps_nan=True,
        splits_matrix_rows=True,
    ),
)
