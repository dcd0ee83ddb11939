"""Every call of a backend is failed in turn, below the C ABI: nothing leaks and the error names the call."""

import logging
from collections import Counter
from functools import partial

import numpy as np
import pytest
from support.collection import collect
from support.every_verb import RELEASES, SCENARIOS

from hipgraph_cb import open_device
from hipgraph_cb.errors import HipError, HsaError
from hipgraph_cb.foreign.dlpack_export import sweep
from hipgraph_cb.hsa.functions import FUNCTIONS
from hipgraph_cb.opening import process_choice, virtual_runtime

FAILURES = {"hip": (999, "hipErrorUnknown"), "hsa": (0x1000, "HSA_STATUS_ERROR")}
CANNOT_FAIL = {name for name, function in FUNCTIONS.items() if not function.returns_status}
POLLS = ("hipStreamQuery",)
"""Called as often as the machine is slow: the first one of each wait counts for all."""


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


def made_and_released(backend, count, failed):
    """How many objects of each kind were made, and how many calls gave one back."""
    releases = RELEASES[backend]
    made = {release: sum(count[make] - (make == failed) for make in makes) for release, makes in releases.items()}
    return made, {release: count[release] for release in releases}


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
    scenario = SCENARIOS[name]
    with runtime.count_calls() as count:
        scenario(opening, code_object)
    code, text = FAILURES[device.backend]
    calls = [
        (name, number)
        for name, total in count.items()
        if name not in CANNOT_FAIL
        for number in (range(1, total + 1) if every_call else sorted({1, total}))
        if number == 1 or name not in POLLS
    ]
    for name, number in calls:
        caplog.clear()
        with runtime.count_calls() as count, runtime.inject(name, number, code) as injection:
            raised = outcome_of(lambda: scenario(opening, code_object), caplog)
            collect()
            sweep()  # as the next allocation does
        if not injection.has_fired:  # a launch that is done sooner than the last time needs fewer objects
            assert number > 1, name
            assert count[name] < number, f"{name}, call {number}"
            continue
        is_of_a_release = name in RELEASES[device.backend] or (name == "hipSetDevice" and raised is None)
        if is_of_a_release:
            messages = Counter(record.getMessage() for record in caplog.records)
            assert messages == {f"a release failed and counts as done: {name} returned {code} ({text})": 1}
        elif name == "hipExtGetLastError":  # that it answers is all that is asked of it
            assert raised is None
        else:
            assert raised == (name.removesuffix("R0600"), code), f"{name}, call {number}"
        made, released = made_and_released(device.backend, count, name)
        assert made == released, f"{name}, call {number}"


def outcome_of(scenario, caplog):
    """The function and the code of the error that a scenario ends with, None where it ends without."""
    try:
        with caplog.at_level(logging.WARNING):
            scenario()
            collect()  # what is in a cycle of references is released here at the latest
    except (HipError, HsaError) as error:
        return error.api, error.code
    return None
