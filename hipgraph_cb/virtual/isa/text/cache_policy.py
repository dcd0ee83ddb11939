"""What a memory instruction says about caches, as LLVM spells it."""

from __future__ import annotations

from hipgraph_cb.virtual.isa.core.instruction import Instruction
from hipgraph_cb.virtual.isa.text.names import Names

_DEVICE, _SYSTEM = 2, 3
_SCOPES = ("", "SCOPE_SE", "SCOPE_DEV", "SCOPE_SYS")
_LOADS = ("", "NT", "HT", "LU", "NT_RT", "RT_NT", "NT_HT")
_STORES = ("", "NT", "HT", "WB", "NT_RT", "RT_NT", "NT_HT", "NT_WB")
_ATOMICS = ("", "RETURN", "NT", "NT_RETURN")
_BYPASSES = 3


def cache_policy(instruction: Instruction, names: Names) -> list[str]:
    """The bits of older targets, or the temporal hint and the scope of newer ones."""
    fields = instruction.fields
    if "scope" not in fields:
        return [name for name in names.cache if fields.get(name)]
    hint = _temporal_hint(instruction.mnemonic, fields["th"], fields["scope"])
    parts = ["scale_offset" if fields.get("scale_offset") else "", f"th:{hint}" if hint else ""]
    parts += [f"scope:{_SCOPES[fields['scope']]}" if fields["scope"] else "", "nv" if fields["nv"] else ""]
    return [part for part in parts if part]


def _temporal_hint(mnemonic: str, hint: int, scope: int) -> str:
    if not hint:
        return ""
    if "_atomic_" in mnemonic:
        if hint < len(_ATOMICS):
            return f"TH_ATOMIC_{_ATOMICS[hint]}"
        return f"TH_ATOMIC_CASCADE_{'NT' if hint & 2 else 'RT'}" if scope >= _DEVICE else f"TH_ATOMIC_{hint:#x}"
    kind, table = ("STORE", _STORES) if "_store" in mnemonic else ("LOAD", _LOADS)
    if hint == _BYPASSES and scope == _SYSTEM:
        return f"TH_{kind}_BYPASS"
    return f"TH_{kind}_{table[hint]}" if hint < len(table) else f"{hint:#x}"


def returns(instruction: Instruction, names: Names) -> bool:
    """Whether an atomic returns what was there."""
    return bool(instruction.fields[names.returns] & 1)
