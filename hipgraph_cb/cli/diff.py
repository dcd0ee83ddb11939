"""`hipgraph-cb diff A B`: what changed between two capture files. No device is opened."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from hipgraph_cb.capture.diff import compare
from hipgraph_cb.capture.hgcb import load
from hipgraph_cb.cli.output import say, say_json


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", type=Path, help="a capture file")
    parser.add_argument("after", type=Path, help="the capture file to compare with it")


def run(options: argparse.Namespace) -> int:
    before, after = load(options.before).recording, load(options.after).recording
    found = compare(before, after)
    if options.json:
        report = {"before": str(options.before), "after": str(options.after), "same": found.is_empty, **asdict(found)}
        say_json(report)
    elif found.is_empty:
        say(f"{options.before} and {options.after} do the same work: {len(before)} commands")
    else:
        say("\n".join([f"--- {options.before}", f"+++ {options.after}", *found.lines()]))
    return 0 if found.is_empty else 1
