"""Devices that run the same code share its program, whichever of them comes to a block first."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.lanes import GFX942

from hipgraph_cb.virtual.isa.execution.program import Program

JUMPS = 60


def code():
    """Branches that go back and forth over nothing: `s_cbranch_scc0` to ever other places, then the end."""
    words = []
    for index in range(JUMPS):
        distance = (7 * index) % JUMPS - index
        words += [0xBF800000, 0xBF840000 | ((distance * 2) & 0xFFFF)]
    return b"".join(word.to_bytes(4, "little") for word in [*words, 0xBF810000])


@pytest.fixture
def hurried():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_two_devices_compile_one_program_at_once(hurried):
    data = code()

    def compile_all(program):
        return [program.block(offset).end for offset in range(0, len(data), 4)]

    with ThreadPoolExecutor(4) as threads:
        for _ in range(10):
            program = Program(data, GFX942)
            list(threads.map(compile_all, [program] * 4))
