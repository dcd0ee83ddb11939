"""What the type names of kernel parameters mean for numpy."""

from __future__ import annotations

_TYPES = {
    "bool": "bool",
    "char": "int8",
    "signed char": "int8",
    "uchar": "uint8",
    "unsigned char": "uint8",
    "short": "int16",
    "ushort": "uint16",
    "unsigned short": "uint16",
    "int": "int32",
    "uint": "uint32",
    "unsigned int": "uint32",
    "long": "int64",
    "ulong": "uint64",
    "unsigned long": "uint64",
    "half": "float16",
    "float": "float32",
    "double": "float64",
}


def numpy_type(type_name: str | None) -> str | None:
    """The numpy name of what a pointer of this type points to, vectors by their element; None where it is not known."""
    name = (type_name or "").removesuffix("*").strip().removeprefix("const ")
    return _TYPES.get(name) or _TYPES.get(name.rstrip("0123456789"))
