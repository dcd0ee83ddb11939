"""Ctrl-C ends a wait on the HSA backend."""

from pathlib import Path

from support.child import run

CODE = Path(__file__).resolve().parents[1] / "fixtures" / "virtual" / "endless.gfx942.hsaco"

PROGRAM = f"""
import time
from hipgraph_cb import open_device
from support.child import interrupt_after
device = open_device("hsa")
flag = device.from_host(bytes(4))
with device.command_buffer(label="endless") as cb:
    cb.dispatch(device.load({str(CODE)!r})["endless"], 1, 64, args=[flag])
cb.replay()
time.sleep = interrupt_after(time.sleep, 20)  # a wait sleeps between its questions
try:
    {{wait}}
except KeyboardInterrupt:
    print("interrupted")
"""


def test_a_wait_for_a_kernel_that_does_not_end() -> None:
    result = run(PROGRAM.format(wait="device.synchronize()"), HIPGRAPH_CB_VIRTUAL="gfx942")
    assert (result.stdout.split()[-1:], result.returncode) == (["interrupted"], 0), result.stderr


def test_a_replay_that_waits_for_room() -> None:
    result = run(PROGRAM.format(wait="while True: cb.replay()"), HIPGRAPH_CB_VIRTUAL="gfx942")
    assert (result.stdout.split()[-1:], result.returncode) == (["interrupted"], 0), result.stderr
