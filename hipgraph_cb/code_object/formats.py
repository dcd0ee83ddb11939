"""Formats of executables: which one a file has, and whether a device takes it.

The name of a format is the target that the ELF flags state, such as `gfx942:sramecc+:xnack-`; what a wrapper or the
triple of a bundle says about it does not decide.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass

from hipgraph_cb.code_object.container import Container, read_container
from hipgraph_cb.code_object.extent import infer_size
from hipgraph_cb.code_object.target_id import HSA_PREFIX, TargetId, describe_mismatch, incompatibilities
from hipgraph_cb.errors import HipGraphError, InvalidArgumentError, OutOfRangeError
from hipgraph_cb.files import file_path, read_file

Source = str | os.PathLike[str] | bytes | bytearray | memoryview


@dataclass(frozen=True)
class Format:
    """What a file is.

    Attributes:
        kind: "code object", "offload bundle", "fat binary", or the wrapper that it is in.
        targets: of the sound code objects in it, in the order of the file.
        size: bytes from the start to the end of what it is; there may be more behind.
    """

    kind: str
    targets: tuple[TargetId, ...]
    size: int

    def __str__(self) -> str:
        """The names of the formats, with commas between."""
        return ", ".join(map(str, self.targets))


@dataclass(frozen=True)
class Support:
    """Whether a device takes a format; true where it does.

    Attributes:
        isa: the instruction set of the device that runs it; None where none does.
        reason: why none does.
    """

    isa: TargetId | None
    reason: str | None = None

    def __bool__(self) -> bool:
        return self.isa is not None


def infer_format(data: bytes | bytearray | memoryview | os.PathLike[str], size: int | None = None) -> Format:
    """Find out the format of a code object or of a container with some.

    Args:
        data: its bytes, or the path of a file.
        size: how many of the bytes it takes; None reads it from the file's own tables, for memory with more behind it.

    Raises:
        InvalidArgumentError: no bytes, or no form of file that this package knows.
        OutOfRangeError: the bytes end before what the tables claim, or before `size`.
        The errors of `read_container`.
    """
    view = _bytes(data)
    if size is None:
        size = infer_size(lambda offset, length: bytes(view[offset : offset + length]), len(view))
    elif size > len(view):
        raise OutOfRangeError("infer_format: there are fewer bytes", found=str(size), allowed=f"0 to {len(view)}")
    container = read_container(view[:size])
    return Format(container.kind, tuple(entry.target for entry in container.code_objects() if entry.target), size)


def support(source: Source, isas: Collection[TargetId]) -> Support:
    """Whether a device with these instruction sets takes a format: its name as text, or a file or its bytes.

    Text that names no target of AMD GPUs is a format that no device takes, and so is a file that is not sound.

    Raises:
        InvalidArgumentError: text that begins as a target and is none.
        FileError: the file cannot be read.
    """
    if isinstance(source, str):
        if not source.startswith(("gfx", HSA_PREFIX)):
            return Support(None, f"{source!r} names no target of AMD GPUs")
        return _of_targets([TargetId.parse(source)], isas)
    view = _bytes(source)
    try:
        container = read_container(view)
    except HipGraphError as error:
        return Support(None, str(error))
    entries = container.code_objects()
    if not entries:
        return Support(None, _problems(container))
    return _of_targets([entry.target for entry in entries if entry.target], isas)


def _of_targets(targets: list[TargetId], isas: Collection[TargetId]) -> Support:
    reasons = []
    for target in targets:
        for isa in sorted(isas, key=lambda each: each.is_generic):
            differing = incompatibilities(target, isa)
            if not differing:
                return Support(isa)
            reasons.append(f"{describe_mismatch(target, differing)} does not run on {isa}")
    return Support(None, "; ".join(reasons))


def _problems(container: Container) -> str:
    listed = "; ".join(f"{entry.path}: {entry.state}" for entry in container.entries)
    return f"the {container.kind} holds no AMD GPU code object" + (f": {listed}" if listed else "")


def _bytes(data: object) -> memoryview:
    if isinstance(data, os.PathLike):
        return memoryview(read_file(file_path(data, "infer_format"), "infer_format"))
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise InvalidArgumentError(
            "infer_format: not a code object", found=type(data).__name__, allowed="bytes, or the path of a file"
        )
    return memoryview(data).cast("B")
