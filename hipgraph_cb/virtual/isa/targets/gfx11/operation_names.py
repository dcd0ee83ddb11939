"""What gfx11's mnemonics are called as operations: many only have another name, that of older families."""

from __future__ import annotations

import re
from functools import lru_cache

_SAME = {
    "s_clz_i32_u32": "s_flbit_i32_b32",
    "s_clz_i32_u64": "s_flbit_i32_b64",
    "s_cls_i32": "s_flbit_i32",
    "s_cls_i32_i64": "s_flbit_i32_i64",
    "v_ctz_i32_b32": "v_ffbl_b32",
    "v_clz_i32_u32": "v_ffbh_u32",
    "v_cls_i32": "v_ffbh_i32",
    "v_cvt_nearest_i32_f32": "v_cvt_rpi_i32_f32",
    "v_cvt_floor_i32_f32": "v_cvt_flr_i32_f32",
    "v_cvt_pk_rtz_f16_f32": "v_cvt_pkrtz_f16_f32",
    "v_mul_dx9_zero_f32": "v_mul_legacy_f32",
    "v_dot2acc_f32_f16": "v_dot2c_f32_f16",
    "v_dot2acc_f32_bf16": "v_dot2c_f32_bf16",
}
_WORDS = {"b32": "dword", "b64": "dwordx2", "b96": "dwordx3", "b128": "dwordx4", "b256": "dwordx8", "b512": "dwordx16"}
_NARROW = {"u8": "ubyte", "i8": "sbyte", "u16": "ushort", "i16": "sshort", "b8": "byte", "b16": "short"}
_KINDS = {"i": "s", "u": "u"}
_ACCESS = re.compile(r"(s|global|flat|scratch|buffer|s_buffer)_(load|store)_(addtid_)?(?:(d16(?:_hi)?)_)?([ubi]\d+)")
_ATOMIC = re.compile(r"(global|flat|buffer)_atomic_(\w+)_([ubif])(32|64)")
_PAIRS = re.compile(r"ds_(load|store|storexchg)_2addr_(stride64_)?(\w+)")
_LDS = {"load": "read", "store": "write", "storexchg": "wrxchg"}
_LDS_ACCESS = re.compile(r"ds_(load|store|storexchg)_(\w+)")
_RULES = (
    (re.compile(r"v_dual_(\w+)"), r"v_\1"),
    (re.compile(r"s_ctz_(\w+)"), r"s_ff1_\1"),
    (re.compile(r"s_(and|or)_not1_(\w+)"), r"s_\1n2_\2"),
    (re.compile(r"s_(and|or)_not0_(\w+)"), r"s_\1n1_\2"),
    (re.compile(r"v_(add|sub|subrev)_nc_(\w+)"), r"v_\1_\2"),
    (re.compile(r"v_add_co_ci_u32"), "v_addc_co_u32"),
    (re.compile(r"v_(sub|subrev)_co_ci_u32"), lambda found: f"v_{found[1].replace('sub', 'subb')}_co_u32"),
    (re.compile(r"v_cvt_pk_norm_(\w+)"), r"v_cvt_pknorm_\1"),
    (re.compile(r"v_(fma|fmac)_dx9_zero_f32"), r"v_\1_legacy_f32"),
    (re.compile(r"v_(cmpx?)_t_(f\d+)"), r"v_\1_tru_\2"),
    (re.compile(r"(t?buffer)_(load|store)_(d16(?:_hi)?)_format_(x\w*)"), r"\1_\2_format_\3_\4"),
    (re.compile(r"ds_cmpstore_(\w+)"), r"ds_cmpst_\1"),
)


@lru_cache(maxsize=2048)
def operation_name(mnemonic: str) -> str:
    """The operation that a mnemonic is."""
    for rule, name in _RULES:
        if rule.fullmatch(mnemonic):
            mnemonic = rule.sub(name, mnemonic)
    if mnemonic in _SAME:
        return _SAME[mnemonic]
    for pattern, rename in ((_ACCESS, _access), (_ATOMIC, _atomic), (_PAIRS, _pair), (_LDS_ACCESS, _lds_access)):
        found = pattern.fullmatch(mnemonic)
        if found is not None:
            return rename(found)
    return mnemonic


def _access(found: re.Match[str]) -> str:
    segment, verb, by_lane, half, size = found.groups()
    if size in _WORDS:
        return f"{segment}_{verb}_{by_lane or ''}{_WORDS[size]}"
    if half is None:
        return f"{segment}_{verb}_{_NARROW[size]}"
    return f"{segment}_{verb}_{_NARROW[size]}_{'d16_hi' if half.endswith('hi') else 'd16'}"


def _atomic(found: re.Match[str]) -> str:
    segment, name, kind, bits = found.groups()
    if kind == "f":
        return f"{segment}_atomic_{name}_f{bits}"
    if name in ("min", "max"):
        name = _KINDS[kind] + name
    return f"{segment}_atomic_{name}{'_x2' if bits == '64' else ''}"


def _pair(found: re.Match[str]) -> str:
    verb, far, rest = found.groups()
    return f"ds_{_LDS[verb]}2{'st64' if far else ''}_{rest}"


def _lds_access(found: re.Match[str]) -> str:
    return f"ds_{_LDS[found[1]]}_{found[2]}"
