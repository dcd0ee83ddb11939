"""Noting all that a process does, when `hipgraph-cb record` has started it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hipgraph_cb.virtual.install import VirtualRuntime

JOURNAL_VARIABLE = "HIPGRAPH_CB_JOURNAL"
"""Names the folder that the processes of a program write their journals into."""
STRETCH_VARIABLE = "HIPGRAPH_CB_JOURNAL_COMMANDS"
"""Which commands are noted, as `Stretch` writes it."""


def observe_process(runtime: VirtualRuntime) -> None:
    """Note what this process does from now on, if it is to be noted."""
    folder = os.environ.get(JOURNAL_VARIABLE)
    if folder is None or runtime.runtime.gpus[0].worker.observer is not None:
        return
    from hipgraph_cb.journal.notes import Journal
    from hipgraph_cb.journal.observer import ProgramObserver
    from hipgraph_cb.journal.stretch import Stretch

    stretch = Stretch.of(os.environ.get(STRETCH_VARIABLE, str(Stretch())))
    journal = Journal(Path(folder) / f"{time.time_ns()}-{os.getpid()}")
    ProgramObserver(runtime.runtime, journal.add, stretch).begin()
