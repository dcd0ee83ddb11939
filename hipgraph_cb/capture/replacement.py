"""Another build of a kernel in the place of the recorded one."""

from __future__ import annotations

import difflib
from dataclasses import replace
from typing import TYPE_CHECKING

from hipgraph_cb.code_object.constants import with_constants
from hipgraph_cb.code_object.kernel_args import KernargLayout
from hipgraph_cb.errors import InvalidArgumentError, NotFoundError
from hipgraph_cb.recording.commands import Command, Dispatch, DispatchIndirect
from hipgraph_cb.recording.recording import Recording, with_commands, with_resources
from hipgraph_cb.recording.resources import ExecutableEntry, RecordingEntry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hipgraph_cb.code_object.verify import VerifiedExecutable, VerifiedExport


def with_kernel(
    recording: Recording, kernel: str, verified: VerifiedExecutable, label: str | None = None
) -> tuple[Recording, list[str]]:
    """The recording with every dispatch of `kernel`, nested ones included, going to another code object.

    Executables that no dispatch needs any more are left out.

    Returns:
        The recording, and what differs between the kernels, their signature apart, a line each.

    Raises:
        NotFoundError: nothing dispatches such a kernel, or the code object has none of that name.
        InvalidArgumentError: the kernels have different signatures; the difference is part of the message.
    """
    dispatched = _kernels(recording)
    if kernel not in dispatched:
        names = ", ".join(sorted(dispatched))
        raise NotFoundError(f"the recording dispatches no kernel {kernel!r}", allowed=names or "it dispatches none")
    verified = with_constants(verified, _constants(kernel, dispatched[kernel]))
    new = verified.export(kernel)
    lines: list[str] = []
    for entry in dispatched[kernel]:
        replaced = entry.verified.export(kernel)
        _check_signature(kernel, replaced.layout, new.layout)
        lines += _differences(entry.verified, replaced, verified, new)
    table = recording.resources
    named = {*table.buffers, *table.executables, *table.events, *table.recordings}
    ids = {*named, *table.functions, *table.channels}
    added = ExecutableEntry(max(ids) + 1, label, verified.content_hash, verified)
    return _replaced(recording, kernel, added), lines


def _constants(kernel: str, entries: list[ExecutableEntry]) -> Mapping[str, bytes]:
    """The constants that the kernel was recorded with, which the other code object gets too."""
    first, *others = (entry.verified.constants for entry in entries)
    if any(other != first for other in others):
        raise InvalidArgumentError(
            f"the recording has kernel {kernel!r} with several sets of constants",
            found=", ".join(entry.name for entry in entries)[:200],
        )
    return first


def _kernels(recording: Recording) -> dict[str, list[ExecutableEntry]]:
    """The kernels that are dispatched, with the executables they are in."""
    found: dict[str, dict[int, ExecutableEntry]] = {}
    nested = [entry.recording for entry in recording.resources.recordings.values()]
    for each in (recording, *nested):
        for command in each:
            if isinstance(command, (Dispatch, DispatchIndirect)):
                entry = recording.resources.executables[command.executable]
                found.setdefault(command.export, {})[entry.id] = entry
    return {name: list(entries.values()) for name, entries in found.items()}


def _check_signature(kernel: str, old: KernargLayout, new: KernargLayout) -> None:
    if old.takes_the_same(new):
        return
    change = difflib.unified_diff(
        old.signature().splitlines()[1:],
        new.signature().splitlines()[1:],
        "recorded",
        "replacement",
        lineterm="",
        n=9,
    )
    raise InvalidArgumentError(
        f"the replacement of kernel {kernel!r} has another signature",
        next_step="replace a kernel by one with the same parameters, or record again",
        detail="\n".join(change),
    )


def _differences(
    old_code: VerifiedExecutable, old: VerifiedExport, code: VerifiedExecutable, new: VerifiedExport
) -> list[str]:
    pairs = (
        ("code", old_code.content_hash[:16], code.content_hash[:16]),
        ("target", old_code.target, code.target),
        ("LDS", old.group_segment_size, new.group_segment_size),
        ("scratch", old.private_segment_size, new.private_segment_size),
        ("kernarg size", old.layout.size, new.layout.size),
        ("hidden arguments", len(old.layout.hidden), len(new.layout.hidden)),
        ("required workgroup size", old.required_workgroup_size, new.required_workgroup_size),
        ("largest workgroup", old.max_flat_workgroup_size, new.max_flat_workgroup_size),
    )
    return [f"{what}: {before} -> {after}" for what, before, after in pairs if str(before) != str(after)]


def _replaced(recording: Recording, kernel: str, added: ExecutableEntry) -> Recording:
    nested: dict[int, RecordingEntry] = {}
    for id, entry in sorted(recording.resources.recordings.items()):
        nested[id] = entry._replace(recording=_one(entry.recording, kernel, added, nested))
    return _one(recording, kernel, added, nested)


def _one(recording: Recording, kernel: str, added: ExecutableEntry, nested: dict[int, RecordingEntry]) -> Recording:
    table = recording.resources
    inner = {id: nested[id] for id in table.recordings}
    commands = [_redirected(command, kernel, added) for command in recording]
    used = {command.executable for command in commands if isinstance(command, (Dispatch, DispatchIndirect))}
    used.update(id for entry in inner.values() for id in entry.recording.resources.executables)
    executables = {**table.executables, added.id: added}
    return with_resources(
        with_commands(recording, commands),
        replace(
            table,
            executables={id: entry for id, entry in executables.items() if id in used},
            recordings=inner,
            bound={id: value for id, value in table.bound.items() if id not in table.executables or id in used},
        ),
    )


def _redirected(command: Command, kernel: str, added: ExecutableEntry) -> Command:
    if not isinstance(command, (Dispatch, DispatchIndirect)) or command.export != kernel:
        return command
    layout = added.verified.export(kernel).layout
    extent = max((row.offset + row.size for row in layout.parameters), default=0)
    block = command.kernarg[:extent].ljust(layout.size, b"\0")
    return command._replace(executable=added.id, kernarg=block)
