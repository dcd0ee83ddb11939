"""The formats of buffer elements, which gfx11 has one number for, as data format and number format."""

from __future__ import annotations

from types import MappingProxyType

from hipgraph_cb.virtual.isa.memory.texel_formats import FLOAT, SINT, SNORM, SSCALED, UINT, UNORM, USCALED

_DATA = {
    "8": 1,
    "16": 2,
    "8_8": 3,
    "32": 4,
    "16_16": 5,
    "10_11_11": 6,
    "11_11_10": 7,
    "10_10_10_2": 8,
    "2_10_10_10": 9,
    "8_8_8_8": 10,
    "32_32": 11,
    "16_16_16_16": 12,
    "32_32_32": 13,
    "32_32_32_32": 14,
}
_SCALED = (UNORM, SNORM, USCALED, SSCALED, UINT, SINT)
# in the order of their numbers, from 1 on (RDNA3 ISA, "Data format table")
_ROWS: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("8", _SCALED),
    ("16", (*_SCALED, FLOAT)),
    ("8_8", _SCALED),
    ("32", (UINT, SINT, FLOAT)),
    ("16_16", (*_SCALED, FLOAT)),
    ("10_11_11", (FLOAT,)),
    ("11_11_10", (FLOAT,)),
    ("10_10_10_2", (UNORM, SNORM, UINT, SINT)),
    ("2_10_10_10", _SCALED),
    ("8_8_8_8", _SCALED),
    ("32_32", (UINT, SINT, FLOAT)),
    ("16_16_16_16", (*_SCALED, FLOAT)),
    ("32_32_32", (UINT, SINT, FLOAT)),
    ("32_32_32_32", (UINT, SINT, FLOAT)),
)
NUMBERED = tuple((name, kind) for name, kinds in _ROWS for kind in kinds)
BUFFER_FORMATS = MappingProxyType({number: (_DATA[name], kind) for number, (name, kind) in enumerate(NUMBERED, 1)})
