"""Random instructions, most of them nonsense: with machine code and with numpy alone the same is left behind.

A program may fault, and then names what it did wrong; the virtual GPU itself never fails.
"""

from __future__ import annotations

import pytest
from support.random_instructions import END, Generator, Scene, differences

from hipgraph_cb.virtual.isa.core import lane_loops, registry
from hipgraph_cb.virtual.isa.core.control import Jump

SHAPES = ((1, 64), (2, 64), (1, 128), (3, 33))  # workgroups, and work-items of each


@pytest.fixture(scope="module")
def scene() -> Scene:
    return Scene()


def check(scene: Scene, monkeypatch: pytest.MonkeyPatch, seeds: range) -> int:
    """Run each program both ways; how many came to their end."""
    machine_code, finished = lane_loops.LOOPS, 0
    for seed in seeds:
        generator = Generator(seed)
        code, shape = generator.program(), SHAPES[seed % len(SHAPES)]
        left = []
        for loops in (machine_code, None):
            monkeypatch.setattr(lane_loops, "LOOPS", loops)
            left.append(scene.run(code, *shape))
        fault = left[0].fault
        assert fault is None or "the virtual GPU failed" not in fault, f"program {seed}: {fault}"
        assert not differences(*left, any_nan=generator.is_fused), f"program {seed}"
        finished += fault is None
    return finished


def test_five_hundred_random_programs_leave_the_same_behind_with_machine_code_and_with_numpy(scene, monkeypatch):
    assert check(scene, monkeypatch, range(500)) > 150


@pytest.mark.long
@pytest.mark.parametrize("batch", range(100))
def test_a_hundred_thousand_random_programs(scene, monkeypatch, batch):
    first = 1000 * (batch + 1)
    check(scene, monkeypatch, range(first, first + 1000))


@pytest.mark.parametrize("mnemonic", ["s_nop", "s_branch"])
def test_an_error_of_our_own_is_a_fault_with_its_place_too(scene, monkeypatch, mnemonic):
    """In the compiler of an instruction (s_nop), and in the end of a block (s_branch)."""

    def wrong(*given: object) -> int:
        raise KeyError(7)

    compiler = wrong if mnemonic == "s_nop" else lambda *given: Jump(wrong)
    monkeypatch.setitem(registry._COMPILERS, mnemonic, compiler)
    code = {"s_nop": "000080bf", "s_branch": "000082bf"}[mnemonic]
    fault = scene.run(bytes.fromhex(code) + END + mnemonic.encode(), 1, 64).fault
    assert fault is not None
    assert fault.splitlines()[:3] == [
        "launch failure: the virtual GPU failed: KeyError: 7",
        "  kernel: tried",
        f"  instruction: {mnemonic} 0",
    ]
