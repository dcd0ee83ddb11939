"""A device of each backend, and a code object."""

from pathlib import Path

import pytest

from hipgraph_cb import open_device, samples


@pytest.fixture(params=["hip", "hsa"])
def device(request):
    with open_device(request.param) as device:
        yield device


@pytest.fixture
def saxpy() -> Path:
    return samples.path("saxpy", "gfx942")
