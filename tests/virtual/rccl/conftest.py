"""The virtual librccl, and programs of several ranks."""

from __future__ import annotations

import pytest
from support.devices import VIRTUAL_GPUS
from support.rccl_client import RcclClient

from hipgraph_cb.virtual.install import install, install_rccl


@pytest.fixture(scope="session")
def library():
    install(VIRTUAL_GPUS)
    return install_rccl(VIRTUAL_GPUS)


@pytest.fixture
def client(library):
    """Makes a program with a rank on each of some devices."""
    made = []

    def make(devices):
        made.append(RcclClient(devices, library.fault_report))
        return made[-1]

    yield make
    for each in made:
        each.close()
