"""The virtual HSA library, installed once for all tests that call its functions through ctypes."""

from __future__ import annotations

import pytest
from support.devices import VIRTUAL_GPUS
from support.hsa_client import Client

from hipgraph_cb.virtual.install import install_hsa

SAXPY = "clang/k_cl.gfx942.hsaco"


@pytest.fixture(scope="session", autouse=True)
def library():
    return install_hsa(VIRTUAL_GPUS)


@pytest.fixture
def client():
    client = Client()
    yield client
    client.close()


@pytest.fixture
def module(client):
    return client.load(SAXPY)


@pytest.fixture
def queue(client):
    return client.queue()
