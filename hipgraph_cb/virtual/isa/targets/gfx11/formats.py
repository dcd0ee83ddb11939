"""Where the fields of gfx11's instructions are (RDNA 3 ISA document, chapter "Microcode Formats")."""

from __future__ import annotations

from hipgraph_cb.virtual.isa.targets.form import Format

_CACHE = (("dlc", 13, 1), ("glc", 14, 1))
_VOP3_SOURCES = (("src0", 32, 9), ("src1", 41, 9), ("src2", 50, 9))
_SEGMENT = (
    *_CACHE,
    ("slc", 15, 1),
    ("addr", 32, 8),
    ("data", 40, 8),
    ("saddr", 48, 7),
    ("sve", 55, 1),
    ("vdst", 56, 8),
)
_BUFFER = (
    ("offset", 0, 12),
    ("slc", 12, 1),
    *_CACHE,
    ("vaddr", 32, 8),
    ("vdata", 40, 8),
    ("srsrc", 48, 5),
    ("tfe", 53, 1),
    ("offen", 54, 1),
    ("idxen", 55, 1),
    ("soffset", 56, 8),
)

FORMATS = (
    Format("SOP1", "101111101", (8, 8), 1, (("ssrc0", 0, 8), ("sdst", 16, 7))),
    Format("SOP2", "10", (23, 7), 1, (("ssrc0", 0, 8), ("ssrc1", 8, 8), ("sdst", 16, 7))),
    Format("SOPC", "101111110", (16, 7), 1, (("ssrc0", 0, 8), ("ssrc1", 8, 8))),
    Format("SOPK", "1011", (23, 5), 1, (("simm16", 0, 16), ("sdst", 16, 7))),
    Format("SOPP", "101111111", (16, 7), 1, (("simm16", 0, 16),)),
    Format(
        "SMEM",
        "111101",
        (18, 8),
        2,
        (("sbase", 0, 6), ("sdata", 6, 7), *_CACHE, ("offset", 32, -21), ("soffset", 57, 7)),
    ),
    Format("VOP1", "0111111", (9, 8), 1, (("src0", 0, 9), ("vdst", 17, 8))),
    Format("VOP2", "0", (25, 6), 1, (("src0", 0, 9), ("vsrc1", 9, 8), ("vdst", 17, 8))),
    Format("VOPC", "0111110", (17, 8), 1, (("src0", 0, 9), ("vsrc1", 9, 8))),
    Format(
        "VOP3SD",
        "110101",
        (16, 10),
        2,
        (("vdst", 0, 8), ("sdst", 8, 7), ("clamp", 15, 1), *_VOP3_SOURCES, ("omod", 59, 2), ("neg", 61, 3)),
    ),
    Format(
        "VOP3",
        "110101",
        (16, 10),
        2,
        (
            ("vdst", 0, 8),
            ("abs", 8, 3),
            ("op_sel", 11, 4),
            ("clamp", 15, 1),
            *_VOP3_SOURCES,
            ("omod", 59, 2),
            ("neg", 61, 3),
        ),
    ),
    Format(
        "VOP3P",
        "11001100",
        (16, 7),
        2,
        (
            ("vdst", 0, 8),
            ("neg_hi", 8, 3),
            ("op_sel", 11, 3),
            ("op_sel_hi2", 14, 1),
            ("clamp", 15, 1),
            *_VOP3_SOURCES,
            ("op_sel_hi", 59, 2),
            ("neg", 61, 3),
        ),
    ),
    Format(
        "VINTERP",
        "11001101",
        (16, 7),
        2,
        (
            ("vdst", 0, 8),
            ("wait_exp", 8, 3),
            ("op_sel", 11, 4),
            ("clamp", 15, 1),
            *_VOP3_SOURCES,
            ("neg", 61, 3),
        ),
    ),
    Format(
        "LDSDIR", "11001110", (20, 2), 1, (("vdst", 0, 8), ("attr_chan", 8, 2), ("attr", 10, 6), ("wait_vdst", 16, 4))
    ),
    Format(
        "VOPD",
        "110010",
        (22, 4),
        2,
        (
            ("srcx0", 0, 9),
            ("vsrcx1", 9, 8),
            ("opy", 17, 5),
            ("srcy0", 32, 9),
            ("vsrcy1", 41, 8),
            ("vdsty", 49, 7),
            ("vdstx", 56, 8),
        ),
    ),
    Format(
        "DS",
        "110110",
        (18, 8),
        2,
        (
            ("offset0", 0, 8),
            ("offset1", 8, 8),
            ("gds", 17, 1),
            ("addr", 32, 8),
            ("data0", 40, 8),
            ("data1", 48, 8),
            ("vdst", 56, 8),
        ),
    ),
    Format("FLAT", "110111", (18, 7), 2, (("offset", 0, 13), *_SEGMENT), fixed=(16, 2, 0)),
    Format("SCRATCH", "110111", (18, 7), 2, (("offset", 0, -13), *_SEGMENT), fixed=(16, 2, 1)),
    Format("GLOBAL", "110111", (18, 7), 2, (("offset", 0, -13), *_SEGMENT), fixed=(16, 2, 2)),
    Format("MUBUF", "111000", (18, 8), 2, _BUFFER),
    Format("MTBUF", "111010", (15, 4), 2, (*_BUFFER, ("format", 19, 7))),
    Format(
        "MIMG",
        "111100",
        (18, 8),
        2,
        (
            ("nsa", 0, 1),
            ("dim", 2, 3),
            ("unrm", 7, 1),
            ("dmask", 8, 4),
            ("slc", 12, 1),
            *_CACHE,
            ("r128", 15, 1),
            ("a16", 16, 1),
            ("d16", 17, 1),
            ("vaddr", 32, 8),
            ("vdata", 40, 8),
            ("srsrc", 48, 5),
            ("tfe", 53, 1),
            ("lwe", 54, 1),
            ("ssamp", 58, 5),
        ),
    ),
    Format(
        "EXP",
        "111110",
        (10, 1),
        2,
        (
            ("en", 0, 4),
            ("target", 4, 6),
            ("done", 11, 1),
            ("row", 13, 1),
            ("vsrc0", 32, 8),
            ("vsrc1", 40, 8),
            ("vsrc2", 48, 8),
            ("vsrc3", 56, 8),
        ),
    ),
)
# the second operation of a VOPD instruction
SECOND = (Format("VOPDY", "110010", (17, 5), 2, (("srcy0", 32, 9), ("vsrcy1", 41, 8), ("vdsty", 49, 7))),)
NULL, M0 = 124, 125
# values of fields that are not registers, tried while the operations of a format are asked for
PROBED = {"MIMG": ({"dmask": 1},), "MTBUF": ({"format": 22},), "DS": ({}, {"gds": 1})}
# the field that makes an atomic return what was there
RETURNS = {"FLAT": "glc", "GLOBAL": "glc", "MUBUF": "glc"}
# instructions whose text names the values of a field: the rest of the instruction, lowest bit, width, the name's place
NAMED = {
    "hwreg": (0xB880F800, 0, 6, r"hwreg\((HW_REG\w+)"),
    "sendmsg": (0xBFB60000, 0, 8, r"sendmsg\((MSG_\w+)"),
    "format": (0x80060000_E8000000, 19, 7, r"format:\[(\w+)\]"),
}
