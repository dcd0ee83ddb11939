from pathlib import Path

import pytest

from hipgraph_cb import open_device

FIXTURES = Path(__file__).parent.parent / "fixtures" / "conformance"


@pytest.fixture(scope="session")
def device():
    with open_device("hip") as device:
        yield device


@pytest.fixture(scope="session")
def other_device():
    """The same GPU behind the other backend."""
    with open_device("hsa") as device:
        yield device


@pytest.fixture(scope="session")
def kernels(device):
    return device.load(FIXTURES / f"conformance.{device.target.processor}.hsaco", label="conformance")
