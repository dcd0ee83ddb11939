"""`hipgraph-cb bench joins`: what a barrier between two wide layers should become on this device.

For each policy and each width of the layers it replays a recording of kernels that do nothing and waits for it, the
policies taking turns. The best of several is shown, since other load of the machine only adds time. "host" is the
part of it that the call of `replay` takes. On a GPU the result is kept, and `auto` follows it from then on.
"""

from __future__ import annotations

import argparse
import math
from time import perf_counter
from typing import TYPE_CHECKING, Any

from hipgraph_cb.cli.output import say, say_json
from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.hip.api import HipApi
from hipgraph_cb.hip.join_measurements import WIDE, remember, subject
from hipgraph_cb.hip.joins import code_for
from hipgraph_cb.opening import open_device
from hipgraph_cb.recording.dependencies import AutoJoin, JoinPolicy

if TYPE_CHECKING:
    from hipgraph_cb.runtime.device import Device
    from hipgraph_cb.runtime.executable import Export
    from hipgraph_cb.runtime.program import Program

WIDTHS = (4, 8, 16, 32, 128)
KERNELS = 1024
KERNELS_ON_CPU = 256
REPEATS = 10
CLOSE = 1.05
"""Edges are kept unless a node takes less than their time by more than this factor: so much is noise."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=["joins"], help="what to measure")
    parser.add_argument("--device", type=int, default=0, help="ordinal of the device (default: 0)")
    parser.add_argument("--widths", type=_numbers, default=WIDTHS, metavar="N,N,...", help="commands in each layer")
    parser.add_argument("--kernels", type=int, help=f"kernels in each recording (default: about {KERNELS})")
    parser.add_argument("--repeats", type=int, default=REPEATS, help=f"replays of each (default: {REPEATS})")


def run(options: argparse.Namespace) -> int:
    if min(options.widths) < 1 or options.repeats < 1 or (options.kernels is not None and options.kernels < 1):
        raise InvalidArgumentError("widths, kernels and repeats are counts", allowed="1 or more")
    with open_device("hip", device=options.device) as device:
        kernels = options.kernels or (KERNELS_ON_CPU if device.is_virtual else KERNELS)
        export = device.load(code_for(device.target), label="the join kernel")["join"]
        rows = [row for width in options.widths for row in _measure(device, export, width, kernels, options.repeats)]
        facts = {
            "device": {"name": device.name, "target": str(device.target), "virtual": device.is_virtual},
            "kernels": kernels,
            "rows": rows,
            "mean_us": _means(rows),
            "auto": None if device.is_virtual else _remember(device, rows),
        }
    say_json(facts) if options.json else say(_as_text(facts))
    return 0


def _remember(device: Device, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What is measured on a virtual device says nothing about a GPU, and is not kept."""
    auto = measured_auto(rows)
    about = subject(HipApi(device.ordinal), device.name)
    file = remember(about, auto)
    return {"subject": about, "edge_limit": auto.edge_limit, "wide": auto.wide.value, "file": str(file)}


def measured_auto(rows: list[dict[str, Any]]) -> AutoJoin:
    """What `auto` should mean by these rows: edges up to the widest layers for which no node is faster, and beyond them
    the node with the least geometric mean.
    """
    times = {(row["policy"], row["width"]): row["replay_us"] for row in rows}
    widths = sorted({row["width"] for row in rows})
    limit = 0
    for width in widths:
        if times["edges", width] > CLOSE * min(times["empty", width], times["kernel", width]):
            break
        limit = width * width
    beyond = [width for width in widths if width * width > limit] or widths
    means = {policy: _geometric_mean([times[policy.value, width] for width in beyond]) for policy in WIDE}
    return AutoJoin(limit, min(means, key=lambda policy: means[policy]))


def _means(rows: list[dict[str, Any]]) -> dict[str, float]:
    """For each policy the geometric mean over the widths."""
    return {
        policy.value: round(_geometric_mean(chosen), 1)
        for policy in JoinPolicy
        if (chosen := [row["replay_us"] for row in rows if row["policy"] == policy.value])
    }


def _geometric_mean(times: list[float]) -> float:
    return math.exp(sum(map(math.log, times)) / len(times))


def _measure(device: Device, export: Export, width: int, kernels: int, repeats: int) -> list[dict[str, Any]]:
    """A row for each policy."""
    layers = max(kernels // width, 1)
    built = {policy: _build(device, export, policy, layers, width) for policy in JoinPolicy}
    times: dict[JoinPolicy, list[tuple[float, float]]] = {policy: [] for policy in JoinPolicy}
    for _ in range(repeats + 1):
        for policy, (program, _seconds) in built.items():
            times[policy].append(_replay(device, program))
    rows = []
    for policy, (program, seconds) in built.items():
        program.close()
        warm = times[policy][1:]
        rows.append(
            {
                "policy": policy.value,
                "width": width,
                "layers": layers,
                "build_us_per_kernel": round(seconds / (layers * width) * 1e6, 2),
                "replay_us": round(min(total for total, _ in warm) * 1e6, 1),
                "host_us": round(min(host for _, host in warm) * 1e6, 1),
            }
        )
    return rows


def _build(device: Device, export: Export, policy: JoinPolicy, layers: int, width: int) -> tuple[Program, float]:
    """The program, and the seconds it took to record and to build."""
    started = perf_counter()
    with device.command_buffer(label=f"{layers} layers of {width}", join=policy) as cb:
        for _ in range(layers):
            for _ in range(width):
                cb.dispatch(export, 1, 1)
            cb.execution_barrier()
    return cb.program, perf_counter() - started


def _replay(device: Device, program: Program) -> tuple[float, float]:
    """Seconds until one replay was done, and until the call returned."""
    started = perf_counter()
    program.replay()
    returned = perf_counter()
    device.synchronize()
    return perf_counter() - started, returned - started


def _as_text(facts: dict[str, Any]) -> str:
    device = facts["device"]
    lines = [f"{device['name']}, {device['target']}; about {facts['kernels']} kernels that do nothing, in layers"]
    if device["virtual"]:
        lines.append("a virtual device: the figures describe this library on this CPU, not a GPU")
    lines.append(f"{'width':>6} {'policy':<7} {'replay us':>10} {'host us':>9} {'build us/kernel':>16}")
    lines += [
        f"{row['width']:>6} {row['policy']:<7} {row['replay_us']:>10.1f} {row['host_us']:>9.1f} "
        f"{row['build_us_per_kernel']:>16.2f}"
        for row in facts["rows"]
    ]
    means = ", ".join(f"{policy} {mean:.1f}" for policy, mean in facts["mean_us"].items())
    lines.append(f"geometric mean over the widths, us: {means}")
    auto = facts["auto"]
    if auto is None:
        lines.append("nothing is kept: measure on a GPU")
    else:
        lines += [
            f"auto now means: edges up to {auto['edge_limit']} (fan-in x fan-out), beyond that {auto['wide']!r}",
            f"kept for {auto['subject']} in {auto['file']}; delete the file to forget it",
        ]
    return "\n".join(lines)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(","))
