"""Every HIP call of the backend is failed in turn, below the C ABI: nothing leaks and the error names the call."""

import gc
import logging
from collections import Counter

import numpy as np
import pytest
from support.every_verb import RELEASES, SCENARIOS

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
    made = {release: sum(count[make] - (make == failed) for make in makes) for release, makes in RELEASES.items()}
    return made, {release: count[release] for release in RELEASES}


ALL_SCENARIOS = pytest.mark.parametrize("name", SCENARIOS)


RESULTS = {"every verb": [0] * 8 + [1] * 8, "parts and events": [0, 1, 0, 0, 3, 3, 3, 3] + [0] * 8}


@ALL_SCENARIOS
def test_the_whole_program_gives_back_what_it_makes(device, runtime, code_object, name):
    with runtime.count_calls() as count:
        result = SCENARIOS[name](open_device, code_object)
    assert result.view(np.uint32).tolist() == RESULTS[name]
    made, given_back = made_and_given_back(count, None)
    assert made == given_back


def test_the_scenarios_make_everything_that_is_to_be_given_back(device, runtime, code_object):
    with runtime.count_calls() as count:
        for scenario in SCENARIOS.values():
            scenario(open_device, code_object)
    assert all(made_and_given_back(count, None)[0].values())


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(scenario, id=name, marks=() if name == "every verb" else pytest.mark.long)
        for name, scenario in SCENARIOS.items()
    ],
)
def test_any_failed_call_leaves_nothing_behind(device, runtime, code_object, caplog, scenario):
    with runtime.count_calls() as count:
        scenario(open_device, code_object)
    polls = ("hipStreamQuery",)  # as many as the machine is slow: the first one of each wait stands for all
    calls = [(name, number) for name, total in count.items() for number in range(1, total + 1) if name not in polls]
    for name, number in [*calls, *((name, 1) for name in polls)]:
        caplog.clear()
        with runtime.count_calls() as count, runtime.inject(name, number, UNKNOWN) as injection:
            if name in RELEASES:
                with caplog.at_level(logging.WARNING):
                    scenario(open_device, code_object)
                messages = Counter(record.getMessage() for record in caplog.records)
                assert messages == {f"a release failed and counts as done: {name} returned 999 (hipErrorUnknown)": 1}
            else:
                with pytest.raises(HipError) as caught:
                    scenario(open_device, code_object)
                assert (caught.value.api, caught.value.code) == (name.removesuffix("R0600"), UNKNOWN)
                del caught
            gc.collect()
        assert injection.has_fired, f"{name}, call {number}"
        made, given_back = made_and_given_back(count, name)
        assert made == given_back, f"{name}, call {number}"
