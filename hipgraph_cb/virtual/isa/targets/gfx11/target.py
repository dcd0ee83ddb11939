"""gfx11 as a target: gfx1100 and its like."""

from __future__ import annotations

from types import MappingProxyType

from hipgraph_cb.abi.kernel_descriptor import WAVEFRONT_SIZE_32
from hipgraph_cb.virtual.isa.core.target import Differences, Target
from hipgraph_cb.virtual.isa.core.wait_layout import WaitLayout
from hipgraph_cb.virtual.isa.targets.gfx11.buffer_formats import BUFFER_FORMATS
from hipgraph_cb.virtual.isa.targets.gfx11.decode import DECODER, TARGETS, decode
from hipgraph_cb.virtual.isa.targets.gfx11.operation_names import operation_name
from hipgraph_cb.virtual.isa.targets.gfx11.operations import operations
from hipgraph_cb.virtual.isa.text.gfx11 import text_of

_NARROW, _WIDE = 32, 64
_EXCLUDED_FORMATS = ("MIMG", "EXP", "VINTERP", "LDSDIR")
_EXCLUSIONS = {
    "graphics: images, exports, interpolation": tuple(
        sorted({form.mnemonic for name in _EXCLUDED_FORMATS for form in DECODER.forms[name].values()})
    ),
    "graphics": (
        "ds_add_gs_reg_rtn",
        "ds_bvh_stack_rtn_b32",
        "ds_ordered_count",
        "ds_sub_gs_reg_rtn",
        "s_endpgm_ordered_ps_done",
        "s_sendmsghalt",
        "s_setkill",
        "s_wait_event",
    ),
    "global wave sync, which the driver has to allot": (
        "ds_gws_barrier",
        "ds_gws_init",
        "ds_gws_sema_br",
        "ds_gws_sema_p",
        "ds_gws_sema_release_all",
        "ds_gws_sema_v",
    ),
    "there is no trap handler to return from": ("s_rfe_b64",),
    "not to be executed": ("s_code_end", "v_illegal"),
}

TARGET = Target(
    family="gfx11",
    processors=TARGETS,
    decode=decode,
    text=text_of,
    opcodes={name: {opcode: form.mnemonic for opcode, form in forms.items()} for name, forms in DECODER.forms.items()},
    source="every opcode of gfx1100 that LLVM 22's disassembler knows; RDNA3 ISA document for what they do",
    exclusions=MappingProxyType(_EXCLUSIONS),
    wave_size=lambda properties: _NARROW if properties & WAVEFRONT_SIZE_32 else _WIDE,
    vector_granule=MappingProxyType({_NARROW: 8, _WIDE: 4}),
    hardware_registers=MappingProxyType(
        {
            1: "mode",
            2: "status",
            3: "trap status",
            15: "memory bases",
            23: "hardware id",
            24: "hardware id",
            29: "cycles",
        }
    ),
    wait_layout=WaitLayout(vector=((10, 6),), local=((4, 6),), counts_stores_apart=True),
    operations=operations,
    operation_name=operation_name,
    buffer_formats=BUFFER_FORMATS,
    differences=Differences(
        keeps_other_half=True,
        halves_in_short_forms=True,
        compares_write_exec_only=True,
        descriptors_choose_range=True,
        compares_through_dpp=True,
        exchanges_within_32=True,
    ),
)
