"""A structure, an array or a vector that is given field by field, as the bytes of one by-value argument."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hipgraph_cb.code_object.data_types import Array, DataType, Field, Structure
from hipgraph_cb.code_object.scalars import Encoder, ScalarError, encoder


def value_encoder(type_: DataType) -> Encoder:
    """A function from one value to the bytes of a type.

    A structure takes a tuple or a list in the order of its fields, a dict or a numpy record by their names, or its
    bytes; one with a single field takes the value of that field as well. An array takes a sequence.
    """
    if isinstance(type_, Structure):
        return _StructureEncoder(type_)
    if isinstance(type_, Array):
        return _ArrayEncoder(type_)
    encode = encoder(type_.size, type_.name)
    if not type_.name.endswith(("*", "&")):
        return encode
    return lambda value: encode(0 if value is None else value)


class _ArrayEncoder:
    def __init__(self, type_: Array) -> None:
        self._type = type_
        self._encode = value_encoder(type_.element)

    def __call__(self, value: Any) -> bytes:
        type_ = self._type
        values = value.tolist() if getattr(value, "ndim", 0) and hasattr(value, "tolist") else value
        if not isinstance(values, (list, tuple)):
            return _whole(value, type_.size, f"{type_.length} values for {type_.name}")
        if len(values) != type_.length:
            raise ScalarError(f"{len(values)} values", f"{type_.length} values for {type_.name}")
        parts = [_part(f"[{index}]", self._encode, each) for index, each in enumerate(values)]
        return b"".join(parts).ljust(type_.size, b"\0")


class _StructureEncoder:
    """Bytes between the fields are zero."""

    def __init__(self, type_: Structure) -> None:
        self._type = type_
        self._fields = {field.name: (field, value_encoder(field.type)) for field in type_.fields}
        self._ordered = [type_.fields[place] for place in type_.positions]

    def __call__(self, value: Any) -> bytes:
        ordered = self._ordered
        names = getattr(getattr(value, "dtype", None), "names", None)
        if names and value.ndim == 0:
            value = {name: value[name] for name in names}
        if isinstance(value, Mapping):
            self._check_names(value)
            return self._pack(value.items())
        if isinstance(value, (list, tuple)) and len(value) == len(ordered):
            return self._pack(zip([field.name for field in ordered], value, strict=True))
        if len(ordered) == 1 and not isinstance(value, (bytes, bytearray)):
            return self._pack([(ordered[0].name, value)])
        if isinstance(value, (list, tuple)):
            raise ScalarError(f"{len(value)} values", f"{len(ordered)} values for {self._type.name} ({self._names()})")
        return _whole(value, self._type.size, f"a tuple, dict or numpy record for {self._type.name}")

    def _names(self) -> str:
        return ", ".join(field.name for field in self._ordered)

    def _check_names(self, value: Mapping[Any, Any]) -> None:
        """Each name is a field, and each field has a value, or has one in its place where it is one of a union."""
        unknown = [name for name in value if name not in self._fields]
        given = [self._fields[name][0] for name in value if name in self._fields]
        missing = [field.name for field in self._ordered if not any(_overlap(field, each) for each in given)]
        if unknown or missing:
            parts = [f"unknown field {unknown[0]!r}"[:80]] if unknown else []
            parts += [f"no field {missing[0]!r}"] if missing else []
            raise ScalarError(" and ".join(parts), f"the fields of {self._type.name} ({self._names()})")

    def _pack(self, values: Iterable[tuple[Any, object]]) -> bytes:
        block = bytearray(self._type.size)
        for name, value in values:
            field, encode = self._fields[name]
            block[field.offset : field.offset + field.type.size] = _part(f".{name}", encode, value)
        return bytes(block)


def _overlap(one: Field, other: Field) -> bool:
    return one.offset < other.offset + other.type.size and other.offset < one.offset + one.type.size


def _part(place: str, encode: Encoder, value: object) -> bytes:
    """The bytes of a field or an element, whose place an error names."""
    try:
        return encode(value)
    except ScalarError as error:
        rest = error.found.removeprefix("at ")
        path = f"at {place}{rest}" if rest != error.found else f"at {place}: {error.found}"
        raise ScalarError(path, error.allowed) from None


def _whole(value: object, size: int, alternative: str) -> bytes:
    """The bytes of a value that has just as many."""
    try:
        view = memoryview(value)  # type: ignore[arg-type]  # the buffer protocol is not a static type before 3.12
    except (TypeError, ValueError, BufferError):
        raise ScalarError(type(value).__name__, f"{alternative}, or {size} bytes") from None
    if view.nbytes != size:
        raise ScalarError(f"{type(value).__name__} of {view.nbytes} bytes", f"{alternative}, or {size} bytes")
    return view.tobytes()
