"""Fresh kernels of other compilers, run through the library; `make test-producers` installs what they need."""

from __future__ import annotations

import pytest

from hipgraph_cb import open_device


@pytest.fixture(scope="session")
def device():
    with open_device() as device:
        yield device
