"""What the command line prints: text without control characters, on streams that may be closed or ASCII only."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from typing import Any

from hipgraph_cb.visible import visible_lines


def prepare_streams() -> None:
    """Make every character printable: what a stream's encoding lacks is written as an escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(text: str, *, end: str = "\n") -> None:
    """Print a text. Raises OSError where standard output is closed."""
    if sys.stdout is None:
        raise OSError("standard output is closed")
    sys.stdout.write(visible_lines(text) + end)


def say_json(facts: Any, *, indent: int | None = 2) -> None:
    """Print one JSON document."""
    say(json.dumps(facts, indent=indent))


def complain(text: str) -> None:
    """Print to standard error, if there is one."""
    if sys.stderr is not None:
        print(visible_lines(text), file=sys.stderr)


def finish() -> None:
    """Write what is still in the buffer."""
    if sys.stdout is not None:
        sys.stdout.flush()


def abandon() -> None:
    """Stop further writes: Python would try again at exit."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Parser(argparse.ArgumentParser):
    """Its messages repeat the arguments, among them names of files."""

    def _print_message(self, message: str, file: Any = None) -> None:
        super()._print_message(visible_lines(message) if message else message, file)
