"""Our own kernels: which of the code objects `NAME.PROCESSOR.hsaco` in a folder runs on a target."""

from __future__ import annotations

from pathlib import Path

from hipgraph_cb.code_object.target_id import TargetId, incompatibilities
from hipgraph_cb.errors import UnavailableError


def builtin_code_object(folder: Path, name: str, target: TargetId, missing: str, next_step: str) -> bytes:
    """The code object made for the target, or for the generic target of its family.

    Args:
        missing, next_step: of the message where there is none.

    Raises:
        UnavailableError: there is none.
    """
    files = sorted(folder.glob(f"{name}.*.hsaco"), key=lambda file: ("generic" in file.name, file.name))
    by_processor = {file.name.split(".")[1]: file for file in files}
    for processor, file in by_processor.items():
        if processor == target.processor or not incompatibilities(TargetId.parse(processor), target):
            return file.read_bytes()
    raise UnavailableError(missing, found=str(target), allowed=", ".join(by_processor), next_step=next_step)
