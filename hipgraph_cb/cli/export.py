"""`hipgraph-cb export FILE --format FORMAT`: a capture file as a picture or a text, with the same node names in all.

Only `perfetto` needs a device, for it shows times: the file is replayed with every command timed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from hipgraph_cb.capture.file import Capture, load
from hipgraph_cb.recording.dependencies import JoinPolicy

if TYPE_CHECKING:
    from hipgraph_cb.recording.profile import Profile

DRAWINGS: dict[str, Callable[[Capture, JoinPolicy], str]] = {
    "dot": lambda capture, join: capture.recording.to_dot(join=join),
    "mermaid": lambda capture, join: capture.recording.to_mermaid(join=join),
    "json": lambda capture, _: capture.recording.to_json(),
    "html": lambda capture, join: capture.recording.to_html(join=join),
}
TIMED = "perfetto"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="a capture file, as Recording.save writes it")
    parser.add_argument("--format", choices=[*DRAWINGS, TIMED], required=True, help="what to write")
    parser.add_argument("-o", "--output", type=Path, help="where it goes (default: standard output)")
    parser.add_argument(
        "--join",
        choices=[policy.value for policy in JoinPolicy],
        default=JoinPolicy.AUTO.value,
        help="what is drawn for a barrier between two layers (default: auto)",
    )
    parser.add_argument(
        "--times", action="store_true", help="with html: replay on a device and show times at the nodes"
    )
    parser.add_argument(
        "--runtime-dot",
        type=Path,
        metavar="FILE",
        help="also write what hipGraphDebugDotPrint draws of the real graph (needs a device)",
    )
    parser.add_argument("--backend", choices=("hip", "hsa"), help="which backend measures (default: hip)")
    parser.add_argument("--device", type=int, default=0, help="ordinal of the device that measures (default: 0)")
    parser.add_argument("--repeats", type=int, default=10, help="how many replays are measured (default: 10)")


def run(options: argparse.Namespace) -> int:
    capture = load(options.file)
    if options.runtime_dot is not None:
        options.runtime_dot.write_text(_runtime_dot(capture, options), encoding="utf-8")
    if options.format == TIMED:
        text = _profile(capture, options).to_perfetto()
    elif options.times and options.format == "html":
        text = _profile(capture, options).to_html()
    else:
        text = DRAWINGS[options.format](capture, JoinPolicy(options.join))
    if options.output is None:
        sys.stdout.write(text)
        return 0
    options.output.write_text(text, encoding="utf-8")
    facts = {"file": str(options.file), "format": options.format, "output": str(options.output), "size": len(text)}
    print(json.dumps(facts) if options.json else f"{options.output}: {options.format}, {len(text)} characters")
    return 0


def _runtime_dot(capture: Capture, options: argparse.Namespace) -> str:
    from hipgraph_cb.capture.session import Session
    from hipgraph_cb.opening import open_device

    with open_device(options.backend, device=options.device) as device, Session(capture, device) as session:
        if session.slots:
            session.restore()
            session.replay()
        return session.program.runtime_dot()


def _profile(capture: Capture, options: argparse.Namespace) -> Profile:
    from hipgraph_cb.capture.session import Session
    from hipgraph_cb.opening import open_device

    with open_device(options.backend, device=options.device) as device, Session(capture, device) as session:
        session.restore()
        return session.profile(options.repeats)
