"""Devices after a fork, and when the process ends: refused at once in a child, quiet and without delay at the end."""

from __future__ import annotations

import pytest
from support.child import result_of, run

OPENED = """
import gc, os, sys, threading
import numpy as np
from hipgraph_cb import open_device
from hipgraph_cb.errors import HipGraphError
from support.held import HeldWork
device = open_device({backend!r})
x, stream = device.from_host(np.ones(16, np.uint32)), device.stream()
with device.command_buffer() as cb:
    cb.fill_buffer(x, 1)
held = HeldWork(device)
"""

REFUSED = """
held.start()
cb.replay()
locked = device.queue_of(None).lock
with locked:  # as if another thread were enqueuing
    child = os.fork()
if child == 0:
    for name, call in dict(
        replay=cb.replay, profile=cb.program.profile, synchronize=device.synchronize,
        allocate=lambda: device.allocate(4), to_host=x.to_host, write=lambda: x.write(bytes(64)),
        stream=device.stream, event=device.event, load=lambda: device.load(b""),
        command_buffer=device.command_buffer, waiting=stream.synchronize,
    ).items():
        try:
            call()
        except HipGraphError as error:
            print(name, type(error).__name__, *str(error).replace(str(os.getpid()), "N").splitlines(), sep="|")
    x.close(), stream.close(), cb.program.close(), device.close()
    del cb, device, x, stream, held
    gc.collect()
    sys.exit(0)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
held.finish()
device.synchronize()
print(status, x.to_host(np.uint32).tolist() == [1] * 16)
"""
ADVICE = '  next: start it with multiprocessing\'s "spawn" method (or subprocess) instead of fork'


def ended(code: str) -> tuple[int, str, str]:
    """As `result_of`, without the line that says that the GPU is a virtual one."""
    status, output, errors = result_of(run(code, HIPGRAPH_CB_VIRTUAL="gfx942"))
    return status, output, "\n".join(line for line in errors.splitlines() if "no real AMD GPU is used" not in line)


@pytest.mark.parametrize("backend", ["hip", "hsa"])
def test_in_a_forked_child_every_call_is_refused_at_once_and_says_what_to_do(backend):
    status, output, errors = ended(OPENED.format(backend=backend) + REFUSED)
    *refused, last = output.splitlines()
    assert (status, errors, last) == (0, "", "0 True")
    actions = ("replay", "profile", "synchronize", "allocate", "to_host", "write", "stream", "event", "load")
    names = [*((name, name) for name in actions), ("command_buffer", "command_buffer"), ("waiting", "synchronize")]
    gone = f"{backend} device 0 was opened before this process was forked, and cannot be used here"
    assert len(refused) == len(names)
    for line, (name, action) in zip(refused, names, strict=True):
        called, kind, what, found, advice = line.split("|")
        assert (called, kind, what, advice) == (name, "FailedPreconditionError", f"{action}: {gone}", ADVICE)
        assert found.startswith("  found: process N, a child of ")


ENDINGS = {
    "daemon threads that replay, read, record and allocate": """
reached = threading.Semaphore(0)
def forever(work):
    reached.release()
    while True:
        work()
def record():
    with device.command_buffer() as mine:
        mine.fill_buffer(x, 1)
works = (cb.replay, lambda: (cb.replay(), device.synchronize()), x.to_host, record, lambda: device.allocate(4))
for work in works:
    threading.Thread(target=forever, args=(work,), daemon=True).start()
for _ in works:
    reached.acquire()
""",
    "a daemon thread that waits for a kernel that does not end": """
held.start()
waiting = threading.Event()
def wait():
    waiting.set()
    device.synchronize(timeout=3600)
threading.Thread(target=wait, daemon=True).start()
waiting.wait()
""",
    "__del__ that replays and waits": """
held.start()
class Last:
    def __del__(self):
        cb.replay()
        device.synchronize()
        stream.synchronize()
        device.close()
last = Last()
last.itself = last
""",
    "an exit hook that was there before the device": "",
}


@pytest.mark.parametrize("backend", ["hip", "hsa"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_the_end_of_the_process_is_quiet_and_does_not_wait(backend, ending):
    """A wait for the device would last for its timeout, which is longer than the child may run."""
    before = "import atexit\natexit.register(lambda: (cb.replay(), device.synchronize(), device.close()))\n"
    code = before + OPENED.format(backend=backend) + "device.timeout = 3600\n" + ENDINGS[ending]
    assert ended(code + "print('end')\n") == (0, "end", "")
