"""Immediate operands as LLVM spells them: counters, messages, hardware registers, delays."""

from __future__ import annotations

from collections.abc import Callable, Mapping

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
_EMITS = {1: "CUT", 2: "EMIT", 3: "EMIT_CUT"}
# messages of gfx9 with operations: name, prefix, operations
_OPERATIONS: dict[int, tuple[str, str, dict[int, str]]] = {
    2: ("MSG_GS", "GS_OP_", _EMITS),
    3: ("MSG_GS_DONE", "GS_OP_", {0: "NOP", **_EMITS}),
    15: ("MSG_SYSMSG", "SYSMSG_OP_", {1: "ECC_ERR_INTERRUPT", 2: "REG_RD", 3: "HOST_TRAP_ACK", 4: "TTRACE_PC"}),
}
_VERSIONS = {0: "UC_VERSION_GFX7", 4: "UC_VERSION_GFX10", 6: "UC_VERSION_GFX11", 9: "UC_VERSION_GFX12"}


def immediate(instruction: Instruction, operand: Operand, value: int, names: Names) -> str:
    """A constant that is in the instruction itself."""
    mnemonic = instruction.mnemonic
    if operand.kinds[:1] == "m" or mnemonic in ("s_sendmsg", "s_sendmsghalt"):
        return _message(value, names)
    if mnemonic.startswith(("s_getreg", "s_setreg")):
        return _hardware_register(value, names)
    if mnemonic == "s_waitcnt":
        return _counts(value, names.counters)
    if mnemonic.startswith("s_set_gpr_idx"):
        return _indexed_operands(value)
    if mnemonic in _SPECIAL:
        return _SPECIAL[mnemonic](value)
    if operand.kinds[:1] == "x":
        return f"{value:#x}"
    if mnemonic.startswith(_DECIMAL):
        return str(value)
    return str(value) if value <= 64 else f"{value:#x}"


_DECIMAL = ("s_branch", "s_cbranch", "s_call", "s_subvector", "s_endpgm")


def _message(value: int, names: Names) -> str:
    if names.messages_have_operations:
        return _message_with_operation(value, names)
    number = value & 0xFF
    name = names.tables["sendmsg"].get(number)
    if name is not None:
        return f"sendmsg({name})"
    return f"sendmsg({number}, 0, 0)" if value < 0x100 else str(value)


def _message_with_operation(value: int, names: Names) -> str:
    """gfx9's: a number of four bits, an operation of three and a stream of two."""
    number, operation, stream = value & 15, value >> 4 & 7, value >> 8 & 3
    name = names.tables["sendmsg"].get(number)
    if number in _OPERATIONS:
        message, prefix, operations = _OPERATIONS[number]
        streams = prefix == "GS_OP_" and operation
        if operation in operations and (streams or not stream):
            return f"sendmsg({message}, {prefix}{operations[operation]}{f', {stream}' if streams else ''})"
    elif name is not None and not operation and not stream:
        return f"sendmsg({name})"
    return f"sendmsg({number}, {operation}, {stream})" if value < 0x400 and not value & 0x80 else str(value)


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


def _dependencies(value: int) -> str:
    if value & 0x60:
        return f"{value:#x}"
    return _counts(value, {f"depctr_{name}": (place,) for name, place in _DEPENDENCIES.items()})


def _counts(value: int, places: Mapping[str, tuple[tuple[int, int], ...]]) -> str:
    """The counters below their most, which means no wait; all of them if none is."""
    waited, every = [], []
    for name, parts in places.items():
        count = shift = 0
        for low, width in parts:
            count |= (value >> low & (1 << width) - 1) << shift
            shift += width
        every.append(f"{name}({count})")
        if count != (1 << shift) - 1:
            waited.append(every[-1])
    return " ".join(waited or every)


def _indexed_operands(enables: int) -> str:
    """The operands that the index is added to."""
    names = ("SRC0", "SRC1", "SRC2", "DST")
    if enables >> len(names):
        return f"{enables:#x}"
    return f"gpr_idx({','.join(name for index, name in enumerate(names) if enables >> index & 1)})"


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
    "s_wait_alu": _dependencies,
    "s_waitcnt_depctr": _dependencies,
}
