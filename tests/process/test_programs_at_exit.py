"""Programs, buffers, streams and devices in any order of garbage collection, and at the end of the interpreter."""

from __future__ import annotations

import pytest
from support.child import result_of, run

THINGS = """
import gc, itertools, sys
import numpy as np
from hipgraph_cb import Slot, open_device

CODE = {code!r}

def things():
    device = open_device()
    kernels = device.load(CODE)
    source = device.from_host(np.arange(1, 5, dtype=np.uint32))
    target = device.from_host(np.zeros(4, np.uint32))
    theirs = device.import_buffer(device.from_host(np.arange(1, 5, dtype=np.uint32)))
    stream = device.stream()
    with device.command_buffer(binding_capacity=1) as cb:
        cb.update_buffer(Slot(0, 0, 16), np.arange(4, dtype=np.uint32))
        cb.execution_barrier()
        cb.dispatch(kernels["scale_and_offset"], 1, bindings=[theirs, Slot(0)], constants=[2, 1])
        cb.dispatch(kernels["workgroup_ids"], 4, bindings=[source.view(0, 16)])
    for mode in ("graph", "stream", "graph"):
        cb.replay(stream=stream, bindings=[target], mode=mode)
    return {{"device": device, "kernels": kernels, "source": source, "target": target, "theirs": theirs,
            "stream": stream, "cb": cb, "program": cb.program, "recording": cb.recording}}
"""


@pytest.fixture(scope="module")
def setup():
    from pathlib import Path

    path = Path(__file__).parent.parent / "fixtures" / "conformance" / "conformance.gfx942.hsaco"
    return THINGS.format(code=str(path))


def quiet(code: str) -> None:
    virtual = {"HIPGRAPH_CB_VIRTUAL": "gfx942"}
    status, output, errors = result_of(run(code, **virtual))
    errors = "\n".join(line for line in errors.splitlines() if "no real AMD GPU is used" not in line)
    assert (status, output, errors) == (0, "end", "")


def test_everything_alive_at_the_end(setup):
    quiet(setup + "everything = things()\nprint('end')\n")


def test_everything_in_cycles_at_the_end(setup):
    quiet(
        setup
        + """
for _ in range(5):
    everything = things()
    everything["itself"] = everything
    everything["device"].keep = everything
print("end")
"""
    )


def test_letting_go_in_any_order(setup):
    quiet(
        setup
        + """
for number, order in enumerate(itertools.permutations(["device", "program", "target", "stream", "recording"])):
    if number % 20:
        continue
    everything = things()
    del everything["cb"]
    for name in order:
        del everything[name]
        gc.collect()
    everything.clear()
gc.collect()
print("end")
"""
    )


def test_closing_in_any_order_then_exit(setup):
    quiet(
        setup
        + """
for number, order in enumerate(itertools.permutations(["device", "program", "target", "stream", "kernels"])):
    if number % 20:
        continue
    everything = things()
    for name in order:
        everything[name].close()
        everything[name].close()
print("end")
"""
    )


def test_an_exit_hook_that_still_replays(setup):
    quiet(
        setup
        + """
import atexit
everything = things()
atexit.register(lambda: (everything["cb"].replay(), everything["device"].synchronize(), everything["device"].close()))
print("end")
"""
    )


def test_objects_in_module_globals_and_finalizers_that_close(setup):
    quiet(
        setup
        + """
import weakref
everything = things()
class Owner:
    pass
owner = Owner()
weakref.finalize(owner, everything["program"].close)
sys.keep = everything
print("end")
"""
    )


def test_a_thread_that_replays_when_the_interpreter_ends(setup):
    quiet(
        setup
        + """
import threading
everything, started = things(), threading.Event()
def work():
    while True:
        everything["cb"].replay(stream=everything["stream"])
        started.set()
threading.Thread(target=work, daemon=True).start()
started.wait()
print("end")
"""
    )
