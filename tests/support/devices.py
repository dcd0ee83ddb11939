"""The virtual GPUs of the process in which the suite runs."""

from __future__ import annotations

VIRTUAL_GPUS = ("gfx942", "gfx1100", "gfx1201")
"""By ordinal. Tests that name no device use the first."""
