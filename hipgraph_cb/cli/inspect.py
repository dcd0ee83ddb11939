"""`hipgraph-cb inspect FILE`: what is in a code object or a capture, and whether it is sound. No device is opened."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from hipgraph_cb.cli.inspect_capture import MAGIC, capture_text, describe_capture
from hipgraph_cb.cli.output import say, say_json
from hipgraph_cb.code_object.container import CODE_OBJECT, Container, read_container
from hipgraph_cb.code_object.debug_info.debug_info import DebugInfo, Frame
from hipgraph_cb.code_object.debug_info.source_text import described
from hipgraph_cb.code_object.formats import infer_format, support
from hipgraph_cb.code_object.kernel_args import Parameter
from hipgraph_cb.code_object.target_id import TargetId
from hipgraph_cb.code_object.verify import VerifiedExecutable, VerifiedExport, inspect, verify
from hipgraph_cb.code_object.wrapper import flag_names
from hipgraph_cb.errors import HipGraphError, InvalidArgumentError
from hipgraph_cb.files import open_file, read_file
from hipgraph_cb.visible import visible


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        type=Path,
        help="a code object (HSACO), a file with some (bundle, wrapper, host file), or a capture file",
    )
    parser.add_argument("--disassemble", metavar="KERNEL", help="print the instructions of a kernel instead")
    parser.add_argument(
        "--formats", action="store_true", help="print only the format of each code object, and the size"
    )
    parser.add_argument(
        "--target",
        action="append",
        default=[],
        help="also check that it runs on this target, such as gfx942:xnack-; may be given several times",
    )


def run(options: argparse.Namespace) -> int:
    if _is_capture(options.file):
        return _inspect_capture(options)
    data = read_file(options.file, "load")
    if options.formats:
        return _formats(data, options)
    try:
        container = read_container(data)
        listing = _container_facts(container)
        parts = _parts(data, container, options.target)
        del container  # unpacked bundles are large, and may be unpacked again below
        first = _executable(parts[0], options.target)
        found = [] if options.disassemble else [describe(first)]
        found += [describe(_executable(part, options.target)) for part in parts[1:] if found]
    except HipGraphError as error:
        return _unsound(options, error)
    if options.disassemble:
        return _disassemble(first, options.disassemble, options.json)
    loads = {target: _why_not(data, target) for target in options.target} if len(options.target) > 1 else {}
    sound = not any(facts["refused"] for facts in found) and not any(loads.values())
    if options.json:
        objects = found[0] if len(found) == 1 else {"code_objects": found}
        report = {"file": str(options.file), "sound": sound, "container": listing, **objects}
        targets = {"targets": {target: {"loads": not why, "reason": why} for target, why in loads.items()}}
        say_json({**report, **(targets if loads else {})})
    else:
        say(_container_text(options.file, listing), end="")
        say("".join(as_text(options.file, facts) for facts in found), end="")
        say("".join(_target_text(target, why) for target, why in loads.items()), end="")
    return 0 if sound else 1


def _unsound(options: argparse.Namespace, error: HipGraphError) -> int:
    message = {"file": str(options.file), "sound": False, "error": str(error)}
    say_json(message) if options.json else say(f"{options.file}: {error}")
    return 1


def _is_capture(file: Path) -> bool:
    with open_file(file, "load") as opened:
        return opened.read(len(MAGIC)) == MAGIC


def _inspect_capture(options: argparse.Namespace) -> int:
    given = [name for name in ("disassemble", "target", "formats") if getattr(options, name)]
    if given:
        raise InvalidArgumentError(
            "a capture file has no instructions of its own and no target",
            found=f"--{given[0]}",
            next_step="leave it out, or give the code object",
        )
    try:
        facts = describe_capture(options.file)
    except HipGraphError as error:
        return _unsound(options, error)
    say_json(facts) if options.json else say(capture_text(facts))
    return 0


def _formats(data: bytes, options: argparse.Namespace) -> int:
    """The formats of a file, and with --target whether each target takes one of them."""
    try:
        found = infer_format(data)
    except HipGraphError as error:
        return _unsound(options, error)
    takes = {text: support(data, [TargetId.parse(text)]) for text in options.target}
    if options.json:
        facts = {"file": str(options.file), "kind": found.kind, "size": found.size}
        targets = {text: {"loads": bool(each), "reason": each.reason} for text, each in takes.items()}
        say_json({**facts, "formats": [str(target) for target in found.targets], "targets": targets})
    else:
        say(f"{options.file}: {found.kind}, {found.size} bytes")
        say("".join(f"  format {target}\n" for target in found.targets), end="")
        say("".join(f"target {text}: {each.reason or 'loads'}\n" for text, each in takes.items()), end="")
    return 0 if found.targets and all(takes.values()) else 1


def _parts(data: bytes, container: Container, targets: list[str]) -> list[bytes | memoryview]:
    """The file itself for the only target or the only code object, else the bytes of each code object in it."""
    entries = container.code_objects()
    is_one = container.wrapper is not None and all(len(module.code_objects()) == 1 for module in container.modules)
    if len(targets) == 1 or len(entries) < 2 or is_one:
        return [data]
    return [entry.data for entry in entries]


def _executable(part: bytes | memoryview, targets: list[str]) -> VerifiedExecutable:
    return verify(part, targets[0]) if len(targets) == 1 else inspect(part)


def _why_not(data: bytes, target: str) -> str | None:
    try:
        verify(data, target)
    except HipGraphError as error:
        return str(error)
    return None


def _container_facts(container: Container) -> dict[str, Any]:
    rows = [
        {
            "path": entry.path,
            "size": len(entry.data),
            "target": str(entry.target) if entry.target else None,
            "problem": str(entry.problem) if entry.problem else None,
        }
        for entry in container.entries
    ]
    return {"kind": container.kind, "entries": rows}


def _container_text(file: Path, listing: dict[str, Any]) -> str:
    """The container tree; nothing for a file that is a code object itself."""
    if listing["kind"] == CODE_OBJECT:
        return ""
    lines = [f"{file}: {listing['kind']}"]
    for row in listing["entries"]:
        problem, target = row["problem"], row["target"]
        what = problem.splitlines()[0] if problem else f"for {target}" if target else "host code"
        lines.append(f"  {visible(row['path'])}: {what}, {row['size']} bytes")
    return "\n".join(lines) + "\n"


def _target_text(target: str, why: str | None) -> str:
    if why is None:
        return f"target {target}: loads\n"
    return f"target {target}: does not load\n" + "".join(f"  {line}\n" for line in why.splitlines())


def _disassemble(executable: VerifiedExecutable, kernel: str, as_json: bool) -> int:
    from hipgraph_cb.virtual.isa.text.listing import kernel_listing

    lines = list(kernel_listing(executable, kernel))
    if as_json:
        rows = [
            {
                "offset": line.offset,
                "bytes": line.code.hex(),
                "text": line.text,
                "source": [frame._asdict() for frame in line.frames],
            }
            for line in lines
        ]
        say_json({"kernel": kernel, "instructions": rows})
    else:
        say(f"{kernel}:")
        before: tuple[Frame, ...] = ()
        for line in lines:
            if line.frames != before:  # those of many instructions are the same
                before = line.frames
                for what, place in described(line.frames):
                    say(f"; {place}" if what == "source" else f";   {what} {place}")
            say(f"{line.offset:6x}  {line.code.hex():24}  {line.text}")
    return 0


def describe(executable: VerifiedExecutable) -> dict[str, Any]:
    """Everything that `inspect` reports, as plain values."""
    return {
        "target": str(executable.target),
        "code_object_version": executable.code_object_version,
        "sha256": executable.content_hash,
        "kernels": {name: _describe_export(export) for name, export in executable.exports.items()},
        "refused": {name: str(error) for name, error in executable.refused.items()},
        "undescribed": list(executable.undescribed),
        "globals": {name: symbol.size for name, symbol in executable.globals.items()},
        "undefined": list(executable.undefined),
        "debug_info": _debug_info(executable.code_object.debug_info),
        "source_files": {file.path: len(file.content) for file in executable.source_files},
    }


def _debug_info(debug_info: DebugInfo) -> dict[str, Any]:
    """Whether there is any, and what of it could not be read. The parameters were looked at before."""
    problem = debug_info.problem
    return {"present": debug_info.is_there, "problem": None if problem is None else str(problem)}


def _describe_export(export: VerifiedExport) -> dict[str, Any]:
    layout = export.layout
    return {
        "parameters": [_describe_parameter(parameter) for parameter in layout.parameters],
        "hidden": [hidden._asdict() for hidden in layout.hidden],
        "kernarg_size": layout.size,
        "kernarg_alignment": layout.alignment,
        "preloaded_words": export.descriptor.kernarg_preload_length,
        "required_workgroup_size": export.required_workgroup_size,
        "max_flat_workgroup_size": export.max_flat_workgroup_size,
        "lds": export.group_segment_size,
        "scratch": export.private_segment_size,
        "wavefront_size": export.wavefront_size,
        "registers": export.metadata.registers._asdict(),
        "disagreements": list(export.disagreements),
        "origin": layout.origin,
        "module": export.module,
    }


def _describe_parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "label": parameter.label,
        "offset": parameter.offset,
        "size": parameter.size,
        "kind": parameter.kind.value,
        "access": parameter.access,
        "flags": list(flag_names(parameter.flags)),
        "fields": [
            {"name": path, "type": type_.name, "offset": offset, "size": type_.size}
            for path, offset, type_ in (parameter.structure.leaves() if parameter.structure else ())
        ],
    }


def as_text(file: Path, facts: dict[str, Any]) -> str:
    """The facts of `describe`, for people."""
    lines = [f"{file}: {facts['target']}, code object v{facts['code_object_version']}, sha256 {facts['sha256'][:16]}"]
    for name, kernel in facts["kernels"].items():
        lines += [f"kernel {visible(name)}", f"  {_needs(kernel)}"]
        lines += [f"  from {visible(kernel['origin'])}"] if kernel["origin"] else []
        lines += [f"  {text}" for text in kernel["disagreements"]]
        for row in kernel["parameters"]:
            lines.append(", ".join([f"  {row['offset']:4d}  {visible(row['label'])}", *row["flags"]]))
            lines += [f"        .{visible(each['name'])}: {visible(each['type'])}" for each in row["fields"]]
    for name, error in facts["refused"].items():
        lines += [f"kernel {visible(name)} is refused", *(f"  {line}" for line in error.splitlines())]
    lines += [f"kernel {visible(name)} has a descriptor and no metadata" for name in facts["undescribed"]]
    if facts["debug_info"]["problem"]:
        lines += [f"  {line}" for line in facts["debug_info"]["problem"].splitlines()]
    lines += [f"global {visible(name)}: {size} bytes" for name, size in facts["globals"].items()]
    lines += [f"undefined {visible(name)}: needs a constant when it is loaded" for name in facts["undefined"]]
    lines += [f"source file {visible(path)}: {size} bytes" for path, size in facts["source_files"].items()]
    return "\n".join(lines) + "\n"


def _needs(kernel: dict[str, Any]) -> str:
    """What a launch of the kernel takes, in one line; what it does not need is left out."""
    size, registers = kernel["required_workgroup_size"], kernel["registers"]
    parts = [f"workgroup {'x'.join(map(str, size))}" if size else f"<= {kernel['max_flat_workgroup_size']} items"]
    parts.append(f"wave{kernel['wavefront_size']}")
    parts += [f"{registers[key]} {key.upper()[:-1]}s" for key in ("vgprs", "agprs", "sgprs") if registers[key]]
    spilled = sum(registers[key] or 0 for key in ("spilled_vgprs", "spilled_sgprs"))
    parts += [f"{spilled} spilled"] if spilled else []
    parts += [f"{name} {kernel[key]}" for name, key in (("LDS", "lds"), ("scratch", "scratch")) if kernel[key]]
    parts.append(f"kernarg {kernel['kernarg_size']} bytes")
    if kernel["hidden"]:
        parts.append(f"hidden from {min(row['offset'] for row in kernel['hidden'])}")
    if kernel["preloaded_words"]:
        parts.append(f"{kernel['preloaded_words']} words preloaded")
    return ", ".join(parts)
