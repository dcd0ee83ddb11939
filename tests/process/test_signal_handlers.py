"""What the program's own signal handlers raise reaches it, wherever the signal arrives, and spoils no call."""

from __future__ import annotations

from support.child import result_of, run

RAISING = """
import os, signal, threading
from hipgraph_cb.virtual.install import install
class Stop(Exception): pass
def stop(number, frame): raise Stop(number)
{before}
runtime = install(["gfx942"])
from hip import hip
{after}
"""
SET = "signal.signal(signal.SIGALRM, stop)"


def test_what_a_handler_raises_in_the_middle_of_a_call_is_raised_behind_the_call():
    """The signal comes while the function runs, which is not cut short."""
    code = (
        RAISING
        + """
memory = runtime.machine.memory
allocate, allocated = memory.allocate, []
def interrupted(*arguments, **options):
    signal.raise_signal(signal.SIGALRM)
    allocated.append(allocate(*arguments, **options))
    return allocated[-1]
memory.allocate = interrupted
for _ in range(3):
    try:
        hip.hipMalloc(64)
        print("not raised")
    except Stop as error:
        print(error.args == (signal.SIGALRM,), len(allocated))
memory.allocate = allocate
print(runtime.fault_report(), signal.getsignal(signal.SIGALRM) is stop)
"""
    )
    expected = (0, "True 1\nTrue 2\nTrue 3\nNone True", "")
    assert result_of(run(code.format(before=SET, after=""))) == expected
    assert result_of(run(code.format(before="", after=SET))) == expected


WAITING = """
from support.endless import hip, launch, read_flag, runtime, flag, check
import os, signal, threading
class Stop(Exception): pass
calls, seen = runtime.machine.calls, []
def handle(number, frame):
    seen.append(number)
    if number == signal.SIGALRM: raise Stop(number)
def send(*numbers):
    for number in numbers:
        while not calls.sleepers: pass
        before = len(seen)
        os.kill(os.getpid(), number)
        while len(seen) == before: pass
for number in (signal.SIGALRM, signal.SIGUSR1): signal.signal(number, handle)
"""


def test_a_handler_runs_while_a_call_waits_and_what_it_raises_ends_the_wait():
    code = (
        WAITING
        + """
launch("endless")
threading.Thread(target=send, args=(signal.SIGUSR1, signal.SIGUSR1, signal.SIGALRM)).start()
try:
    hip.hipDeviceSynchronize()
    print("the wait came back")
except Stop:
    print("stopped", [signal.Signals(number).name for number in seen])
import ctypes
ctypes.c_int.from_address(flag).value = 1
print(int(hip.hipDeviceSynchronize()[0]))
"""
    )
    assert result_of(run(code)) == (0, "stopped ['SIGUSR1', 'SIGUSR1', 'SIGALRM']\n0", "")


def test_a_handler_that_is_taken_away_again_is_what_it_was():
    code = """
    import signal
    from hipgraph_cb.virtual.install import install
    install(["gfx942"])
    def handle(number, frame): pass
    print(signal.signal(signal.SIGUSR1, handle) is signal.SIG_DFL)
    print(signal.signal(signal.SIGUSR1, signal.SIG_IGN) is handle)
    print(signal.getsignal(signal.SIGUSR1) is signal.SIG_IGN)
    """
    assert result_of(run(code)) == (0, "True\nTrue\nTrue", "")
