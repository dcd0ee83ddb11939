"""The whole suite runs on these virtual GPUs, chosen before any test module can open a device."""

import gc
import os
import signal

import pytest
from hypothesis import HealthCheck, settings
from support.devices import VIRTUAL_GPUS

os.environ["HIPGRAPH_CB_VIRTUAL"] = ",".join(VIRTUAL_GPUS)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # So it is where a shell without job control runs the suite in the background, and children that it starts would
    # never see a Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How fast examples are made or run says nothing about the package.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Names of functions in test ids: their addresses differ from process to process."""
    return f"{argname}-{getattr(val, '__name__', 'callable')}" if callable(val) else None


@pytest.fixture
def quick_collection():
    """Collections look at what the test has made only: a sweep makes hundreds of them."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
