"""A process with virtual GPUs, in which programs call HIP through hip-python."""

from __future__ import annotations

import pytest
from support.hip_program import Program

from hipgraph_cb import load_recording, open_device


@pytest.fixture
def hip():
    open_device().close()  # makes hip-python see the virtual GPUs
    from hip import hip as bindings

    bindings.hipDeviceSynchronize()
    yield bindings
    bindings.hipDeviceSynchronize()
    bindings.hipGetLastError()


@pytest.fixture
def program(hip):
    return Program(hip)


@pytest.fixture
def replayed():
    """The buffers of a capture file after one replay, by label, on a backend."""

    def replay(path, backend="hip"):
        with open_device(backend) as device, load_recording(path, device) as loaded:
            loaded.replay()
            device.synchronize()
            entries = loaded.recording.resources.buffers.values()
            return {each.label: loaded.recording.resources[each.id].to_host() for each in entries}

    return replay
