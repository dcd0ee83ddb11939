"""Which function gives an instruction its meaning.

A *compiler* is registered under mnemonics. It is called once per instruction of a kernel with the decoded instruction
and a `CompileContext`, and returns what the scheduler runs:

* a `Step`: a closure over the operands, called once per chunk of waves at that PC;
* a `ControlFlow` value (see `control.py`): what ends a basic block;
* None: nothing to do (a wait, a nop).

Nothing that belongs to one launch (addresses, sizes) may be captured in a closure: programs are cached by content.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar, Union

from hipgraph_cb.virtual.isa.core.float_mode import INDEXES_REGISTERS, SKIPS_VECTORS, FloatMode

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.control import ControlFlow
    from hipgraph_cb.virtual.isa.core.instruction import Instruction
    from hipgraph_cb.virtual.isa.core.state import State
    from hipgraph_cb.virtual.isa.core.target import Target

Step = Callable[["State"], None]
Compiled = Union[Step, "ControlFlow", None]


class UnsupportedInstruction(Exception):  # noqa: N818
    """Raised by a compiler that knows the mnemonic but not this form of it (a modifier, an operand); says which."""


@dataclass(frozen=True)
class CompileContext:
    """What a compiler may know besides the instruction.

    Attributes:
        target: the processors that the code is for.
        processor: which of them, such as "gfx942".
        lanes: of a wave.
        float_mode: rounding and denormal mode in force at this instruction.
        sram_ecc: whether the register file has error correction, as the target ID's `sramecc+` says. It writes whole
            registers, so a load of 16 bits (d16) clears the other half; without it that half stays.
        indexes_registers: M0 is added to the numbers of vector registers (see register_indexing.py).
        skips_vectors: vector instructions are not executed.
    """

    target: Target
    processor: str
    lanes: int
    float_mode: FloatMode = field(default_factory=FloatMode)
    sram_ecc: bool = True
    indexes_registers: bool = False
    skips_vectors: bool = False

    def under(self, mode: int) -> CompileContext:
        """The same under another MODE register."""
        return replace(
            self,
            float_mode=FloatMode.from_register(mode),
            indexes_registers=bool(mode & INDEXES_REGISTERS),
            skips_vectors=bool(mode & SKIPS_VECTORS),
        )


Compiler = Callable[["Instruction", CompileContext], Compiled]
_CompilerT = TypeVar("_CompilerT", bound=Compiler)
_COMPILERS: dict[str, Compiler] = {}
_HOMES: dict[str, str] = {}


def semantics(*mnemonics: str) -> Callable[[_CompilerT], _CompilerT]:
    """Register the decorated compiler for `mnemonics` (LLVM's names without encoding suffix)."""

    home = _module_that_is_imported()

    def register(compiler: _CompilerT) -> _CompilerT:
        for mnemonic in mnemonics:
            if mnemonic in _COMPILERS:
                raise ValueError(f"{mnemonic} has two compilers")
            _COMPILERS[mnemonic] = compiler
            _HOMES[mnemonic] = home
        return compiler

    return register


def compiler_of(mnemonic: str) -> Compiler | None:
    """The compiler registered for `mnemonic`, or None if not implemented."""
    return _COMPILERS.get(mnemonic)


def home_of(mnemonic: str) -> str | None:
    """The module that registers `mnemonic`, whose name it may make of parts; None if not implemented."""
    return _HOMES.get(mnemonic)


def implemented() -> frozenset[str]:
    """All mnemonics that have a compiler."""
    return frozenset(_COMPILERS)


def _module_that_is_imported() -> str:
    """The module whose own lines, not those of a function that it calls, run innermost."""
    frame = sys._getframe()
    while frame.f_code.co_name != "<module>" and frame.f_back is not None:
        frame = frame.f_back
    return str(frame.f_globals["__name__"])
