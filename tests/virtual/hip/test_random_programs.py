"""Random programs of streams, events, copies and graphs give the bytes of a numpy model, whatever the order of work.

A program orders what has to be ordered: where a command touches memory that another stream touched last, it waits for
an event of that stream. So it has one right result, which the model computes command by command.
"""

from __future__ import annotations

import pytest
from support.random_streams import RandomProgram


def check(hip, program, runtime, programs, seeds):
    for number in programs:
        for seed in seeds:
            runtime.reseed(seed)
            made = RandomProgram(hip, program, number)
            made.run()
            assert (made.result() == made.model).all(), f"program {number}, seed {seed}"
            made.close()


def test_a_sample_of_random_programs_agrees_with_numpy(hip, program, runtime):
    check(hip, program, runtime, range(20), range(2))


@pytest.mark.long
def test_random_programs_agree_with_numpy_in_every_order(hip, program, runtime):
    check(hip, program, runtime, range(200), range(20))


def test_a_program_that_leaves_out_its_waits_shows_itself(hip, program, runtime):
    wrong = 0
    for seed in range(20):
        runtime.reseed(seed)
        made = RandomProgram(hip, program, seed)
        made.touch = lambda stream, *buffers: None
        made.run()
        wrong += not (made.result() == made.model).all()
        made.close()
    assert wrong > 0
