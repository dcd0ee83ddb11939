"""Every HIP call of the backend is failed in turn, below the C ABI: nothing leaks and the error names the call."""

import gc
import logging
from collections import Counter

import numpy as np
import pytest
from support.every_verb import RELEASES, every_verb

from hipgraph_cb import open_device
from hipgraph_cb.errors import HipError
from hipgraph_cb.opening import process_choice, virtual_runtime

UNKNOWN = 999


@pytest.fixture
def runtime():
    if not process_choice().is_virtual:
        pytest.skip("calls can be failed in the virtual library only")
    gc.collect()
    return virtual_runtime()


@pytest.fixture
def code_object(kernels):
    return kernels.verified.data


def made_and_given_back(count, failed):
    """How many objects of each kind were made, and how many calls gave one back."""
    made = {release: count[make] - (make == failed) for release, make in RELEASES.items()}
    return made, {release: count[release] for release in RELEASES}


def test_the_whole_program_gives_back_what_it_makes(device, runtime, code_object):
    with runtime.count_calls() as count:
        result = every_verb(open_device, code_object)
    assert result.view(np.uint32).tolist() == [0] * 8 + [1] * 8
    made, given_back = made_and_given_back(count, None)
    assert made == given_back
    assert all(made.values())


def test_any_failed_call_leaves_nothing_behind(device, runtime, code_object, caplog):
    with runtime.count_calls() as count:
        every_verb(open_device, code_object)
    polls = ("hipStreamQuery",)  # as many as the machine is slow: the first one of each wait stands for all
    calls = [(name, number) for name, total in count.items() for number in range(1, total + 1) if name not in polls]
    for name, number in [*calls, *((name, 1) for name in polls)]:
        caplog.clear()
        with runtime.count_calls() as count, runtime.inject(name, number, UNKNOWN) as injection:
            if name in RELEASES:
                with caplog.at_level(logging.WARNING):
                    every_verb(open_device, code_object)
                messages = Counter(record.getMessage() for record in caplog.records)
                assert messages == {f"a release failed and counts as done: {name} returned 999 (hipErrorUnknown)": 1}
            else:
                with pytest.raises(HipError) as caught:
                    every_verb(open_device, code_object)
                assert (caught.value.api, caught.value.code) == (name.removesuffix("R0600"), UNKNOWN)
                del caught
            gc.collect()
        assert injection.has_fired, f"{name}, call {number}"
        made, given_back = made_and_given_back(count, name)
        assert made == given_back, f"{name}, call {number}"
