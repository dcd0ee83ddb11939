"""An HSA device whose queues are small, so that tests can go round them."""

from pathlib import Path

import pytest

from hipgraph_cb import open_device
from hipgraph_cb.hsa import native_queue

FIXTURES = Path(__file__).parent.parent / "fixtures"
SLOTS = 64


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(native_queue, "LARGEST_QUEUE", SLOTS)
    with open_device("hsa") as device:
        yield device


@pytest.fixture
def kernels(small):
    return small.load(FIXTURES / "conformance" / "conformance.gfx942.hsaco")
