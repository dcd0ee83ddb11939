"""`HIPGRAPH_CB_TRACE=FILE`: one line of JSON a dispatch, with what its instructions did and how long they took.

The format is described in docs/virtual_gpu.md. Without the variable none of this is imported.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.virtual.faults import DeviceFault
from hipgraph_cb.virtual.isa.execution.random_schedule import RandomChunk
from hipgraph_cb.virtual.isa.execution.scheduler import Chunk

if TYPE_CHECKING:
    from random import Random

    from hipgraph_cb.virtual.isa.core.lds_range import OutsideLds
    from hipgraph_cb.virtual.isa.core.state import State
    from hipgraph_cb.virtual.isa.execution.program import Block, Program
    from hipgraph_cb.virtual.launch import Launch

_WRITING = threading.Lock()  # each device has a thread of its own


def append(path: str, text: str) -> None:
    """Write behind what the file holds. Raises InvalidArgumentError where that cannot be done."""
    try:
        with _WRITING, Path(path).open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise InvalidArgumentError(
            "HIPGRAPH_CB_TRACE names a file that cannot be written", where=path, found=str(error)
        ) from error


@dataclass
class OpcodeFigures:
    """What one mnemonic did in a dispatch.

    Attributes:
        runs: how often the interpreter executed such an instruction, each time for all waves at that PC.
        waves: wave-instructions: what hardware counts.
        lanes: active lanes, summed over `waves`.
        seconds: time in the interpreter's function; 0 for branches, barriers and ends, which belong to the rest.
    """

    runs: int = 0
    waves: int = 0
    lanes: int = 0
    seconds: float = 0.0


class DispatchTrace:
    """Collects the figures of one dispatch and appends them to `path` when it is over; `lanes`: of its waves."""

    def __init__(self, launch: Launch, lanes: int, path: str, outside_lds: OutsideLds) -> None:
        self._launch = launch
        self._waves = launch.group_count * launch.waves_per_group(lanes)
        self._path = path
        self._outside_lds = outside_lds
        self._chunks = 0
        self.opcodes: dict[str, OpcodeFigures] = {}

    def chunk(self, state: State, program: Program, entry: int, chance: Random | None = None) -> Chunk:
        """A chunk whose instructions are counted here; with `chance` one that runs in random order."""
        self._chunks += 1
        chunk = (
            _TracedChunk(state, program, entry) if chance is None else _TracedRandomChunk(state, program, entry, chance)
        )
        chunk.opcodes = self.opcodes
        return chunk

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Within it the dispatch runs; afterwards the line is written, after a fault too."""
        started = time.perf_counter()
        fault = None
        try:
            yield
        except DeviceFault as error:
            fault = error
            raise
        finally:
            self._write(time.perf_counter() - started, fault)

    def _write(self, seconds: float, fault: DeviceFault | None) -> None:
        line = json.dumps(self._figures(seconds, fault)) + "\n"
        append(self._path, line)

    def _figures(self, seconds: float, fault: DeviceFault | None) -> dict[str, Any]:
        launch = self._launch
        by_time = sorted(self.opcodes.items(), key=lambda item: -item[1].seconds)
        return {
            "kernel": launch.kernel.name,
            "grid": list(launch.grid),
            "workgroup": list(launch.workgroup),
            "waves": self._waves,
            "chunks": self._chunks,
            "seconds": round(seconds, 9),
            "fault": None if fault is None else str(fault),
            "outside_lds": {"lanes": self._outside_lds.lanes, "first": self._outside_lds.first},
            "opcodes": {
                name: {
                    "runs": figures.runs,
                    "waves": figures.waves,
                    "lanes": figures.lanes,
                    "seconds": round(figures.seconds, 9),
                }
                for name, figures in by_time
            },
        }


class _TracedChunk(Chunk):
    opcodes: dict[str, OpcodeFigures]

    def _execute(self, block: Block) -> None:
        for step, instruction in zip(block.steps, block.instructions, strict=True):
            figures = self._counted(instruction.mnemonic)
            started = time.perf_counter()
            try:
                self._execute_step(step, instruction)
            finally:
                figures.seconds += time.perf_counter() - started
        if block.last is not None:
            self._counted(block.last.mnemonic)

    def _counted(self, mnemonic: str) -> OpcodeFigures:
        state = self._state
        running, active = state.running, state.active
        figures = self.opcodes.setdefault(mnemonic, OpcodeFigures())
        figures.runs += 1
        figures.waves += state.waves if running is None else int(np.count_nonzero(running))
        figures.lanes += state.waves * state.lanes if active is None else int(np.count_nonzero(active))
        return figures


class _TracedRandomChunk(_TracedChunk, RandomChunk):
    """The same for waves in random order."""
