"""Every test has a cache folder of its own."""

import pytest

from hipgraph_cb import open_device


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "no rocm"))
    return tmp_path / "cache" / "hipgraph_cb" / "compiled"


@pytest.fixture(scope="session")
def device():
    with open_device() as device:
        yield device
