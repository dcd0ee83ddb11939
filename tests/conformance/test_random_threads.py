"""Eight threads that record, replay, close and fault at random leave no wrong byte and raise no raw error."""

import pytest
from support.random_threads import run_threads

from hipgraph_cb import open_device
from hipgraph_cb.errors import HipGraphError


def try_threads(device, seed, rounds, faults):
    with open_device(device.backend, device=device.ordinal) as own:
        wrong = run_threads(own, seed, rounds, faults=faults)
        try:
            own.synchronize()
        except HipGraphError:
            assert faults
    assert wrong == []


@pytest.mark.parametrize("faults", [False, True], ids=["sound", "with faults"])
def test_threads_that_share_everything_do_no_harm(device, faults):
    try_threads(device, 1, 12, faults)


@pytest.mark.long
@pytest.mark.parametrize("faults", [False, True], ids=["sound", "with faults"])
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_threads_that_share_everything_do_no_harm(device, seed, faults):
    try_threads(device, seed, 100, faults)
