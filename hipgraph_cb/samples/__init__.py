"""Small kernels to try things with, built for several targets; their sources are the `.cl` files beside this one."""

from __future__ import annotations

from pathlib import Path

from hipgraph_cb.code_object.target_id import TargetId
from hipgraph_cb.errors import NotFoundError

_FOLDER = Path(__file__).parent


def path(name: str, target: TargetId | str) -> Path:
    """The file of a sample's code object for a target.

    Args:
        name: `"saxpy"`, `"pipeline"` or `"demo"`.
        target: what it is to run on, such as `device.target` or `"gfx942"`.

    Raises:
        NotFoundError: there is no such sample, or none for this target.
        InvalidArgumentError: `target` is no target ID.
    """
    wanted = target if isinstance(target, TargetId) else TargetId.parse(target)
    file = _FOLDER / f"{name}.{wanted.processor}.hsaco"
    if file.is_file():
        return file
    raise NotFoundError(
        f"no sample {name!r} for {wanted.processor}",
        allowed=", ".join(sorted(other.name.removesuffix(".hsaco") for other in _FOLDER.glob("*.hsaco"))),
        next_step=f"build one of the .cl files in {_FOLDER} for it with clang, as provenance.json there says",
    )
