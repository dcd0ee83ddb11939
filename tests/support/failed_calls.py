"""Failing every call of a scenario in turn, below the C ABI: nothing leaks and the error names the call."""

from __future__ import annotations

import logging
from collections import Counter

from support.collection import collect
from support.every_verb import RELEASES

from hipgraph_cb.errors import HipError, HsaError
from hipgraph_cb.foreign.dlpack_export import sweep
from hipgraph_cb.hsa.functions import FUNCTIONS

FAILURES = {"hip": (999, "hipErrorUnknown"), "hsa": (0x1000, "HSA_STATUS_ERROR")}
CANNOT_FAIL = {name for name, function in FUNCTIONS.items() if not function.returns_status}
POLLS = ("hipStreamQuery",)
"""Called as often as the machine is slow: the first one of each wait counts for all."""


def made_and_released(backend, count, failed):
    """How many objects of each kind were made, and how many calls gave one back."""
    releases = RELEASES[backend]
    made = {release: sum(count[make] - (make == failed) for make in makes) for release, makes in releases.items()}
    return made, {release: count[release] for release in releases}


def fail_each_call(runtime, backend, scenario, caplog, every_call):
    """Run a scenario, which makes and closes all that it uses, with one call failed each time.

    Args:
        every_call: whether each call of a function is failed, or its first and its last one only.
    """
    with runtime.count_calls() as count:
        scenario()
    code, text = FAILURES[backend]
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
            raised = outcome_of(scenario, caplog)
            collect()
            sweep()  # as the next allocation does
        if not injection.has_fired:  # a launch that is done sooner than the last time needs fewer objects
            assert number > 1, name
            assert count[name] < number, f"{name}, call {number}"
            continue
        is_of_a_release = name in (*RELEASES[backend], "hsa_shut_down") or (name == "hipSetDevice" and raised is None)
        if is_of_a_release:
            messages = Counter(record.getMessage() for record in caplog.records)
            assert messages == {f"a release failed and counts as done: {name} returned {code} ({text})": 1}
        elif name == "hipExtGetLastError":  # that it answers is all that is asked of it
            assert raised is None
        else:
            assert raised == (name.removesuffix("R0600"), code), f"{name}, call {number}"
        made, released = made_and_released(backend, count, name)
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
