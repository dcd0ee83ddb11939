"""A GPU has a limited number of queues, and those of closed streams go when they are idle."""

import pytest
from support.held import held_work

from hipgraph_cb.errors import HsaError, ResourceExhaustedError
from hipgraph_cb.opening import virtual_runtime
from hipgraph_cb.virtual.hsa.api import queues

MOST = 4


@pytest.fixture
def streams(small, monkeypatch):
    """As many streams as there may be, beside the device's own queue and those of others on this GPU."""
    known = virtual_runtime("hsa").runtime.queues.values()
    others = sum(queue.agent.handle == small.agent.handle for queue in known) - 1
    monkeypatch.setattr(queues, "MAX_QUEUES", MOST + others)
    return [small.stream() for _ in range(MOST - 1)]


def refusal(device):
    with pytest.raises(HsaError) as caught:
        device.stream("late")
    assert isinstance(caught.value, ResourceExhaustedError)
    return str(caught.value)


def message(abandoned):
    return (
        "hsa_queue_create returned 4104 (HSA_STATUS_ERROR_OUT_OF_RESOURCES)\n"
        "  where: stream `late`\n"
        f"  found: {MOST} queues of this device, {abandoned} of them of closed streams\n"
        "  next: close streams that are not needed, and wait for their work"
    )


def test_a_new_stream_waits_for_the_queue_of_a_closed_one(small, streams, monkeypatch):
    wait = small._wait_for_a_closed_stream
    with held_work(small, streams[0]) as work:
        streams[0].close()

        def finish_and_wait(started):
            work.finish()
            return wait(started)

        monkeypatch.setattr(small, "_wait_for_a_closed_stream", finish_and_wait)
        late = small.stream()
    late.synchronize()
    assert len(small.queues) == MOST


def test_a_new_stream_waits_no_longer_than_the_device_may(small, streams):
    small.timeout = 0.01
    with held_work(small, streams[0]):
        streams[0].close()
        assert refusal(small) == message(1)
    small.timeout = None


def test_a_new_stream_waits_for_no_stream_that_is_open(small, streams):
    small.timeout = None
    with held_work(small, streams[0]):
        assert refusal(small) == message(0)
    streams[1].close()
    small.stream().synchronize()
