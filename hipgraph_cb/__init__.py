"""Record AMD GPU work once, replay it many times, see what it does, and test it without a GPU.

The public names are loaded on first use, so that `import hipgraph_cb` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from hipgraph_cb.version import __version__ as __version__

if TYPE_CHECKING:
    from hipgraph_cb.errors import HipGraphError as HipGraphError
    from hipgraph_cb.opening import load_recording as load_recording
    from hipgraph_cb.opening import open_device as open_device
    from hipgraph_cb.recording.recording import Recording as Recording
    from hipgraph_cb.recording.resources import Slot as Slot
    from hipgraph_cb.virtual.settings import VirtualSettings as VirtualSettings

_HOMES = {
    "HipGraphError": "hipgraph_cb.errors",
    "Recording": "hipgraph_cb.recording.recording",
    "Slot": "hipgraph_cb.recording.resources",
    "load_recording": "hipgraph_cb.opening",
    "VirtualSettings": "hipgraph_cb.virtual.settings",
    "open_device": "hipgraph_cb.opening",
}

__all__ = ["HipGraphError", "Recording", "Slot", "VirtualSettings", "__version__", "load_recording", "open_device"]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
