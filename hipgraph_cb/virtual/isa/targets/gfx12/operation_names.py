"""What gfx12's mnemonics are called as operations."""

from __future__ import annotations

import re
from functools import lru_cache

from hipgraph_cb.virtual.isa.targets.gfx11 import operation_names as gfx11

_SAME = {
    "s_add_co_ci_u32": "s_addc_u32",
    "s_sub_co_ci_u32": "s_subb_u32",
    "s_addk_co_i32": "s_addk_i32",
    "s_load_b96": "s_load_dwordx3",
    "s_buffer_load_b96": "s_buffer_load_dwordx3",
}
_SMALL_FLOATS = re.compile(r"(?:_|^)[fb][pf]8(?:_|$)")
_RULES = (
    (re.compile(r"s_(add|sub)_co_([iu]32)"), r"s_\1_\2"),
    (re.compile(r"v_mad_co_(\w+)"), r"v_mad_\1"),
    (re.compile(r"(v_|v_dual_|v_pk_)(min|max|min3|max3|med3|minmax|maxmin)_num_(f\d+)"), r"\1\2_\3"),
    (re.compile(r"ds_(min|max)_num_(\w+)"), r"ds_\1_\2"),
    (re.compile(r"(\w+)_atomic_(min|max)_num_f32"), r"\1_atomic_\2_f32"),
    (re.compile(r"(\w+)_atomic_sub_clamp_u32"), r"\1_atomic_csub_u32"),
)


@lru_cache(maxsize=2048)
def own_name(mnemonic: str) -> str:
    """The name that gfx11 has for an instruction, where it has one."""
    for rule, name in _RULES:
        if rule.fullmatch(mnemonic):
            return rule.sub(name, mnemonic)
    return mnemonic


def operation_name(mnemonic: str) -> str:
    """The operation that a mnemonic is. Its 8-bit floats have other encodings than those of gfx9."""
    if _SMALL_FLOATS.search(mnemonic):
        return f"{mnemonic}_ocp"
    return _SAME.get(mnemonic) or gfx11.operation_name(own_name(mnemonic))
