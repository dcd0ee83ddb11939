"""Where the fields of gfx90a's instructions are (CDNA 2 ISA document, chapter "Microcode Formats")."""

from __future__ import annotations

from hipgraph_cb.virtual.isa.targets.form import Format
from hipgraph_cb.virtual.isa.targets.gfx9.formats import formats

_IMAGE = Format(
    "MIMG",
    "111100",
    (18, 7),
    2,
    (
        ("dmask", 8, 4),
        ("unrm", 12, 1),
        ("glc", 13, 1),
        ("da", 14, 1),
        ("a16", 15, 1),
        ("acc", 16, 1),
        ("lwe", 17, 1),
        ("slc", 25, 1),
        ("vaddr", 32, 8),
        ("vdata", 40, 8),
        ("srsrc", 48, 5),
        ("ssamp", 53, 5),
        ("d16", 63, 1),
    ),
)
FORMATS = (*formats(("glc", "slc", "scc"), scratch_vectors=False), _IMAGE)
