"""What `bench joins` measured is kept for one runtime version and device, and `auto` follows it."""

import json
import logging
from pathlib import Path

import pytest

from hipgraph_cb.errors import FileError, NotFoundError
from hipgraph_cb.hip.device import HipDevice
from hipgraph_cb.hip.join_measurements import measurements_file, remember, subject
from hipgraph_cb.opening import virtual_runtime
from hipgraph_cb.recording.dependencies import AUTO_ON_AMD, AutoJoin, JoinPolicy

MEASURED = AutoJoin(100, JoinPolicy.KERNEL)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    virtual_runtime()  # what HipDevice finds
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "hipgraph_cb" / "joins.json"


def test_without_a_file_auto_means_what_the_runtime_says(cache):
    with HipDevice() as device:
        assert device.auto_join == AUTO_ON_AMD
    assert not cache.exists()


def test_a_measurement_is_followed_on_its_device_and_runtime(cache):
    with HipDevice() as device:
        about = subject(device.api, device.name)
        version = device.api.call("hipRuntimeGetVersion")
    assert about == f"{device.name}, HIP runtime {version}"
    assert remember(about, MEASURED) == cache == measurements_file()
    with HipDevice() as device:
        assert device.auto_join == MEASURED
    assert json.loads(cache.read_text()) == {about: {"edge_limit": 100, "wide": "kernel"}}


def test_a_measurement_of_another_runtime_is_kept_and_not_followed(cache):
    remember("another GPU, HIP runtime 1", MEASURED)
    remember("a third GPU, HIP runtime 1", MEASURED)
    assert len(json.loads(cache.read_text())) == 2
    with HipDevice() as device:
        assert device.auto_join == AUTO_ON_AMD


@pytest.mark.parametrize("text", ["", "[]", "{", '{"%s": 7}', '{"%s": {"edge_limit": -1, "wide": "empty"}}', "\udc80"])
def test_a_file_that_cannot_be_understood_is_reported_and_ignored(cache, caplog, text):
    with HipDevice() as device:
        about = subject(device.api, device.name)
    cache.parent.mkdir()
    cache.write_bytes(text.replace("%s", about).encode("utf-8", "surrogateescape"))
    with caplog.at_level(logging.WARNING), HipDevice() as device:
        assert device.auto_join == AUTO_ON_AMD
    (message,) = [record.getMessage() for record in caplog.records]
    assert message.startswith(f"measurements of joins are ignored: {cache}: ")
    remember(about, MEASURED)
    with HipDevice() as device:
        assert device.auto_join == MEASURED


def test_a_user_without_a_home_opens_devices_and_is_reported_where_to_keep_measurements(monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    with HipDevice() as device:
        assert device.auto_join == AUTO_ON_AMD
    with pytest.raises(NotFoundError) as caught:
        remember("a GPU, HIP runtime 1", MEASURED)
    assert str(caught.value) == (
        "bench: there is no folder to keep measurements in\n"
        "  found: a user without a home\n"
        "  next: name one in the environment variable XDG_CACHE_HOME"
    )


def test_a_folder_that_cannot_be_made_is_an_error_of_the_family(cache):
    cache.parent.write_text("a file where the folder would be")
    with pytest.raises(FileError) as caught:
        remember("a GPU, HIP runtime 1", MEASURED)
    assert str(caught.value).startswith("bench: the folder cannot be made\n")
    assert str(cache.parent) in str(caught.value)
    with HipDevice() as device:  # nor can a file be in it
        assert device.auto_join == AUTO_ON_AMD
