"""`hipgraph-cb doctor`: versions, which libamdhip64 and why, devices, what is virtual and what is approximate."""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hipgraph_cb import __version__
from hipgraph_cb.cli.output import say, say_json
from hipgraph_cb.errors import HipGraphError
from hipgraph_cb.opening import open_device, process_choice, virtual_runtime

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.target import Target

PACKAGES = ("hip-python", "numpy", "msgpack")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", type=int, default=0, help="ordinal of the device (default: 0)")
    parser.add_argument(
        "--isa",
        metavar="TARGET",
        help="list each instruction as done, approximate, excluded or absent, and the file that holds it, instead",
    )
    parser.add_argument(
        "--functions", action="store_true", help="list each function of hip-python as implemented or absent instead"
    )


def run(options: argparse.Namespace) -> int:
    if options.isa:
        facts = _instruction_facts(options.isa)
        say_json(facts) if options.json else say(_as_text(facts))
        return 0
    if options.functions:
        facts = _function_facts()
        say_json(facts) if options.json else say(_as_text(facts))
        return 0
    return _report(options)


def _function_facts() -> dict[str, Any]:
    """The functions of hip-python and those beyond them, with their state in the virtual libamdhip64."""
    from hipgraph_cb.virtual.hip.absent import GROUPS
    from hipgraph_cb.virtual.hip.function_list import function_states

    states = function_states()
    titles = {group.title: group.reason for group in GROUPS}
    return {
        "counts": {
            "of hip-python": sum(state != "beyond hip-python" for state in states.values()),
            **{state: list(states.values()).count(state) for state in ("implemented", "beyond hip-python")},
            "absent": sum(state in titles for state in states.values()),
        },
        "absent because": titles,
        "functions": states,
    }


def _instruction_facts(target: str) -> dict[str, Any]:
    from hipgraph_cb.virtual.isa.core.fidelity import DIFFERENCES
    from hipgraph_cb.virtual.isa.execution.coverage import coverage, known_target

    known = known_target(target)
    formats = coverage(target)
    states = [state for mnemonics in formats.values() for state in mnemonics.values()]
    kinds = ("done", "approximate", "excluded", "absent") if known.executes else ("only read",)
    counts = {state: states.count(state) for state in kinds}
    return {
        "target": target,
        "source": known.source,
        "counts": counts,
        "exclusions": {reason: list(names) for reason, names in known.exclusions.items()},
        "differences": dict(DIFFERENCES),
        "instructions": formats,
        "homes": _homes(_operations(known, formats)),
    }


def _operations(target: Target, formats: dict[str, dict[str, str]]) -> dict[str, str]:
    """What each instruction does, of those that are executed."""
    if not target.executes:
        return {}
    return {name: target.operation_name(name) for names in formats.values() for name in sorted(names)}


def _homes(operations: dict[str, str]) -> dict[str, str]:
    """The file that gives each instruction its meaning: families are built from parts, so a search may not find it."""
    from hipgraph_cb.virtual.isa.core.registry import home_of

    homes = {mnemonic: home_of(operation) for mnemonic, operation in sorted(operations.items())}
    return {mnemonic: home.replace(".", "/") + ".py" for mnemonic, home in homes.items() if home is not None}


def _report(options: argparse.Namespace) -> int:
    facts: dict[str, Any] = {"versions": _versions()}
    status = 0
    try:
        facts |= _device_facts(options.device)
    except HipGraphError as error:
        facts["error"] = str(error)
        status = 2
    say_json(facts) if options.json else say(_as_text(facts))
    return status


def _versions() -> dict[str, str]:
    versions = {"hipgraph_cb": __version__, "python": platform.python_version(), "system": platform.platform()}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return versions


def _device_facts(ordinal: int) -> dict[str, Any]:
    choice = process_choice()
    facts: dict[str, Any] = {"choice": {"virtual": choice.is_virtual, "reason": choice.reason}}
    with open_device(device=ordinal) as device:
        facts["library"] = hip_library()
        facts["device"] = {
            "ordinal": ordinal,
            "name": device.name,
            "target": str(device.target),
            "virtual": device.is_virtual,
            "limits": {name: getattr(device.limits, name) for name in device.limits.__dataclass_fields__},
        }
        if device.is_virtual:
            from hipgraph_cb.virtual.hip.deviations import NOT_COPIED
            from hipgraph_cb.virtual.isa.core.fidelity import DIFFERENCES
            from hipgraph_cb.virtual.isa.core.lane_loops import LOOPS
            from hipgraph_cb.virtual.settings import SCHEDULES

            schedule = virtual_runtime().settings.schedule
            facts["device"]["schedule"] = f"{schedule}: {SCHEDULES[schedule]}"
            facts["device"]["lanes"] = "numpy alone" if LOOPS is None else "numpy, and machine code for AVX2 and FMA"
            facts["approximate"] = dict(DIFFERENCES)
            facts["not copied from AMD's runtime"] = dict(NOT_COPIED)
    return facts


def hip_library() -> list[str]:
    """The files mapped into this process that answer for libamdhip64."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    names = {line.split(None, 5)[5] for line in maps if "amdhip64" in line}
    return sorted(names)


def _as_text(facts: dict[str, Any], indent: str = "") -> str:
    lines = []
    for key, value in facts.items():
        if isinstance(value, dict):
            lines += [f"{indent}{key}:", _as_text(value, indent + "  ")]
        elif isinstance(value, list):
            lines.append(f"{indent}{key}: {', '.join(map(str, value))}")
        else:
            lines.append(f"{indent}{key}: {value}")
    return "\n".join(lines)
