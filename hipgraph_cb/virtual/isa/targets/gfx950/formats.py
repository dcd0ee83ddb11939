"""Where the fields of gfx950's instructions are (CDNA 4 ISA document, chapter "Microcode Formats")."""

from __future__ import annotations

from hipgraph_cb.virtual.isa.targets.gfx9.formats import formats

FORMATS = formats(("sc0", "nt", "sc1"), scratch_vectors=True)
