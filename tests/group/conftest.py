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
