"""`hipgraph-cb export FILE --format FORMAT`: a capture file as a picture or a text, with the same node names in all.

Formats of profiles, such as `perfetto`, need a device: the file is replayed with every command timed.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hipgraph_cb.capture.capture import Capture
from hipgraph_cb.capture.hgcb import load
from hipgraph_cb.cli.output import say, say_json
from hipgraph_cb.files import write_text
from hipgraph_cb.opening import BACKENDS, open_device
from hipgraph_cb.recording.dependencies import JoinPolicy
from hipgraph_cb.recording.formats import TextFormat, find, text_formats

if TYPE_CHECKING:
    from hipgraph_cb.recording.profile import Profile


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="a capture file, as Recording.save writes it")
    parser.add_argument(
        "--format", choices=[format.name for format in text_formats()], required=True, help="what to write"
    )
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
    parser.add_argument("--backend", choices=BACKENDS, help="which backend measures (default: hip)")
    parser.add_argument("--device", type=int, default=0, help="ordinal of the device that measures (default: 0)")
    parser.add_argument("--repeats", type=int, default=10, help="how many replays are measured (default: 10)")


def run(options: argparse.Namespace) -> int:
    capture = load(options.file)
    if options.runtime_dot is not None:
        write_text(options.runtime_dot, _runtime_dot(capture, options), "save")
    text = _text(find(options.format, TextFormat), capture, options)
    if options.output is None:
        say(text, end="")
        return 0
    write_text(options.output, text, "save")
    facts = {"file": str(options.file), "format": options.format, "output": str(options.output), "size": len(text)}
    say_json(facts, indent=None) if options.json else say(f"{options.output}: {options.format}, {len(text)} characters")
    return 0


def _text(format: TextFormat, capture: Capture, options: argparse.Namespace) -> str:
    if format.of_profile:
        return format.write(_profile(capture, options))
    given: dict[str, Any] = {}
    if "join" in format.options:
        given["join"] = JoinPolicy(options.join)
    if "profile" in format.options and options.times:
        given["profile"] = _profile(capture, options)
    return format.write(capture.recording, **given)


def _runtime_dot(capture: Capture, options: argparse.Namespace) -> str:
    from hipgraph_cb.capture.session import Session

    with open_device(options.backend, device=options.device) as device, Session(capture, device) as session:
        if session.slots:
            session.restore()
            session.replay()
        return session.program.runtime_dot()


def _profile(capture: Capture, options: argparse.Namespace) -> Profile:
    from hipgraph_cb.capture.session import Session

    with open_device(options.backend, device=options.device) as device, Session(capture, device) as session:
        session.restore()
        return session.profile(options.repeats)
