"""Saving, loading, comparing and drawing a recording of 10 000 commands: what a person waits for."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hipgraph_cb.capture.diff import compare
from hipgraph_cb.code_object.verify import verify
from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.recording import Recording
from tests.benchmarks.timing import Figure, median_seconds
from tests.support.fakes import FakeBuffer, FakeExecutable

CODE_OBJECT = Path(__file__).parent.parent / "fixtures" / "conformance" / "conformance.gfx942.hsaco"
COMMANDS = 10_000
HOLD = "1 s"


def mixed(count: int) -> Recording:
    """Fills, updates with data of their own, copies and dispatches in turn, in layers of eight, over 64 buffers."""
    kernel = FakeExecutable(verify(CODE_OBJECT.read_bytes(), "gfx942"))["saxpby"]
    buffers = [FakeBuffer(4096, f"buffer {index}") for index in range(64)]
    with CommandBuffer(label="mixed") as cb:
        for index in range(0, count, 4):
            x, y, z = (buffers[(index + step) % 64] for step in range(3))
            cb.fill_buffer(x, index, length=64)
            cb.update_buffer(y, index.to_bytes(8, "little"))
            cb.copy_buffer(x, y)
            cb.dispatch(kernel, 16, 64, args=[x, y, z, 2.0, 1000])
            if index % 8:
                cb.execution_barrier()
    return cb.recording


def figures() -> list[Figure]:
    recording, other = mixed(COMMANDS), mixed(COMMANDS + 40)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mixed.hgcb"
        actions = {
            "save": lambda: recording.save(path),
            "load": lambda: Recording.load(path),
            "DOT": recording.to_dot,
            "HTML": recording.to_html,
            "diff against 40 commands more": lambda: compare(recording, other),
        }
        return [
            Figure(f"{name}, {COMMANDS} commands", median_seconds(action, runs=3), hold=HOLD)
            for name, action in actions.items()
        ]
