"""Random C gives the same bits on the host and on virtual GPUs, compiled by clang at -O0 to -O3."""

from __future__ import annotations

import numpy as np
import pytest
from support.random_program import compile_for_gpu, compile_for_host, inputs, program, run_on_gpu, run_on_host

LEVELS = ("O0", "O1", "O2", "O3")
TOGETHER = 5  # programs a translation unit


def compare(directory, first_seed: int, level: str, processor: str, count: int = TOGETHER) -> None:
    seeds = list(range(first_seed, first_seed + count))
    source = directory / "program.c"
    source.write_text(program(seeds))
    host, gpu = compile_for_host(source), compile_for_gpu(source, level, processor)
    for seed in seeds:
        words = inputs(seed, 200)
        expected = run_on_host(host, f"p{seed}", words)
        found = run_on_gpu(gpu, f"p{seed}", words, (64, 100, 192)[seed % 3])
        wrong = np.argwhere(expected != found)
        listing = [
            f"lane {lane}, result {result}: host {expected[lane, result]:#x}, virtual GPU {found[lane, result]:#x}"
            for lane, result in wrong[:8]
        ]
        assert not listing, f"program {seed}, {processor} -{level}, {len(wrong)} of {found.size} differ: {listing}"
        assert len(np.unique(expected, axis=0)) > 20


@pytest.mark.parametrize("level", LEVELS)
def test_a_sample_of_random_programs(tmp_path, level):
    compare(tmp_path, 10_000 + TOGETHER * LEVELS.index(level), level, "gfx942")


@pytest.mark.parametrize(
    ("processor", "level"), [("gfx1100", "O0"), ("gfx1100", "O2"), ("gfx1201", "O0"), ("gfx1201", "O3")]
)
def test_a_smaller_sample_for_other_processors(tmp_path, processor, level):
    compare(tmp_path, 20_000 + TOGETHER * LEVELS.index(level), level, processor, 2)


@pytest.mark.long
@pytest.mark.parametrize("processor", ["gfx942", "gfx1100", "gfx1201"])
@pytest.mark.parametrize("batch", range(100))
def test_five_hundred_random_programs(tmp_path, batch, processor):
    compare(tmp_path, TOGETHER * batch, LEVELS[batch % 4], processor)
