"""Long work shows how far it is where a terminal is, and leaves the line clean."""

import io

from hipgraph_cb.cli import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(monkeypatch, stream, interval):
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(progress, "INTERVAL", interval)
    with progress.Progress("layers") as line:
        for done in (1, 10):
            line(done, 10)
    return stream.getvalue()


def test_a_terminal_gets_a_line_that_is_wiped_at_the_end(monkeypatch):
    assert shown(monkeypatch, Terminal(), 0) == "\rlayers: 1 of 10\rlayers: 10 of 10\r" + " " * 16 + "\r"


def test_short_work_and_streams_that_are_not_a_terminal_get_nothing(monkeypatch):
    assert shown(monkeypatch, Terminal(), 60) == ""
    assert shown(monkeypatch, io.StringIO(), 0) == ""
