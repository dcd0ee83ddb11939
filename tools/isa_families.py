"""What `generate_target_tables.py` has to know of each family of targets to ask LLVM about its operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hipgraph_cb.virtual.isa.targets.form import Format
from hipgraph_cb.virtual.isa.targets.gfx11.formats import FORMATS as GFX11
from hipgraph_cb.virtual.isa.targets.gfx12.formats import FORMATS as GFX12
from hipgraph_cb.virtual.isa.targets.gfx90a.formats import FORMATS as GFX90A
from hipgraph_cb.virtual.isa.targets.gfx950.formats import FORMATS as GFX950

Values = Mapping[str, int]


@dataclass(frozen=True)
class Family:
    """A family of targets.

    Attributes:
        processor: the one that LLVM is asked for, its `features`, and those for `wide` waves of 64 lanes.
        formats: those of the package; `second` are pseudo-formats for the second operation of an instruction.
        no_base: codes of a scalar address that mean none, with the best first.
        chosen: formats with a prefix of another format, and a pattern in their operations' names and operands.
        probed: fields that are not registers, and the values to try, by format.
        returns: the field that makes an atomic return what was there, by format.
        named: the instruction, the place of a field and the pattern that finds a value's name in the text.
        long_literals: whether literals may follow the long vector formats. LLVM crashes on some where they may not.
    """

    processor: str
    features: str
    wide: str
    formats: tuple[Format, ...]
    no_base: tuple[int, ...]
    chosen: Mapping[str, str]
    probed: Mapping[str, tuple[Values, ...]]
    returns: Mapping[str, str]
    named: Mapping[str, tuple[int, int, int, str]]
    second: tuple[Format, ...] = ()
    long_literals: bool = True


_HARDWARE_REGISTER = r"hwreg\((HW_REG\w+)"
_MESSAGE = r"sendmsg\((MSG_\w+)"

# LLVM names the halves of registers by itself for gfx11 only
TRUE16 = "+real-true16"
_SECOND = Format("VOPDY", "110010", (17, 5), 2, (("srcy0", 32, 9), ("vsrcy1", 41, 8), ("vdsty", 49, 7)))


def _gfx9(processor: str, formats: tuple[Format, ...], returns: str) -> Family:
    return Family(
        processor=processor,
        features="",
        wide="",
        formats=formats,
        no_base=(0x7F,),
        chosen={"VOP3SD": "sdst", "MFMA": r"v_(mfma|smfmac)(?!_ld)"},
        probed={
            "DS": ({}, {"gds": 1}),
            "MTBUF": ({"dfmt": 4, "nfmt": 7},),
            "SMEM": ({"imm": 1}, {}),
            "MIMG": ({"dmask": 1},),
        },
        returns=dict.fromkeys(("FLAT", "GLOBAL"), returns),
        named={
            "hwreg": (0xB880F800, 0, 6, _HARDWARE_REGISTER),
            "sendmsg": (0xBF900000, 0, 4, _MESSAGE),
            "dfmt": (0x80060000_EB800000, 19, 4, r"format:\[BUF_DATA_FORMAT_(\w+)"),
            "nfmt": (0x80060000_E8200000, 23, 3, r"BUF_NUM_FORMAT_(\w+)\]"),
        },
        long_literals=False,
    )


FAMILIES = {
    "gfx90a": _gfx9("gfx90a", GFX90A, "glc"),
    "gfx950": _gfx9("gfx950", GFX950, "sc0"),
    "gfx11": Family(
        processor="gfx1100",
        features="",
        wide="+wavefrontsize64,-wavefrontsize32",
        formats=GFX11,
        no_base=(124, 0x7F),
        chosen={"VOP3SD": "sdst"},
        probed={"MIMG": ({"dmask": 1},), "MTBUF": ({"format": 22},), "DS": ({}, {"gds": 1})},
        returns={"FLAT": "glc", "GLOBAL": "glc"},
        named={
            "hwreg": (0xB880F800, 0, 6, _HARDWARE_REGISTER),
            "sendmsg": (0xBFB60000, 0, 8, _MESSAGE),
            "format": (0x80060000_E8000000, 19, 7, r"format:\[(\w+)\]"),
        },
        second=(_SECOND,),
    ),
    "gfx12": Family(
        processor="gfx1201",
        features=TRUE16,
        wide=f"{TRUE16},+wavefrontsize64,-wavefrontsize32",
        formats=GFX12,
        no_base=(124, 0x7F),
        chosen={"VOP3SD": "sdst", "MTBUF": "tbuffer"},
        probed={
            "MIMG": ({"dmask": 1},),
            "SAMPLE": ({"dmask": 1},),
            "MTBUF": ({"format": 22},),
            "MUBUF": ({"format": 1},),
            "VOP3P": ({}, {"op_sel_hi": 3, "op_sel_hi2": 1}),
        },
        returns={"FLAT": "th", "GLOBAL": "th"},
        named={
            "hwreg": (0xB880F800, 0, 6, _HARDWARE_REGISTER),
            "sendmsg": (0xBFB60000, 0, 8, _MESSAGE),
            "format": (0x00003000_C420007C, 55, 7, r"format:\[(\w+)\]"),
        },
        second=(_SECOND,),
    ),
}
