"""Where the fields of gfx12's instructions are (RDNA 4 ISA document, chapter "Microcode Formats")."""

from __future__ import annotations

from hipgraph_cb.virtual.isa.targets.form import Format
from hipgraph_cb.virtual.isa.targets.gfx11 import formats as gfx11

_SAME = (
    "SOP1",
    "SOP2",
    "SOPC",
    "SOPK",
    "SOPP",
    "VOP1",
    "VOP2",
    "VOPC",
    "VOP3SD",
    "VOP3",
    "VOP3P",
    "VINTERP",
    "VOPD",
    "EXP",
)
_POLICY = (("scope", 50, 2), ("th", 52, 3))
_SEGMENT = (
    ("saddr", 0, 7),
    ("nv", 7, 1),
    ("vdst", 32, 8),
    ("scale_offset", 48, 1),
    ("sve", 49, 1),
    *_POLICY,
    ("data", 55, 8),
    ("addr", 64, 8),
    ("offset", 72, -24),
)
_BUFFER = (
    ("soffset", 0, 7),
    ("nv", 7, 1),
    ("tfe", 22, 1),
    ("vdata", 32, 8),
    ("srsrc", 41, 9),
    *_POLICY,
    ("format", 55, 7),
    ("offen", 62, 1),
    ("idxen", 63, 1),
    ("vaddr", 64, 8),
    ("offset", 72, -24),
)
_IMAGE = (
    ("dim", 0, 3),
    ("dmask", 22, 4),
    ("vdata", 32, 8),
    ("srsrc", 41, 9),
    *_POLICY,
    ("vaddr", 64, 8),
)

FORMATS = (
    *(kind for kind in gfx11.FORMATS if kind.name in _SAME),
    Format(
        "SMEM",
        "111101",
        (13, 6),
        2,
        (
            ("sbase", 0, 6),
            ("sdata", 6, 7),
            ("nv", 20, 1),
            ("scope", 21, 2),
            ("th", 23, 2),
            ("offset", 32, -24),
            ("scale_offset", 56, 1),
            ("soffset", 57, 7),
        ),
    ),
    Format(
        "LDSDIR",
        "11001110",
        (20, 2),
        1,
        (("vdst", 0, 8), ("attr_chan", 8, 2), ("attr", 10, 6), ("wait_va_vdst", 16, 4), ("wait_vm_vsrc", 23, 1)),
    ),
    Format(
        "DS",
        "110110",
        (18, 8),
        2,
        (
            ("offset0", 0, 8),
            ("offset1", 8, 8),
            ("addr", 32, 8),
            ("data0", 40, 8),
            ("data1", 48, 8),
            ("vdst", 56, 8),
        ),
    ),
    Format("FLAT", "11101100", (14, 8), 3, _SEGMENT),
    Format("SCRATCH", "11101101", (14, 8), 3, _SEGMENT),
    Format("GLOBAL", "11101110", (14, 8), 3, _SEGMENT),
    Format("MTBUF", "110001", (14, 8), 3, _BUFFER),
    Format("MUBUF", "110001", (14, 8), 3, _BUFFER),
    Format("MIMG", "110100", (14, 8), 3, _IMAGE),
    Format("SAMPLE", "111001", (14, 8), 3, _IMAGE),
)
