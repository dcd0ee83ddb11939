"""Encodings that name registers which do not exist, or several scalar registers that start where they may not.

Scalar registers are used in pairs from even numbers on, in fours and more from multiples of four on (CDNA3 and RDNA3
ISA, "SGPR alignment"). What reaches beyond the last register of a file would touch another's, so such an encoding is
refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hipgraph_cb.virtual.isa.core.instruction import NOWHERE
from hipgraph_cb.virtual.isa.core.registry import UnsupportedInstruction

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction

SCALARS, VECTORS = 128, 256
_ALIGNMENTS = {1: 1, 2: 2}  # by the number of registers
_WIDTH = re.compile(r"_[biu](32|64)(?=_|$)")
_WORDS = re.compile(r"dword(?:x(\d+))?$")
_TO_ONE_SCALAR = ("v_readlane", "v_readfirstlane")
_PAIRS = frozenset({"s_memtime", "s_memrealtime", "s_atc_probe", "s_atc_probe_buffer"})


def scalars(number: int, count: int) -> int:
    """The number of the first of `count` scalar registers.

    Raises:
        UnsupportedInstruction: they do not exist, or may not start there.
    """
    if number != NOWHERE and (number + count > SCALARS or number % _ALIGNMENTS.get(count, 4)):
        raise UnsupportedInstruction(f"{_several(count, 'scalar')} from number {number} on")
    return number


def vectors(number: int, count: int) -> int:
    """The number of the first of `count` vector registers.

    Raises:
        UnsupportedInstruction: they do not exist.
    """
    if number + count > VECTORS:
        raise UnsupportedInstruction(f"{_several(count, 'vector')} from number {number} on")
    return number


def _several(count: int, kind: str) -> str:
    return f"a {kind} register" if count == 1 else f"{count} {kind} registers"


def refuse_missing_scalar_results(instruction: Instruction, lanes: int) -> None:
    """Look at the scalar registers that an instruction writes, where waves have so many lanes.

    Raises:
        UnsupportedInstruction: they do not exist, or may not start there.
    """
    for number, count in _scalar_results(instruction, mask=lanes // 32):
        scalars(number, count)


def _scalar_results(instruction: Instruction, mask: int) -> Iterator[tuple[int, int]]:
    """First register and count; a lane mask takes `mask` registers."""
    fields, mnemonic = instruction.fields, instruction.mnemonic
    if instruction.format == "SMEM":
        words = _WORDS.search(mnemonic)
        wide = mnemonic.endswith("_x2") or mnemonic in _PAIRS
        yield fields["sdata"], int(words[1] or 1) if words else 2 if wide else 1
    elif "sdst" in fields:
        width = _WIDTH.search(mnemonic)
        is_mask = instruction.format == "VOP3SD"
        yield fields["sdst"], mask if is_mask else 2 if width is not None and width[1] == "64" else 1
    if instruction.sdwa is not None and instruction.sdwa.get("sd"):
        yield instruction.sdwa["sdst"], mask
    if mnemonic.startswith(_TO_ONE_SCALAR):
        yield fields["vdst"], 1
    elif instruction.format == "VOP3" and mnemonic.startswith("v_cmp"):
        yield fields["vdst"], mask
