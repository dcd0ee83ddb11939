"""What `hipgraph-cb bench joins` measured on this machine: what `auto` means, by runtime version and device.

It is a small JSON file that a user can read, change and delete; without it `auto` means what `joins.auto_join` says.
"""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hipgraph_cb.errors import HipGraphError, MissingFileError, NotFoundError
from hipgraph_cb.files import make_folder, read_file, write_text
from hipgraph_cb.recording.dependencies import AutoJoin, JoinPolicy

if TYPE_CHECKING:
    from hipgraph_cb.hip.api import HipApi

logger = logging.getLogger("hipgraph_cb.hip")

WIDE = (JoinPolicy.EMPTY, JoinPolicy.KERNEL)


def measurements_file() -> Path | None:
    """`joins.json` in the user's cache folder; None for a user without a home, where no other folder is named."""
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # what Path.home() raises then
        return None
    return folder / "hipgraph_cb" / "joins.json"


def subject(api: HipApi, device_name: str) -> str:
    """What a measurement is about."""
    return f"{device_name}, HIP runtime {api.call('hipRuntimeGetVersion')}"


def remembered(api: HipApi, device_name: str) -> AutoJoin | None:
    """What was measured for this device and runtime, or None.

    A file that cannot be understood is reported through `logging` and ignored.
    """
    path = measurements_file()
    if path is None:
        return None
    try:
        return _entry(json.loads(read_file(path, "open_device")), subject(api, device_name))
    except MissingFileError:
        return None
    except (HipGraphError, ValueError, RecursionError) as error:
        logger.warning("measurements of joins are ignored: %s: %s; delete the file, or measure again", path, error)
        return None


def remember(subject: str, auto: AutoJoin) -> Path:
    """Keep a measurement beside those of other devices and runtimes; returns the file.

    Raises:
        FileError: it cannot be written.
        NotFoundError: the user has no home, and no other folder is named.
    """
    path = measurements_file()
    if path is None:
        raise NotFoundError(
            "bench: there is no folder to keep measurements in",
            found="a user without a home",
            next_step="name one in the environment variable XDG_CACHE_HOME",
        )
    try:
        known = json.loads(read_file(path, "bench"))
        entries = dict(known) if isinstance(known, dict) else {}
    except (HipGraphError, ValueError, RecursionError):  # none yet, or nothing that could be used
        entries = {}
    entries[subject] = {"edge_limit": auto.edge_limit, "wide": auto.wide.value}
    make_folder(path.parent, "bench")
    write_text(path, json.dumps(entries, indent=2, sort_keys=True) + "\n", "bench")
    return path


def _entry(entries: Any, subject: str) -> AutoJoin | None:
    if not isinstance(entries, dict):
        raise ValueError(f"a {type(entries).__name__} where an object is expected")
    entry = entries.get(subject)
    if entry is None:
        return None
    limit, wide = (entry.get("edge_limit"), entry.get("wide")) if isinstance(entry, dict) else (None, None)
    if type(limit) is not int or limit < 0 or wide not in [policy.value for policy in WIDE]:
        raise ValueError(f"the entry of {subject!r} is {entry!r}")
    return AutoJoin(limit, JoinPolicy(wide))
