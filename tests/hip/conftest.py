"""Devices over counting functions, for tests of what is called and what is released."""

from pathlib import Path

import pytest
from support.counting_hip import CountingHip

import hipgraph_cb.hip.api
from hipgraph_cb.hip.device import HipDevice

CODE_OBJECT = Path(__file__).parent.parent / "fixtures" / "conformance" / "conformance.gfx942.hsaco"


@pytest.fixture
def counting(monkeypatch):
    functions = CountingHip()
    monkeypatch.setattr(hipgraph_cb.hip.api, "_Functions", lambda: functions)
    return functions


@pytest.fixture
def device(counting):
    with HipDevice() as device:
        yield device


@pytest.fixture
def code_object():
    return CODE_OBJECT.read_bytes()
