"""The virtual GPUs of the process in which the suite runs."""

from __future__ import annotations

VIRTUAL_GPUS = ("gfx942", "gfx1100", "gfx1201", *["gfx942"] * 5)
"""By ordinal. Tests that name no device use the first."""
OF_ONE_TARGET = (0, 3, 4, 5)
"""The ordinals of those that make a group for one code object."""
