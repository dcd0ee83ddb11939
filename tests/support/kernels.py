"""Real kernels for the tests of what is pure: verified code objects in stand-in executables."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from support.fakes import FakeExecutable

from hipgraph_cb.code_object.verify import VerifiedExecutable, verify

FIXTURES = Path(__file__).parent.parent / "fixtures"


@cache
def verified(path: str) -> VerifiedExecutable:
    """A code object below `fixtures`, for gfx942."""
    return verify((FIXTURES / path).read_bytes(), "gfx942")


def clang_kernels() -> FakeExecutable:
    """saxpy, reduce_lds, matmul_lds, ... with names of types and no names of arguments."""
    return FakeExecutable(verified("corpus/clang/k_cl.gfx942.hsaco"), label="k_cl")


def triton_vadd() -> FakeExecutable:
    """A kernel whose arguments have neither names nor types."""
    return FakeExecutable(verified("corpus/triton/vadd.gfx942.hsaco"))
