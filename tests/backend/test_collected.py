"""What the collector found before a fork belongs to the parent."""

import gc
import sys
import threading

from hipgraph_cb.backend import collected


class Cycle:
    def __init__(self):
        self.itself = self


def test_a_forked_child_releases_nothing_that_was_found_in_its_parent(monkeypatch):
    released = []
    monkeypatch.setattr(collected, "_noted", type(collected._noted)())
    monkeypatch.setattr(collected, "_of_the_parent", [])
    collected.finalizer(Cycle(), released.append, 1)
    gc.collect()
    collected._forked()
    collected.release_collected()
    assert released == []
    assert len(collected._of_the_parent) == 1


def test_a_release_outside_a_collection_is_made_at_once():
    released = []
    owner = Cycle()
    release = collected.finalizer(owner, released.append, 1)
    release()
    release()
    assert released == [1]
    collected.finalizer(set(), released.append, 2)
    assert released == [1, 2]


def test_a_release_may_be_made_while_other_threads_collect():
    ended = threading.Event()

    def collect():
        while not ended.is_set():
            gc.collect(0)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=collect)
    thread.start()
    released = []
    try:
        for number in range(200_000):
            collected.release_when_safe(released.append, number)
    finally:
        ended.set()
        thread.join()
        sys.setswitchinterval(interval)
    assert len(released) == 200_000
