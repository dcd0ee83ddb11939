"""The virtual GPUs of the process in which the suite runs."""

from __future__ import annotations

from contextlib import contextmanager

from hipgraph_cb.opening import virtual_runtime

VIRTUAL_GPUS = ("gfx942", "gfx1100", "gfx1201", *["gfx942"] * 5)
"""By ordinal. Tests that name no device use the first."""
OF_ONE_TARGET = (0, 3, 4, 5)
"""The ordinals of those that make a group for one code object."""


@contextmanager
def no_peer_access(backend):
    """The virtual GPUs of this process say that none can access the memory of the others."""
    settings = virtual_runtime(backend).settings
    object.__setattr__(settings, "peer_access", "none")  # a setting is for the life of a process, but not for the suite
    try:
        yield
    finally:
        object.__setattr__(settings, "peer_access", "all")
