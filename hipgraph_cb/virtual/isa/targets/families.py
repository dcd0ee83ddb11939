"""Which family a processor belongs to."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.target import Target

_FAMILIES = {
    "gfx9": ("gfx940", "gfx941", "gfx942", "gfx9-4-generic"),
    "gfx90a": ("gfx90a",),
    "gfx950": ("gfx950",),
    "gfx12": ("gfx1200", "gfx1201", "gfx12-generic"),
    "gfx11": ("gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx11-generic"),
}
_FAMILY_OF = {processor: family for family, processors in _FAMILIES.items() for processor in processors}
PROCESSORS = tuple(sorted(_FAMILY_OF))
"""Those whose code the virtual GPU reads."""


@lru_cache
def target_of(processor: str) -> Target | None:
    """The target of a processor, or None where there is none. Its tables are loaded when it is first asked for."""
    family = _FAMILY_OF.get(processor)
    if family is None:
        return None
    target: Target = import_module(f"hipgraph_cb.virtual.isa.targets.{family}.target").TARGET
    return target
