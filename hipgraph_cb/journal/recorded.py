"""Recording what a block of a program does: the notes of it, and the file that is made of them."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hipgraph_cb.errors import HipGraphError
from hipgraph_cb.journal.assembly import Assembly
from hipgraph_cb.journal.notes import Journal, read_journal
from hipgraph_cb.journal.observer import ProgramObserver
from hipgraph_cb.virtual.install import VirtualRuntime

_logger = logging.getLogger("hipgraph_cb")


@contextmanager
def recorded_block(runtime: VirtualRuntime, file: Path, label: str) -> Iterator[None]:
    """Make a capture file of what a block does; see `hipgraph_cb.recorded`."""
    with tempfile.TemporaryDirectory(prefix="hipgraph_cb-journal-") as folder:
        journal = Journal(Path(folder) / "journal")
        observer = ProgramObserver(runtime.runtime, journal.add)
        observer.begin()
        try:
            yield
        except BaseException:
            _end(observer, journal)
            try:
                Assembly(read_journal(journal.path), label).save(file)
            except HipGraphError as error:
                _logger.warning("recorded: the block has raised, and what it did before is not recorded: %s", error)
            raise
        _end(observer, journal)
        Assembly(read_journal(journal.path), label).save(file)


def _end(observer: ProgramObserver, journal: Journal) -> None:
    observer.end()
    journal.close()
