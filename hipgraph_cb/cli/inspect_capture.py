"""What `hipgraph-cb inspect` says of a capture file. No device is opened."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hipgraph_cb.capture.hgcb import load
from hipgraph_cb.export.describe import title
from hipgraph_cb.recording.commands import KernelLaunch
from hipgraph_cb.visible import visible

if TYPE_CHECKING:
    from hipgraph_cb.capture.capture import Capture

MAGIC = b"PK\3\4"
"""How a capture file begins, and no code object."""


def describe_capture(file: Path) -> dict[str, Any]:
    """Everything that is reported, as plain values.

    Raises:
        HipGraphError: the file cannot be read, or is no sound capture.
    """
    capture = load(file)
    recording = capture.recording
    launches, others = Counter[str](), Counter[str]()
    for command in recording:
        if isinstance(command, KernelLaunch):
            launches[command.export] += 1
        else:
            others[title(command)] += 1
    return {
        "file": str(file),
        "sound": True,
        "producer": capture.producer,
        "recording": recording.label,
        "commands": len(recording),
        "layers": len(recording.layers),
        "launches": dict(launches),
        "others": dict(others),
        "buffers": [_buffer(capture, id) for id in sorted(recording.resources.buffers)],
        "slots": [_slot(capture, slot) for slot, use in enumerate(recording.slots) if use.commands],
        "code_objects": [
            {
                "id": entry.id,
                "label": entry.label,
                "target": str(entry.verified.target),
                "sha256": entry.content_hash,
                "kernels": len(entry.verified.exports),
                "constants": {name: value.hex() for name, value in entry.verified.constants.items()},
            }
            for entry in recording.resources.executables.values()
        ],
    }


def _buffer(capture: Capture, id: int) -> dict[str, Any]:
    entry = capture.recording.resources.buffers[id]
    return {
        "id": id,
        "label": entry.label,
        "size": entry.size,
        "memory": entry.memory,
        "contents": id in capture.contents,
        "expected": capture.expected[id].dtype if id in capture.expected else None,
    }


def _slot(capture: Capture, slot: int) -> dict[str, Any]:
    use = capture.recording.slots[slot]
    return {
        "index": slot,
        "name": capture.recording.slot_names.get(slot),
        "type": use.type,
        "least_bytes": None if use.type else use.end,
        "commands": len(use.commands),
    }


def capture_text(facts: dict[str, Any]) -> str:
    """The facts of `describe_capture`, for people."""
    label = "a recording" if facts["recording"] is None else f"recording {visible(facts['recording'])!r}"
    commands, layers = _counted(facts["commands"], "command"), _counted(facts["layers"], "layer")
    lines = [f"{facts['file']}: {label} of {commands} in {layers}, written by {visible(facts['producer'])}"]
    lines += [
        f"kernel {visible(name)}: {_counted(count, 'dispatch', 'es')}" for name, count in facts["launches"].items()
    ]
    lines += [f"{visible(name)}: {_counted(count, 'command')}" for name, count in facts["others"].items()]
    for row in facts["buffers"]:
        known = [f"expected as {row['expected']}"] if row["expected"] else []
        known = (["contents"] if row["contents"] else []) + known
        lines.append(f"{_name('buffer', row['id'], row['label'])}: " + ", ".join(_memory(row) + known))
    for row in facts["slots"]:
        least = f"memory of {row['least_bytes']} bytes or more" if row["least_bytes"] else "memory"
        what = f"a number of type {row['type']}" if row["type"] else least
        lines.append(f"{_name('slot', row['index'], row['name'])}: {what}, {_counted(row['commands'], 'command')}")
    for row in facts["code_objects"]:
        kernels = _counted(row["kernels"], "kernel")
        name = _name("code object", row["id"], row["label"])
        lines.append(f"{name}: {row['target']}, {kernels}, sha256 {row['sha256'][:16]}")
        lines += [f"  constant {visible(constant)} = {value}" for constant, value in row["constants"].items()]
    return "\n".join(lines)


def _memory(row: dict[str, Any]) -> list[str]:
    return [f"{row['size']} bytes", *([] if row["memory"] == "device" else [row["memory"]])]


def _name(kind: str, number: int, label: str | None) -> str:
    return f"{kind} {number}" if label is None else f"{kind} {number} `{visible(label)}`"


def _counted(count: int, what: str, plural: str = "s") -> str:
    return f"{count} {what}{'' if count == 1 else plural}"
