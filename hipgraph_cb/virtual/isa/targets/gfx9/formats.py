"""Where the fields of gfx9's instructions are (CDNA ISA documents, chapter "Microcode Formats")."""

from __future__ import annotations

from hipgraph_cb.virtual.isa.targets.form import Format, Registers

REGISTERS = Registers(
    general=102,
    in_fours=104,
    pairs=frozenset({102, 104, 106, 125, 126}),
    no_base=0x7F,
    m0=124,
    # the bases of flat scratch, shared and private memory, the exiting wave, the bits of VCC, EXEC and SCC, and LDS
    constants=frozenset({230, 231, 235, 236, 237, 238, 239, 251, 252, 253, 254}),
    no_pairs=frozenset({231, 254}),
)
# DPP: quads, rows, whole waves, mirrors, and one lane for a row
CONTROLS = (
    *range(0x100),
    *range(0x101, 0x110),
    *range(0x111, 0x120),
    *range(0x121, 0x130),
    *(0x130, 0x134, 0x138, 0x13C),
    *range(0x140, 0x144),
    *range(0x150, 0x160),
)
_VOP3_SOURCES = (("src0", 32, 9), ("src1", 41, 9), ("src2", 50, 9))


def formats(coherence: tuple[str, str, str], *, scratch_vectors: bool) -> tuple[Format, ...]:
    """The formats of a processor.

    Args:
        coherence: its names for the bits of a memory instruction's cache policy.
        scratch_vectors: whether a bit of its scratch instructions says if their address has a vector part; where none
            does, the bit says that they load into LDS.
    """
    first, second, third = coherence
    segment = (
        ("lds", 13, 1),
        (first, 16, 1),
        (second, 17, 1),
        (third, 25, 1),
        ("addr", 32, 8),
        ("data", 40, 8),
        ("saddr", 48, 7),
        ("acc", 55, 1),
        ("vdst", 56, 8),
    )
    buffer = (
        ("offset", 0, 12),
        ("offen", 12, 1),
        ("idxen", 13, 1),
        (first, 14, 1),
        ("vaddr", 32, 8),
        ("vdata", 40, 8),
        ("srsrc", 48, 5),
        ("acc", 55, 1),
        ("soffset", 56, 8),
    )
    tuple(("sve" if name == "lds" and scratch_vectors else name, *place) for name, *place in segment)
    private = tuple(("sve" if name == "lds" and scratch_vectors else name, low, width) for name, low, width in segment)
    return (
        *_SCALAR,
        *_VECTOR,
        Format("FLAT", "110111", (18, 7), 2, (("offset", 0, 13), *segment), fixed=(14, 2, 0)),
        Format(
            "SCRATCH",
            "110111",
            (18, 7),
            2,
            (("offset", 0, -13), *private),
            fixed=(14, 2, 1),
        ),
        Format("GLOBAL", "110111", (18, 7), 2, (("offset", 0, -13), *segment), fixed=(14, 2, 2)),
        Format("MUBUF", "111000", (18, 7), 2, (*buffer, (third, 15, 1), ("lds", 16, 1), (second, 17, 1))),
        Format(
            "MTBUF",
            "111010",
            (15, 4),
            2,
            (*buffer, ("dfmt", 19, 4), ("nfmt", 23, 3), (third, 53, 1), (second, 54, 1)),
        ),
    )


_SCALAR = (
    Format("SOP1", "101111101", (8, 8), 1, (("ssrc0", 0, 8), ("sdst", 16, 7))),
    Format("SOP2", "10", (23, 7), 1, (("ssrc0", 0, 8), ("ssrc1", 8, 8), ("sdst", 16, 7))),
    Format("SOPC", "101111110", (16, 7), 1, (("ssrc0", 0, 8), ("ssrc1", 8, 8))),
    Format("SOPK", "1011", (23, 5), 1, (("simm16", 0, 16), ("sdst", 16, 7))),
    Format("SOPP", "101111111", (16, 7), 1, (("simm16", 0, 16),)),
    Format(
        "SMEM",
        "110000",
        (18, 8),
        2,
        (
            ("sbase", 0, 6),
            ("sdata", 6, 7),
            ("soffset_en", 14, 1),
            ("nv", 15, 1),
            ("glc", 16, 1),
            ("imm", 17, 1),
            ("offset", 32, -21),
            ("soffset", 57, 7),
        ),
    ),
)
_VECTOR = (
    Format("VOP1", "0111111", (9, 8), 1, (("src0", 0, 9), ("vdst", 17, 8))),
    Format("VOP2", "0", (25, 6), 1, (("src0", 0, 9), ("vsrc1", 9, 8), ("vdst", 17, 8))),
    Format("VOPC", "0111110", (17, 8), 1, (("src0", 0, 9), ("vsrc1", 9, 8))),
    Format(
        "VOP3SD",
        "110100",
        (16, 10),
        2,
        (("vdst", 0, 8), ("sdst", 8, 7), ("clamp", 15, 1), *_VOP3_SOURCES, ("omod", 59, 2), ("neg", 61, 3)),
    ),
    Format(
        "VOP3",
        "110100",
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
        "MFMA",
        "110100111",
        (16, 7),
        2,
        (
            ("vdst", 0, 8),
            ("cbsz", 8, 3),
            ("abid", 11, 4),
            ("acc_cd", 15, 1),
            *_VOP3_SOURCES,
            ("acc", 59, 2),
            ("blgp", 61, 3),
        ),
    ),
    Format(
        "VOP3P",
        "110100111",
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
        "DS",
        "110110",
        (17, 8),
        2,
        (
            ("offset0", 0, 8),
            ("offset1", 8, 8),
            ("gds", 16, 1),
            ("acc", 25, 1),
            ("addr", 32, 8),
            ("data0", 40, 8),
            ("data1", 48, 8),
            ("vdst", 56, 8),
        ),
    ),
)
