"""Settings from the environment."""

from __future__ import annotations

import pytest

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.virtual.settings import Settings, VirtualSettings


def test_without_variables_the_defaults_hold():
    assert Settings.from_environment({}) == Settings(memory=16 << 30, seed=0, profile="7.2", watchdog=60.0)


def test_each_setting_has_a_variable():
    variables = {
        "HIPGRAPH_CB_VIRTUAL_MEMORY": "512M",
        "HIPGRAPH_CB_VIRTUAL_SEED": "7",
        "HIPGRAPH_CB_VIRTUAL_PROFILE": "6.4",
        "HIPGRAPH_CB_VIRTUAL_WATCHDOG": "0.5",
        "HIPGRAPH_CB_VIRTUAL_LDS_BOUNDS": "fault",
        "HIPGRAPH_CB_SCHEDULE": "random",
        "HIPGRAPH_CB_VIRTUAL_AFTER_FAULT": "sticky",
        "HIPGRAPH_CB_VIRTUAL_PEER_ACCESS": "none",
    }
    assert Settings.from_environment(variables) == Settings(
        memory=512 << 20,
        seed=7,
        profile="6.4",
        watchdog=0.5,
        lds_bounds="fault",
        schedule="random",
        after_fault="sticky",
        peer_access="none",
    )


@pytest.mark.parametrize("name, text", [
    ("MEMORY", "much"), ("MEMORY", "0"), ("MEMORY", "12Q"), ("SEED", "x"), ("PROFILE", "5.0"),
    ("WATCHDOG", "-1"), ("WATCHDOG", "inf"), ("WATCHDOG", "nan"), ("WATCHDOG", ""),
    ("LDS_BOUNDS", "none"), ("AFTER_FAULT", "crash"), ("PEER_ACCESS", "some"),
])  # fmt: skip
def test_a_value_that_makes_no_sense_is_refused(name, text):
    with pytest.raises(InvalidArgumentError, match=f"HIPGRAPH_CB_VIRTUAL_{name} cannot be understood"):
        Settings.from_environment({f"HIPGRAPH_CB_VIRTUAL_{name}": text})


def test_a_schedule_that_there_is_not_is_refused():
    with pytest.raises(InvalidArgumentError) as caught:
        Settings.from_environment({"HIPGRAPH_CB_SCHEDULE": "any"})
    assert str(caught.value) == (
        "HIPGRAPH_CB_SCHEDULE cannot be understood\n  found: 'any'\n  allowed: in-step, random"
    )


def test_a_refusal_says_what_is_allowed():
    with pytest.raises(InvalidArgumentError) as caught:
        Settings.from_environment({"HIPGRAPH_CB_VIRTUAL_MEMORY": "much"})
    assert str(caught.value) == (
        "HIPGRAPH_CB_VIRTUAL_MEMORY cannot be understood\n"
        "  found: 'much'\n"
        "  allowed: a number of bytes, or of units: 512M, 16G"
    )


def test_requested_settings_go_before_the_variables():
    variables = {"HIPGRAPH_CB_VIRTUAL_MEMORY": "512M", "HIPGRAPH_CB_VIRTUAL_SEED": "7"}
    requested = VirtualSettings(memory="1G", watchdog=0)
    assert requested.resolve(variables) == Settings(memory=1 << 30, seed=7, profile="7.2", watchdog=0.0)
    assert VirtualSettings(memory=1 << 20).resolve({}).memory == 1 << 20


def test_an_invalid_setting_is_refused():
    with pytest.raises(InvalidArgumentError) as caught:
        VirtualSettings(profile="5.0").resolve({})
    assert str(caught.value) == (
        "VirtualSettings(profile=...) cannot be understood\n  found: '5.0'\n  allowed: 6.4 or 7.2"
    )
    for wrong in (VirtualSettings(seed=True), VirtualSettings(memory=-1), VirtualSettings(watchdog=float("nan"))):
        with pytest.raises(InvalidArgumentError, match="cannot be understood"):
            wrong.resolve({})
