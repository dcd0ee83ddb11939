"""How LLVM spells registers and inline constants of gfx9."""

from __future__ import annotations

_SPECIAL = {
    102: "flat_scratch_lo",
    103: "flat_scratch_hi",
    104: "xnack_mask_lo",
    105: "xnack_mask_hi",
    106: "vcc_lo",
    107: "vcc_hi",
    124: "m0",
    126: "exec_lo",
    127: "exec_hi",
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
_PAIRS = {102: "flat_scratch", 104: "xnack_mask", 106: "vcc", 126: "exec"}
_FLOATS = ("0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0")
_FIRST_TRAP = 108
_LAST_TRAP = 123


def _range(letter: str, first: int, count: int) -> str:
    return f"{letter}{first}" if count == 1 else f"{letter}[{first}:{first + count - 1}]"


def vector(register: int, count: int = 1, accumulation: bool = False) -> str:
    """`count` vector registers from `register` on: "v3", "a[0:3]"."""
    return _range("a" if accumulation else "v", register, count)


def scalar(register: int, count: int = 1) -> str:
    """`count` scalar registers from `register` on: "s3", "s[4:5]", "vcc", "m0"."""
    if count == 2 and register in _PAIRS:
        return _PAIRS[register]
    if register in _SPECIAL:
        return _SPECIAL[register]
    if _FIRST_TRAP <= register <= _LAST_TRAP:
        return _range("ttmp", register - _FIRST_TRAP, count)
    return _range("s", register, count)


def operand(code: int, count: int = 1) -> str:
    """The operand that a source code of up to nine bits names."""
    if code >= 256:
        return vector(code - 256, count)
    if 128 <= code <= 192:
        return str(code - 128)
    if 193 <= code <= 208:
        return str(192 - code)
    if 240 <= code <= 247:
        return _FLOATS[code - 240]
    if code < 128 or code in _SPECIAL:
        return scalar(code, count)
    return f"src{code}"
