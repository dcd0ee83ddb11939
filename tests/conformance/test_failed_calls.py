"""Every call of a backend is failed in turn, below the C ABI: nothing leaks and the error names the call."""

from functools import partial

import numpy as np
import pytest
from support.collection import collect
from support.every_verb import SCENARIOS
from support.failed_calls import fail_each_call, made_and_released

from hipgraph_cb import open_device
from hipgraph_cb.opening import process_choice, virtual_runtime


@pytest.fixture
def runtime(device):
    if not process_choice().is_virtual:
        pytest.skip("calls can be failed in the virtual library only")
    collect()
    return virtual_runtime(device.backend)


@pytest.fixture
def code_object(kernels):
    return kernels.verified.data


@pytest.fixture
def opening(device):
    """`open_device` for the device's backend and ordinal."""
    return partial(open_device, device.backend, device=device.ordinal)


ALL_SCENARIOS = pytest.mark.parametrize("name", SCENARIOS)


RESULTS = {
    "every verb": [0] * 8 + [1] * 8,
    "parts and events": [0, 1, 0, 0, 3, 3, 3, 3] + [0] * 8,
    "changes": [6] * 4,
    "constants": [3 * int.from_bytes(bytes(range(start, start + 4)), "little") + 5 for start in range(0, 16, 4)],
}


@ALL_SCENARIOS
def test_the_whole_program_gives_back_what_it_makes(device, runtime, opening, code_object, name):
    with runtime.count_calls() as count:
        result = SCENARIOS[name](opening, code_object)
    assert result.view(np.uint32).tolist() == RESULTS[name]
    made, released = made_and_released(device.backend, count, None)
    assert made == released


def test_the_scenarios_make_everything_that_is_to_be_released(device, runtime, opening, code_object):
    with runtime.count_calls() as count:
        for scenario in SCENARIOS.values():
            scenario(opening, code_object)
    assert all(made_and_released(device.backend, count, None)[0].values())


@pytest.mark.parametrize(
    ("name", "every_call"),
    [
        ("every verb", False),
        pytest.param("every verb", True, marks=pytest.mark.long),
        pytest.param("parts and events", True, marks=pytest.mark.long),
        ("changes", False),
        pytest.param("changes", True, marks=pytest.mark.long),
        ("constants", True),
    ],
)
def test_any_failed_call_leaves_nothing_behind(
    device, runtime, quick_collection, opening, code_object, caplog, name, every_call
):
    fail_each_call(runtime, device.backend, lambda: SCENARIOS[name](opening, code_object), caplog, every_call)
