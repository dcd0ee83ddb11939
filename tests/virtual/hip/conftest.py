"""The virtual runtime, installed once for all tests that call HIP functions through hip-python."""

from __future__ import annotations

import pytest

from hipgraph_cb.virtual.install import install


@pytest.fixture(scope="session", autouse=True)
def runtime():
    return install(["gfx942"])


@pytest.fixture
def hip():
    from hip import hip as bindings

    bindings.hipDeviceSynchronize()
    yield bindings
    bindings.hipDeviceSynchronize()
    bindings.hipGetLastError()


@pytest.fixture
def program(hip):
    from support.hip_program import Program

    return Program(hip)
