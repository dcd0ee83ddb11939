"""Tables of AMD GPU processors, as data in one place.

Sources: LLVM AMDGPU usage (EF_AMDGPU_MACH values, generic processors and their members).
"""

from __future__ import annotations

# EF_AMDGPU_MACH -> processor. Values below 0x20 belong to other GPU families; 0x27, 0x4d, 0x56, 0x57 are unassigned.
PROCESSOR_OF_MACH: dict[int, str] = {
    0x20: "gfx600",
    0x21: "gfx601",
    0x22: "gfx700",
    0x23: "gfx701",
    0x24: "gfx702",
    0x25: "gfx703",
    0x26: "gfx704",
    0x28: "gfx801",
    0x29: "gfx802",
    0x2A: "gfx803",
    0x2B: "gfx810",
    0x2C: "gfx900",
    0x2D: "gfx902",
    0x2E: "gfx904",
    0x2F: "gfx906",
    0x30: "gfx908",
    0x31: "gfx909",
    0x32: "gfx90c",
    0x33: "gfx1010",
    0x34: "gfx1011",
    0x35: "gfx1012",
    0x36: "gfx1030",
    0x37: "gfx1031",
    0x38: "gfx1032",
    0x39: "gfx1033",
    0x3A: "gfx602",
    0x3B: "gfx705",
    0x3C: "gfx805",
    0x3D: "gfx1035",
    0x3E: "gfx1034",
    0x3F: "gfx90a",
    0x40: "gfx940",
    0x41: "gfx1100",
    0x42: "gfx1013",
    0x43: "gfx1150",
    0x44: "gfx1103",
    0x45: "gfx1036",
    0x46: "gfx1101",
    0x47: "gfx1102",
    0x48: "gfx1200",
    0x49: "gfx1250",
    0x4A: "gfx1151",
    0x4B: "gfx941",
    0x4C: "gfx942",
    0x4E: "gfx1201",
    0x4F: "gfx950",
    0x50: "gfx1310",
    0x51: "gfx9-generic",
    0x52: "gfx10-1-generic",
    0x53: "gfx10-3-generic",
    0x54: "gfx11-generic",
    0x55: "gfx1152",
    0x58: "gfx1153",
    0x59: "gfx12-generic",
    0x5A: "gfx1251",
    0x5B: "gfx12-5-generic",
    0x5C: "gfx1172",
    0x5D: "gfx1170",
    0x5E: "gfx1171",
    0x5F: "gfx9-4-generic",
}

# The generic processor whose code an exact one runs. gfx908 and gfx90a run only their own.
GENERIC_OF_PROCESSOR: dict[str, str] = {
    **dict.fromkeys(("gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"), "gfx9-generic"),
    **dict.fromkeys(("gfx908",), "gfx908"),
    **dict.fromkeys(("gfx90a",), "gfx90a"),
    **dict.fromkeys(("gfx940", "gfx941", "gfx942", "gfx950"), "gfx9-4-generic"),
    **dict.fromkeys(("gfx1010", "gfx1011", "gfx1012", "gfx1013"), "gfx10-1-generic"),
    **dict.fromkeys([f"gfx103{stepping}" for stepping in range(7)], "gfx10-3-generic"),
    **dict.fromkeys([f"gfx11{number}" for number in ("00", "01", "02", "03")], "gfx11-generic"),
    **dict.fromkeys([f"gfx115{stepping}" for stepping in range(4)], "gfx11-generic"),
    **dict.fromkeys([f"gfx117{stepping}" for stepping in range(3)], "gfx11-generic"),
    **dict.fromkeys(("gfx1200", "gfx1201"), "gfx12-generic"),
    **dict.fromkeys(("gfx1250", "gfx1251"), "gfx12-5-generic"),
}

WITH_SRAMECC = frozenset({"gfx906", "gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950", "gfx9-4-generic"})
WITH_XNACK = WITH_SRAMECC | frozenset(
    {"gfx801", "gfx810", "gfx900", "gfx902", "gfx904", "gfx909", "gfx90c", "gfx1010", "gfx1011", "gfx1012", "gfx1013"}
    | {"gfx9-generic", "gfx10-1-generic"}
)
