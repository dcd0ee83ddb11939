"""Immediate operands as LLVM spells them: counters, messages, hardware registers, delays."""

from __future__ import annotations

from collections.abc import Callable

from hipgraph_cb.virtual.isa.core.instruction import Instruction, Operand
from hipgraph_cb.virtual.isa.text.names import Names

_DELAYS = (
    "",
    *(f"VALU_DEP_{count}" for count in (1, 2, 3, 4)),
    *(f"TRANS32_DEP_{count}" for count in (1, 2, 3)),
    "FMA_ACCUM_CYCLE_1",
    *(f"SALU_CYCLE_{count}" for count in (1, 2, 3)),
)
_SKIPS = ("", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4")
# counters that s_waitcnt_depctr waits for: lowest bit and width
_DEPENDENCIES = {
    "hold_cnt": (7, 1),
    "sa_sdst": (0, 1),
    "va_vdst": (12, 4),
    "va_sdst": (9, 3),
    "va_ssrc": (8, 1),
    "va_vcc": (1, 1),
    "vm_vsrc": (2, 3),
}
_VERSIONS = {0: "UC_VERSION_GFX7", 4: "UC_VERSION_GFX10", 6: "UC_VERSION_GFX11", 9: "UC_VERSION_GFX12"}
_COUNTERS = {"vmcnt": (10, 6), "expcnt": (0, 3), "lgkmcnt": (4, 6)}


def immediate(instruction: Instruction, operand: Operand, value: int, names: Names) -> str:
    """A constant that is in the instruction itself."""
    mnemonic = instruction.mnemonic
    if operand.kinds[:1] == "m" or mnemonic in ("s_sendmsg", "s_sendmsghalt"):
        return _message(value, names)
    if mnemonic.startswith(("s_getreg", "s_setreg")):
        return _hardware_register(value, names)
    if mnemonic in _SPECIAL:
        return _SPECIAL[mnemonic](value)
    if operand.kinds[:1] == "x":
        return f"{value:#x}"
    if mnemonic.startswith(_DECIMAL):
        return str(value)
    return str(value) if value <= 64 else f"{value:#x}"


_DECIMAL = ("s_branch", "s_cbranch", "s_call", "s_subvector", "s_endpgm")


def _message(value: int, names: Names) -> str:
    number = value & 0xFF
    name = names.tables["sendmsg"].get(number)
    if name is not None:
        return f"sendmsg({name})"
    return f"sendmsg({number}, 0, 0)" if value < 0x100 else str(value)


def _hardware_register(value: int, names: Names) -> str:
    number, offset, size = value & 63, value >> 6 & 31, (value >> 11) + 1
    name = names.tables["hwreg"].get(number, str(number))
    return f"hwreg({name})" if (offset, size) == (0, 32) else f"hwreg({name}, {offset}, {size})"


def _delays(value: int) -> str:
    first, skip, second = value & 15, value >> 4 & 7, value >> 7 & 15
    parts = (("instid0", _DELAYS, first), ("instskip", _SKIPS, skip), ("instid1", _DELAYS, second))
    texts = [f"{name}({_named(table, number, name)})" for name, table, number in parts if number]
    return " | ".join(texts) or "0"


def _named(table: tuple[str, ...], number: int, field: str) -> str:
    return table[number] if number < len(table) else f"/* invalid {field.rstrip('01')} value */"


def _wait_counts(value: int) -> str:
    return _counts(value, _COUNTERS)


def _dependencies(value: int) -> str:
    if value & 0x60:
        return f"{value:#x}"
    return _counts(value, {f"depctr_{name}": place for name, place in _DEPENDENCIES.items()})


def _counts(value: int, places: dict[str, tuple[int, int]]) -> str:
    """The counters below their most, which means no wait; all of them if none is."""
    counts = {name: (value >> low & (1 << width) - 1, (1 << width) - 1) for name, (low, width) in places.items()}
    waited = [f"{name}({count})" for name, (count, most) in counts.items() if count != most]
    return " ".join(waited or (f"{name}({count})" for name, (count, _) in counts.items()))


def _version(value: int) -> str:
    """The version of the instruction set that the code is for, and how it was compiled."""
    if value & 0x1F00:
        return f"{value:#x}"
    text = _VERSIONS.get(value & 0xFF, str(value & 0xFF))
    for bit, name in ((0x2000, "W64_BIT"), (0x4000, "W32_BIT"), (0x8000, "MDP_BIT")):
        if value & bit:
            text = f"({text})|UC_VERSION_{name}" if "|" in text else f"{text}|UC_VERSION_{name}"
    return text


_SPECIAL: dict[str, Callable[[int], str]] = {
    "s_delay_alu": _delays,
    "s_version": _version,
    "s_waitcnt": _wait_counts,
    "s_waitcnt_depctr": _dependencies,
}
