"""What `hipgraph-cb bench joins` measured on this machine: what `auto` means, by runtime version and device.

It is a small JSON file that a user can read, change and delete; without it `auto` means what `joins.auto_join` says.
"""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hipgraph_cb.errors import HipGraphError
from hipgraph_cb.files import read_file, write_text
from hipgraph_cb.recording.dependencies import AutoJoin, JoinPolicy

if TYPE_CHECKING:
    from hipgraph_cb.hip.api import HipApi

logger = logging.getLogger("hipgraph_cb.hip")

WIDE = (JoinPolicy.EMPTY, JoinPolicy.KERNEL)


def measurements_file() -> Path:
    """`joins.json` in the user's cache folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hipgraph_cb" / "joins.json"


def subject(api: HipApi, device_name: str) -> str:
    """What a measurement is about."""
    return f"{device_name}, HIP runtime {api.call('hipRuntimeGetVersion')}"


def remembered(api: HipApi, device_name: str) -> AutoJoin | None:
    """What was measured for this device and runtime, or None.

    A file that cannot be understood is reported through `logging` and ignored.
    """
    path = measurements_file()
    if not path.is_file():
        return None
    try:
        return _entry(json.loads(read_file(path, "open_device")), subject(api, device_name))
    except (HipGraphError, ValueError, RecursionError) as error:
        logger.warning("measurements of joins are ignored: %s: %s; delete the file, or measure again", path, error)
        return None


def remember(subject: str, auto: AutoJoin) -> Path:
    """Keep a measurement beside those of other devices and runtimes; returns the file.

    Raises:
        FileError: it cannot be written.
    """
    path = measurements_file()
    try:
        known = json.loads(read_file(path, "bench"))
        entries = dict(known) if isinstance(known, dict) else {}
    except (HipGraphError, ValueError, RecursionError):  # none yet, or nothing that could be used
        entries = {}
    entries[subject] = {"edge_limit": auto.edge_limit, "wide": auto.wide.value}
    path.parent.mkdir(parents=True, exist_ok=True)
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
