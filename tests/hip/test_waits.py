"""Waits are bounded, a timeout says what was waited for, and a failure is raised once."""

import threading
import weakref

import pytest
from support.collection import collect
from support.scripted_hip import ILLEGAL_ADDRESS, NOT_READY, SUCCESS, ScriptedApi

from hipgraph_cb.backend.lifetime import Backlog, Handle
from hipgraph_cb.errors import DeadlineExceededError, HipError
from hipgraph_cb.hip.queue import Queue


def queue_answering(*results):
    queue = Queue(ScriptedApi(hipStreamQuery=results, hipStreamDestroy=[(SUCCESS,)]), 0x50, "stream `copies`")
    queue.enqueued, queue.last_work = 3, "program `step`"
    return queue


def test_a_wait_ends_when_the_stream_is_idle():
    queue = queue_answering((NOT_READY,), (NOT_READY,), (SUCCESS,))
    assert queue.busy
    queue.wait(60)
    assert not queue.busy
    assert len(queue.api.calls) == 3


def test_a_timeout_says_what_was_waited_for_and_where_the_queue_stands():
    queue = queue_answering((NOT_READY,))
    with pytest.raises(DeadlineExceededError) as caught:
        queue.wait(0.01)
    assert isinstance(caught.value, TimeoutError)
    assert str(caught.value) == (
        "synchronize: the work was not done after 0.01 s\n"
        "  where: stream `copies`\n"
        "  found: 3 of 3 launches not known to be done; the last one is program `step`\n"
        "  next: give a longer timeout=, set device.timeout, or look for a kernel that does not end"
    )
    assert queue.busy


def test_a_timeout_of_nothing_still_sees_work_that_is_done():
    queue_answering((SUCCESS,)).wait(0)


def test_failed_work_is_done_and_raised_by_the_wait():
    queue = queue_answering((ILLEGAL_ADDRESS,), (SUCCESS,))
    with pytest.raises(HipError) as caught:
        queue.wait(60)
    assert str(caught.value) == (
        "hipStreamQuery returned 700 (hipErrorIllegalAddress)\n"
        "  where: waiting for stream `copies`, last enqueued: program `step`"
    )
    assert not queue.busy
    queue.wait(60)


def test_a_failure_seen_by_a_sweep_is_kept_for_the_next_wait():
    queue = queue_answering((ILLEGAL_ADDRESS,), (SUCCESS,))
    queue.refresh()
    assert queue.is_done(3)
    assert queue.failed
    with pytest.raises(HipError):
        queue.wait(60)
    assert not queue.failed


class Needs:
    calls = None

    def __init__(self, queue, ticket):
        self.tickets = {queue: ticket}
        self.released = 0

    def release(self):
        self.released += 1


def test_what_a_launch_needs_goes_when_the_launch_is_done():
    queue = queue_answering((NOT_READY,), (SUCCESS,))
    backlog, needs = Backlog(), Needs(queue, 3)
    backlog.retire(needs)
    assert (needs.released, len(backlog)) == (0, 1)
    backlog.sweep()
    assert (needs.released, len(backlog)) == (1, 0)


def test_what_was_never_launched_goes_at_once():
    backlog, needs = Backlog(), Needs(queue_answering((NOT_READY,)), 0)
    backlog.retire(needs)
    assert needs.released == 1


def test_a_handle_is_released_once_however_often_release_is_called():
    api = ScriptedApi(hipFree=[(SUCCESS,)])
    handle = Handle(api, 0x1000, "hipFree")
    handle.release()
    handle.release()
    del handle
    collect()
    assert api.calls == [("hipFree", 0x1000)]


def test_a_handle_is_released_with_its_last_owner_and_keeps_its_host_memory_until_then():
    class Image:
        pass

    api, image = ScriptedApi(hipModuleUnload=[(SUCCESS,)]), Image()
    alive = weakref.ref(image)
    handle = Handle(api, 0x1000, "hipModuleUnload", keep=image)
    del image
    assert alive() is not None
    del handle
    assert api.calls == [("hipModuleUnload", 0x1000)]
    assert alive() is None


class BusyApi(ScriptedApi):
    """Another thread gives the stream back in the middle of a query."""

    def __init__(self):
        super().__init__(hipStreamQuery=[(SUCCESS,)], hipStreamDestroy=[(SUCCESS,)])
        self.meanwhile = None

    def query(self, name, *arguments, where=None):
        if self.meanwhile is not None:
            thread = threading.Thread(target=self.meanwhile)
            thread.start()
            thread.join()
        return super().query(name, *arguments, where=where)


def test_a_stream_that_a_thread_is_asking_about_is_destroyed_behind_the_question_and_never_asked_again():
    api = BusyApi()
    queue = Queue(api, 0x50, "stream `copies`", Handle(api, 0x50, "hipStreamDestroy"))
    queue.enqueued = 1
    api.meanwhile = queue.release
    queue.wait(60)
    assert [call[0] for call in api.calls] == ["hipStreamQuery", "hipStreamDestroy"]
    queue.enqueued = 2
    queue.wait(0)
    assert len(api.calls) == 2
