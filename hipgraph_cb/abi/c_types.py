"""The C types that kernel parameters have, under the names that OpenCL and HIP compilers write into the metadata."""

from __future__ import annotations

from typing import NamedTuple

SIGNED, UNSIGNED, FLOAT = "signed", "unsigned", "float"

INTEGER_LETTERS = {1: "B", 2: "H", 4: "I", 8: "Q"}
FLOAT_LETTERS = {2: "e", 4: "f", 8: "d"}
"""What `struct` calls the unsigned integers and the floats of a size in bytes; signed integers in small letters."""


class CType(NamedTuple):
    """A scalar type; `kind` is `SIGNED`, `UNSIGNED` or `FLOAT`, `size` in bytes."""

    kind: str
    size: int
    numpy_name: str

    @property
    def letter(self) -> str:
        """What `struct` calls it."""
        letters = FLOAT_LETTERS if self.kind == FLOAT else INTEGER_LETTERS
        return letters[self.size].lower() if self.kind == SIGNED else letters[self.size]


C_TYPES: dict[str, CType] = {
    "bool": CType(UNSIGNED, 1, "bool"),
    **dict.fromkeys(("char", "signed char"), CType(SIGNED, 1, "int8")),
    **dict.fromkeys(("uchar", "unsigned char"), CType(UNSIGNED, 1, "uint8")),
    "short": CType(SIGNED, 2, "int16"),
    **dict.fromkeys(("ushort", "unsigned short"), CType(UNSIGNED, 2, "uint16")),
    "int": CType(SIGNED, 4, "int32"),
    **dict.fromkeys(("uint", "unsigned int", "unsigned"), CType(UNSIGNED, 4, "uint32")),
    **dict.fromkeys(("long", "long long"), CType(SIGNED, 8, "int64")),
    **dict.fromkeys(("ulong", "unsigned long", "unsigned long long", "size_t"), CType(UNSIGNED, 8, "uint64")),
    **dict.fromkeys(("half", "_Float16"), CType(FLOAT, 2, "float16")),
    "float": CType(FLOAT, 4, "float32"),
    "double": CType(FLOAT, 8, "float64"),
}


def numpy_type(type_name: str | None) -> str | None:
    """The numpy name of what a pointer of this type points to, vectors by their element; None where it is not known."""
    name = (type_name or "").rstrip("&").removesuffix("*").strip().removeprefix("const ")
    found = C_TYPES.get(name) or C_TYPES.get(name.rstrip("0123456789"))
    return None if found is None else found.numpy_name


def may_point_to(type_name: str | None, kind: str, size: int) -> bool:
    """Whether a pointer of this type may be given elements of a numpy kind ("i", "u", "f", ...) and a size in bytes.

    Signs do not matter, bytes and unknown types may be anything, and so may elements that numpy itself has no kind for.
    """
    wanted = numpy_type(type_name)
    if wanted is None or C_BYTES[wanted] == 1 or kind not in _KINDS:
        return True
    return (wanted.startswith("float"), C_BYTES[wanted]) == (kind == "f", size)


_KINDS = frozenset("biuf")
C_BYTES = {each.numpy_name: each.size for each in C_TYPES.values()}
