"""The types of values that are more than one number: structures, arrays, vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Union


class Scalar(NamedTuple):
    """A number or a pointer. `name` is what `abi.c_types` calls it where that knows it; `size` in bytes."""

    name: str
    size: int


class Array(NamedTuple):
    """`length` elements behind each other; `name` is that of a vector type, or `float[3]`."""

    name: str
    size: int
    element: DataType
    length: int


class Field(NamedTuple):
    """A field of a structure; `offset` in bytes."""

    name: str
    offset: int
    type: DataType


class Structure(NamedTuple):
    """A structure or a union, by the layout that its compiler chose.

    Attributes:
        fields: in their order; those of base classes and of fields without a name are among them.
        positions: which of them a list of values is for, by index: of a union the first field, as in C.
    """

    name: str
    size: int
    fields: tuple[Field, ...]
    positions: tuple[int, ...]

    def leaves(self, prefix: str = "", start: int = 0) -> Iterator[tuple[str, int, DataType]]:
        """The fields that are no structures, those of inner structures too: path, offset, type."""
        for field in self.fields:
            path, offset = f"{prefix}{field.name}", start + field.offset
            if isinstance(field.type, Structure):
                yield from field.type.leaves(f"{path}.", offset)
            else:
                yield path, offset, field.type


DataType = Union[Scalar, Array, Structure]  # noqa: UP007 - the classes above name it before it is there
