"""`hipgraph-cb demo`: a real code object verified, recorded, replayed, checked against numpy."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hipgraph_cb import samples
from hipgraph_cb.cli.output import say, say_json
from hipgraph_cb.files import write_text
from hipgraph_cb.opening import BACKENDS, open_device

if TYPE_CHECKING:
    from hipgraph_cb.recording.command_buffer import CommandBuffer
    from hipgraph_cb.recording.recording import Recording
    from hipgraph_cb.runtime.buffer import Buffer
    from hipgraph_cb.runtime.device import Device
    from hipgraph_cb.runtime.executable import Executable

SCALE = np.float32(2.5)


@dataclass
class Report:
    """What the demo did: printed line by line, or as one JSON document."""

    quiet: bool
    facts: dict[str, Any] = field(default_factory=dict)

    def say(self, key: str, value: Any, text: str) -> None:
        self.facts[key] = value
        if not self.quiet:
            say(text)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--backend", choices=BACKENDS, help="which backend replays (default: hip)")
    parser.add_argument("--device", type=int, default=0, help="ordinal of the device (default: 0)")
    parser.add_argument("--count", type=_positive, default=100_000, help="elements of each array (default: 100000)")
    parser.add_argument(
        "--dot",
        type=Path,
        default=Path("demo.dot"),
        help="where the graph goes, and beside it a page (.html) and a capture file (.hgcb) (default: demo.dot)",
    )


def run(options: argparse.Namespace) -> int:
    report = Report(quiet=options.json)
    with open_device(options.backend, device=options.device) as device:
        _describe_device(report, device)
        executable = _load(report, device)
        agree = _record_and_replay(report, device, executable, options.count, options.dot)
    report.say("agree", agree, "every replay agrees with numpy" if agree else "a replay DIFFERS from numpy")
    if options.json:
        say_json(report.facts)
    return 0 if agree else 1


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive count")
    return value


def _describe_device(report: Report, device: Device) -> None:
    kind = "virtual: kernels run on the CPU" if device.is_virtual else "real"
    facts = {"name": device.name, "target": str(device.target), "virtual": device.is_virtual, "backend": device.backend}
    report.say("device", facts, f"device     {device.name}, {device.target} ({kind}), backend {device.backend}")


def _load(report: Report, device: Device) -> Executable:
    path = samples.path("demo", device.target)
    started = time.perf_counter()
    executable = device.load(path)
    milliseconds = 1000 * (time.perf_counter() - started)
    verified = executable.verified
    facts = {"file": path.name, "target": str(verified.target), "kernels": list(verified.exports)}
    report.say("verified", facts, f"verified   {path.name}: target {verified.target}, loaded in {milliseconds:.1f} ms")
    for export in verified.exports.values():
        arguments = ", ".join(parameter.label for parameter in export.parameters)
        report.say(f"kernel {export.name}", arguments, f"           {export.name}({arguments})")
    return executable


@dataclass
class Buffers:
    """x is the input; y and z are steps; result is what the copy leaves."""

    x: Buffer
    y: Buffer
    z: Buffer
    result: Buffer


def _record(cb: CommandBuffer, executable: Executable, buffers: Buffers, start: NDArray[np.float32]) -> None:
    count, workgroups = len(start), -(-len(start) // 256)
    cb.update_buffer(buffers.y, start, label="start values")
    cb.execution_barrier()
    saxpy_arguments = [buffers.y, buffers.x, SCALE, count]
    cb.dispatch(executable["saxpy"], workgroup_count=workgroups, workgroup_size=256, args=saxpy_arguments)
    cb.execution_barrier()
    soft_sign_arguments = [buffers.z, buffers.y, count]
    cb.dispatch(executable["soft_sign"], workgroup_count=workgroups, workgroup_size=256, args=soft_sign_arguments)
    cb.execution_barrier()
    cb.copy_buffer(buffers.z, buffers.result)


def _record_and_replay(report: Report, device: Device, executable: Executable, count: int, dot: Path) -> bool:
    start = np.linspace(-1, 1, count, dtype=np.float32)
    buffers = Buffers(*(device.allocate(4 * count, label=name) for name in ("x", "y", "z", "result")))
    started = time.perf_counter()
    with device.command_buffer(label="demo") as cb:
        _record(cb, executable, buffers, start)
    milliseconds = 1000 * (time.perf_counter() - started)
    recording = cb.recording
    facts = {"commands": len(recording), "layers": len(recording.layers), "edges": len(recording.edges)}
    text = ", ".join(f"{number} {noun}" for noun, number in facts.items())
    report.say("recorded", facts, f"recorded   {text}; recorded and instantiated in {milliseconds:.1f} ms")
    write_text(dot, recording.to_dot(), "save")
    report.say("dot", str(dot), f"drawn      {dot}")
    verdicts = [_replay(report, device, cb, buffers, start, replay) for replay in range(3)]
    _write(report, recording, buffers, dot)
    return all(verdicts)


def _write(report: Report, recording: Recording, buffers: Buffers, dot: Path) -> None:
    """The page and the capture file, with the last input and what the last replay left, and what to do with them."""
    page, capture = dot.with_suffix(".html"), dot.with_suffix(".hgcb")
    write_text(page, recording.to_html(), "save")
    report.say("html", str(page), f"page       {page}: open it in a browser")
    contents, expected = ({buffer: buffer.to_host(np.float32)} for buffer in (buffers.x, buffers.result))
    recording.save(capture, contents=contents, expected=expected)
    processor = buffers.x.device.target.processor
    report.say("capture", str(capture), f"saved      {capture}, to be tried on any {processor}, real or virtual:")
    hints = (
        f"hipgraph-cb replay {capture} --verify",
        f"hipgraph-cb replay {capture} --against hip --replace-kernel soft_sign=ANOTHER_BUILD.hsaco",
        f"hipgraph-cb diff {capture} ANOTHER.hgcb",
        f"hipgraph-cb export {capture} --format perfetto -o {dot.with_suffix('.trace')}",
    )
    report.say("try", hints, "\n".join(f"           {hint}" for hint in hints))


def _replay(
    report: Report, device: Device, cb: CommandBuffer, buffers: Buffers, start: NDArray[np.float32], replay: int
) -> bool:
    x = np.random.default_rng(replay).standard_normal(len(start)).astype(np.float32)
    buffers.x.write(x)
    started = time.perf_counter()
    cb.replay()
    device.synchronize()
    milliseconds = 1000 * (time.perf_counter() - started)
    found = buffers.result.to_host(np.float32)
    y = SCALE.astype(np.float64) * x + start
    expected = y / (1 + np.abs(y))
    worst = float(np.max(np.abs(found - expected)))
    agrees = worst <= 1e-6
    facts = {"milliseconds": milliseconds, "largest_error": worst, "agrees": agrees}
    verdict = "agrees with numpy" if agrees else "DIFFERS from numpy"
    report.say(
        f"replay {replay}", facts, f"replay {replay}   {milliseconds:.1f} ms, largest error {worst:.1e}: {verdict}"
    )
    return agrees
