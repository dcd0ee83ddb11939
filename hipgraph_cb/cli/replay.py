"""`hipgraph-cb replay FILE`: replay a capture file, check the result, find the first difference of two replays."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hipgraph_cb.capture.capture import Capture
from hipgraph_cb.capture.divergence import Divergence, first_divergence
from hipgraph_cb.capture.expected import Difference
from hipgraph_cb.capture.hgcb import load
from hipgraph_cb.capture.replacement import with_kernel
from hipgraph_cb.capture.session import Session
from hipgraph_cb.cli.output import say, say_json
from hipgraph_cb.cli.progress import Progress
from hipgraph_cb.code_object.verify import verify
from hipgraph_cb.errors import CheckFailedError, NotFoundError
from hipgraph_cb.files import read_file
from hipgraph_cb.opening import BACKENDS, open_device, open_devices
from hipgraph_cb.recording.bindings import entries_by_index
from hipgraph_cb.recording.number_types import number_from_text

if TYPE_CHECKING:
    from hipgraph_cb.group.device_group import DeviceGroup
    from hipgraph_cb.recording.recording import Recording
    from hipgraph_cb.runtime.device import Device


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="a capture file, as Recording.save writes it")
    parser.add_argument("--backend", choices=BACKENDS, help="which backend replays (default: hip)")
    parser.add_argument(
        "--device",
        type=int,
        help="ordinal of the device that runs everything (default: 0; for the recording of a group as many devices as "
        "it names, from 0 on)",
    )
    parser.add_argument("--times", type=_positive, default=1, help="how often to replay (default: once)")
    parser.add_argument(
        "--verify",
        action="store_true",
        help="compare the buffers with the contents that the file expects after one replay; with --times, every replay "
        "begins with the stored contents",
    )
    parser.add_argument(
        "--against",
        choices=BACKENDS,
        help="replay layer by layer, and the file as it was recorded on this backend beside it; report the first "
        "command after which they differ",
    )
    parser.add_argument(
        "--replace-kernel",
        type=_pair,
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="take this kernel from another code object with the same signature (not in the replay of --against)",
    )
    parser.add_argument(
        "--bind",
        type=_binding,
        action="append",
        default=[],
        metavar="SLOT=FILE or SLOT=VALUE",
        help="what a slot holds, by index or name: for memory a file with its bytes, for a number its value",
    )
    parser.add_argument(
        "--check",
        choices=["nan"],
        help="replay layer by layer and stop at the first command that wrote NaN through a pointer to floats",
    )
    parser.add_argument("--time", action="store_true", help="say how long a replay took")


def run(options: argparse.Namespace) -> int:
    report: dict[str, Any] = {"file": str(options.file)}
    recorded = load(options.file)
    capture = _replace_kernels(recorded, options.replace_kernel, report)
    bindings = given_bindings(recorded.recording, options.bind)
    if options.verify and not capture.expected:
        raise NotFoundError(
            "the file does not say what to expect",
            found=str(options.file),
            next_step="save the recording with expected=..., or leave --verify out",
        )
    report["recording"] = repr(capture.recording)
    report["producer"] = capture.producer
    with ExitStack() as stack:
        device = _opened(stack, capture.recording, options.backend, options.device)
        report["device"] = _device(device)
        session = stack.enter_context(Session(capture, device, bindings))
        if options.against:
            other = _opened(stack, capture.recording, options.against, options.device)
            report["against"] = _device(other)
            _compare(session, stack.enter_context(Session(recorded, other, bindings)), report)
        elif options.check:
            report["bad"] = _check(session, options.check)
        else:
            _replay(session, options, report)
    report["agrees"] = not any(report.get(key) for key in ("differences", "divergence", "bad"))
    say_json(report) if options.json else say(_as_text(report, options))
    return 0 if report["agrees"] else 1


def _opened(stack: ExitStack, recording: Recording, backend: str | None, ordinal: int | None) -> Device | DeviceGroup:
    """The device that is asked for; else the first, or of a recording for a group the first ones."""
    count = 1 + max(recording.resources.devices, default=0)
    if ordinal is not None or count == 1:
        return stack.enter_context(open_device(backend, device=ordinal or 0))
    return stack.enter_context(open_devices(backend, devices=range(count)))


def _replace_kernels(recorded: Capture, pairs: list[tuple[str, Path]], report: dict[str, Any]) -> Capture:
    recording = recorded.recording
    replaced = {}
    for kernel, path in pairs:
        recording, replaced[kernel] = with_kernel(recording, kernel, verify(read_file(path, "load")), path.name)
    if replaced:
        report["replaced"] = replaced
    return replace(recorded, recording=recording)


def _replay(session: Session, options: argparse.Namespace, report: dict[str, Any]) -> None:
    seconds, differences = [], []
    with Progress("replays") as progress:
        for index in range(options.times):
            if index == 0 or options.verify:
                session.restore()
            started = time.perf_counter()
            session.replay()
            seconds.append(time.perf_counter() - started)
            if options.verify:
                differences += [_difference(index, *found) for found in session.differences()]
            progress(index + 1, options.times)
    report["replays"] = options.times
    if options.time:
        report["seconds"] = {"first": seconds[0], "median": statistics.median(seconds), "best": min(seconds)}
    if options.verify:
        report["verified"] = len(session.expected)
        report["differences"] = differences


def _compare(session: Session, other: Session, report: dict[str, Any]) -> None:
    with Progress("commands compared") as progress:
        found = first_divergence(session, other, progress)
    report["divergence"] = None if found is None else _divergence(found)


def _check(session: Session, check: str) -> dict[str, Any] | None:
    session.restore()
    try:
        session.replay(check)
    except CheckFailedError as error:
        return {"where": error.where, "found": error.found}
    return None


def _difference(replay: int, buffer: str, found: Difference) -> dict[str, Any]:
    return {"replay": replay, "buffer": buffer, "text": str(found), **vars(found)}


def _divergence(found: Divergence) -> dict[str, Any]:
    facts = {"command": found.command, "where": found.where, "what": found.what, "buffer": found.buffer}
    return {**facts, "text": str(found.difference), **vars(found.difference)}


def _device(device: Device | DeviceGroup) -> dict[str, Any]:
    """What a report says of a device; of a group what it says of the first, and how many there are."""
    if isinstance(device, Sequence):
        return {**_device(device[0]), "devices": len(device)}
    return {
        "name": device.name,
        "target": str(device.target),
        "backend": device.backend,
        "virtual": device.is_virtual,
    }


def _as_text(report: dict[str, Any], options: argparse.Namespace) -> str:
    lines = [f"{report['file']}: {report['recording']}, written by {report['producer']}"]
    for key, title in (("device", "replayed on"), ("against", "against")):
        if key in report:
            facts = report[key]
            kind = "virtual: kernels run on the CPU" if facts["virtual"] else "real"
            count = f" and {facts['devices'] - 1} more" if "devices" in facts else ""
            lines.append(f"{title} {facts['name']}, {facts['target']} ({kind}){count}, backend {facts['backend']}")
    for kernel, changes in report.get("replaced", {}).items():
        lines += [f"replaced kernel {kernel}, same signature", *(f"  {change}" for change in changes)]
    if "replays" in report:
        lines.append(f"replayed {report['replays']} time{'' if report['replays'] == 1 else 's'}")
    if "seconds" in report:
        times = ", ".join(f"{name} {1000 * value:.3f} ms" for name, value in report["seconds"].items())
        lines.append(f"a replay and the wait for it: {times}")
    lines += _verdict(report, options)
    return "\n".join(lines)


def _verdict(report: dict[str, Any], options: argparse.Namespace) -> list[str]:
    if options.against:
        found = report["divergence"]
        if found is None:
            return ["all memory is equal after every layer"]
        return [
            f"the first difference is after {found['where']}: {found['what']}",
            f"  in {found['buffer']}: {found['text']}",
        ]
    if options.check:
        bad = report["bad"]
        if bad is None:
            return ["no command wrote NaN through a pointer to floats"]
        return [f"the first to fail is {bad['where']}", f"  {bad['found']}"]
    if not options.verify:
        return []
    rows = report["differences"]
    if not rows:
        return [f"{report['verified']} buffer{' holds' if report['verified'] == 1 else 's hold'} what the file expects"]
    lines = [f"replay {row['replay']}, {row['buffer']}: {row['text']}" for row in rows]
    return [*lines, "find the first wrong command with --against"]


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive count")
    return value


def _pair(text: str) -> tuple[str, Path]:
    name, separator, path = text.partition("=")
    if not (name and separator and path):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=FILE")
    return name, Path(path)


def _binding(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not (name and separator and value):
        raise argparse.ArgumentTypeError(f"{text!r} is not SLOT=FILE or SLOT=VALUE")
    return name, value


def given_bindings(recording: Recording, pairs: list[tuple[str, str]]) -> dict[int, Any]:
    """What slots hold, by index: bytes of a file for memory, a number for a slot with a type.

    Raises:
        NotFoundError: a slot that no command uses.
        InvalidArgumentError: no number.
        FileError: a file that cannot be read.
    """
    names = {name: slot for slot, name in recording.slot_names.items()}
    keys = {names.get(name, int(name) if name.isdecimal() else name): value for name, value in pairs}
    given: dict[int, Any] = {}
    for slot, value in entries_by_index(recording, keys).items():
        type = recording.slots[slot].type
        given[slot] = read_file(Path(value), "load") if type is None else number_from_text(value, type)
    return given
