"""A cached property is computed once for an instance, and nobody waits for anybody."""

import threading

from support.held import HANGING, Caller

from hipgraph_cb.cached import cached_property


class Held:
    """Its property is computed when `open` is set."""

    def __init__(self):
        self.reached, self.open = threading.Event(), threading.Event()

    @cached_property
    def computed(self):
        """A value."""
        self.reached.set()
        assert self.open.wait(HANGING)
        return object()


def opened():
    held = Held()
    held.open.set()
    return held


def test_it_is_computed_once():
    held = opened()
    assert held.computed is held.computed
    assert held.computed is not opened().computed


def test_it_is_described_by_its_function():
    assert Held.computed.__doc__ == "A value."


def test_another_instance_is_not_waited_for():
    held = Held()
    caller = Caller(lambda: held.computed)
    assert held.reached.wait(HANGING)
    assert Caller(lambda: opened().computed).result() is not None
    held.open.set()
    caller.result()


def test_threads_that_compute_at_the_same_time_get_one_value():
    held = Held()
    callers = [Caller(lambda: held.computed) for _ in range(4)]
    held.open.set()
    assert len({id(caller.result()) for caller in callers}) == 1
