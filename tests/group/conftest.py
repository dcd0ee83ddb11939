"""Groups of virtual devices, on each backend."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.devices import OF_ONE_TARGET

from hipgraph_cb import open_devices

KERNELS = Path(__file__).parent.parent / "fixtures" / "conformance"


@pytest.fixture(params=["hip", "hsa"])
def backend(request):
    return request.param


@pytest.fixture
def group(backend):
    """Four devices of one target."""
    with open_devices(backend, devices=OF_ONE_TARGET) as group:
        yield group


@pytest.fixture
def code():
    """The path of the conformance suite's code object for a processor."""
    return lambda processor: KERNELS / f"conformance.{processor}.hsaco"


@pytest.fixture(scope="session")
def groups():
    """A group of every device for each backend, opened once."""
    opened = {}

    def get(backend):
        if backend not in opened:
            opened[backend] = open_devices(backend)
        return opened[backend]

    yield get
    for group in opened.values():
        group.close()


@pytest.fixture(scope="session")
def known_channels():
    return {}


@pytest.fixture
def channels(backend, groups, known_channels):
    """A channel of so many ranks, of devices of several targets."""

    def get(ranks):
        key = backend, ranks
        if key not in known_channels:
            known_channels[key] = groups(backend).channel(list(range(ranks)), label=f"channel of {ranks}")
        return known_channels[key]

    return get
