"""Small recordings that the tests of the exports share."""

from __future__ import annotations

from support.fakes import FakeBuffer, FakeEvent, saxpy

from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.recording import Recording
from hipgraph_cb.recording.resources import Slot

HOSTILE = 'a"b\\N{c|d}<e>\n&lt;é\u2028\ud800;]//%%{init}$$x$$`#35;'


def step() -> Recording:
    """Every kind of command, a slot, and a layer of two."""
    x, y, z = FakeBuffer(64, "x"), FakeBuffer(64, "y"), FakeBuffer(64)
    with CommandBuffer(label="step", binding_capacity=2) as cb:
        cb.fill_buffer(y, 0, label="clear")
        cb.update_buffer(x, bytes(range(20)), offset=4)
        cb.execution_barrier()
        cb.dispatch(saxpy(), (4, 2), 64, args=[y, Slot(1, 16), 2.5, 7], dynamic_lds=32)
        cb.execution_barrier()
        cb.copy_buffer(y, z)
    return cb.recording


def grouped() -> Recording:
    """Groups within groups, side by side, and commands outside of them."""
    x = FakeBuffer(64, "x")
    with CommandBuffer() as cb:
        cb.fill_buffer(x, 0)
        with cb.debug_group("outer"):
            cb.fill_buffer(x, 1)
            with cb.debug_group("first"):
                cb.fill_buffer(x, 2)
            with cb.debug_group("second"):
                cb.fill_buffer(x, 3)
        with cb.debug_group("tail"):
            cb.fill_buffer(x, 4)
    return cb.recording


def hostile() -> Recording:
    """A hostile text wherever a user or a code object may put a name."""
    x = FakeBuffer(64, HOSTILE)
    with CommandBuffer(label=HOSTILE) as cb, cb.debug_group(HOSTILE):
        cb.fill_buffer(x, 0, label=HOSTILE)
        cb.execution_barrier()
        cb.dispatch(saxpy(HOSTILE), 1, 64, args=[x, None, 1.0, 1])
    return cb.recording


def nesting() -> Recording:
    """Events, an indirect dispatch and a recording within a recording, with a debug group in it."""
    x, y, counts = FakeBuffer(64, "x"), FakeBuffer(64, "y"), FakeBuffer(16, "counts")
    ready = FakeEvent("ready")
    with CommandBuffer(label="inner", binding_capacity=1) as inner:
        inner.fill_buffer(Slot(0, 0, 32), 1)
        with inner.debug_group("tail"):
            inner.fill_buffer(y, 2)
        inner.execution_barrier()
        inner.copy_buffer(y.view(0, 32), Slot(0, 32, 32))
    with CommandBuffer(label="outer") as cb:
        cb.update_buffer(counts, bytes([2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]))
        cb.signal_event(ready, label="counts are there")
        cb.execute_commands(inner, bindings=[x])
        cb.wait_events([ready])
        cb.dispatch_indirect(saxpy(), counts, 64, args=[y, x, 2.5, 7])
        cb.execution_barrier()
        cb.reset_event(ready)
        cb.fill_buffer(x, 0)
    return cb.recording
