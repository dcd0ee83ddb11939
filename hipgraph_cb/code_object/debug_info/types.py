"""Types, as entries of .debug_info describe them, in the words of kernel metadata."""

from __future__ import annotations

from collections.abc import Iterator

from hipgraph_cb.abi.c_types import C_TYPES, FLOAT, SIGNED, UNSIGNED
from hipgraph_cb.code_object.data_types import Array, DataType, Field, Scalar, Structure
from hipgraph_cb.code_object.debug_info.constants import At, Encoding, Tag
from hipgraph_cb.code_object.debug_info.cursor import malformed
from hipgraph_cb.code_object.debug_info.unit import Entry, Unit

DEEPEST = 16
"""Types within types; real ones have a handful."""
MOST_FIELDS = 4096
"""Of one structure, those of inner ones counted as often as they are there."""
LARGEST = 1 << 20

POINTER_SIZE = 8
_TRANSPARENT = frozenset({Tag.TYPEDEF, Tag.VOLATILE_TYPE, Tag.RESTRICT_TYPE, Tag.ATOMIC_TYPE})
_POINTERS = {Tag.POINTER_TYPE: "*", Tag.REFERENCE_TYPE: "&", Tag.RVALUE_REFERENCE_TYPE: "&&"}
_STRUCTURES = {Tag.STRUCTURE_TYPE: "struct", Tag.CLASS_TYPE: "struct", Tag.UNION_TYPE: "union"}
_MEMBERS = frozenset({Tag.MEMBER, Tag.INHERITANCE})
_KINDS = {
    Encoding.BOOLEAN: UNSIGNED,
    Encoding.FLOAT: FLOAT,
    Encoding.SIGNED: SIGNED,
    Encoding.SIGNED_CHAR: SIGNED,
    Encoding.UNSIGNED: UNSIGNED,
    Encoding.UNSIGNED_CHAR: UNSIGNED,
    Encoding.UTF: UNSIGNED,
}
_INTEGERS = {
    (SIGNED, 1): "signed char",
    (SIGNED, 2): "short",
    (SIGNED, 4): "int",
    (SIGNED, 8): "long",
    (UNSIGNED, 1): "unsigned char",
    (UNSIGNED, 2): "unsigned short",
    (UNSIGNED, 4): "unsigned int",
    (UNSIGNED, 8): "unsigned long",
}
"""What an integer of another name is called."""


class TypeReader:
    """Reads the types of one unit."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._fields = 0

    def type_of(self, entry: Entry, depth: int = 0) -> DataType | None:
        """The type that an entry has; None where it cannot be passed, or is not known here.

        Raises:
            InvalidArgumentError: it is malformed, or it has too many parts.
            ResourceExhaustedError: it takes too long to read.
        """
        found = self._resolved(entry, depth)
        if found is None:
            return None
        tag = found.tag
        if tag == Tag.BASE_TYPE:
            return self._base(found)
        if tag in _POINTERS:
            return Scalar(f"{self._target_name(found, depth + 1)}{_POINTERS[Tag(tag)]}", POINTER_SIZE)
        if tag == Tag.ENUMERATION_TYPE:
            return self.type_of(found, depth + 1) or Scalar(
                _INTEGERS.get((SIGNED, found.number(At.BYTE_SIZE)), "enum"), found.number(At.BYTE_SIZE)
            )
        if tag == Tag.ARRAY_TYPE:
            return self._array(found, depth + 1)
        return self._structure(found, depth + 1) if tag in _STRUCTURES else None

    def _resolved(self, entry: Entry, depth: int) -> Entry | None:
        """The type of an entry, without other names for it and without qualifiers."""
        for _ in range(DEEPEST - depth):
            offset = self._unit.reference(entry, At.TYPE)
            if offset is None:
                return None
            entry = self._unit.entry(offset)
            if entry.tag not in _TRANSPARENT and entry.tag != Tag.CONST_TYPE:
                return entry
        raise self._too_deep(entry)

    def _target_name(self, pointer: Entry, depth: int) -> str:
        """What a pointer points to, as it is written before the star."""
        const, entry = "", pointer
        for _ in range(DEEPEST - depth):
            offset = self._unit.reference(entry, At.TYPE)
            if offset is None:
                return f"{const}void"
            entry = self._unit.entry(offset)
            if entry.tag == Tag.CONST_TYPE:
                const = "const "
            elif entry.tag in _POINTERS:
                return f"{const}{self._target_name(entry, depth + 1)}{_POINTERS[Tag(entry.tag)]}"
            elif entry.tag in _STRUCTURES:
                return const + self._structure_name(entry)
            elif entry.tag == Tag.SUBROUTINE_TYPE:
                return "function"
            elif entry.tag == Tag.BASE_TYPE:
                return const + self._base(entry).name
            elif entry.tag == Tag.ARRAY_TYPE:
                array = self._array(entry, depth + 1)
                return const + ("array" if array is None else array.name)
            elif entry.tag not in _TRANSPARENT and entry.tag != Tag.ENUMERATION_TYPE:
                return f"{const}{self._unit.text(entry, At.NAME) or 'void'}"
        raise self._too_deep(entry)

    def _base(self, entry: Entry) -> Scalar:
        name, size = self._unit.text(entry, At.NAME) or "", entry.number(At.BYTE_SIZE)
        kind = _KINDS.get(entry.number(At.ENCODING))  # type: ignore[call-overload]
        known = C_TYPES.get(name)
        if known is not None and (known.kind, known.size) == (kind, size):
            return Scalar(name, size)
        return Scalar(_INTEGERS.get((kind or "", size), name or f"untyped {size} bytes"), size)

    def _array(self, entry: Entry, depth: int) -> Array | None:
        """An array or a vector; None for an element that is not known or a count that is not stated."""
        element = self.type_of(entry, depth)
        counts = [_count(each) for each in self._unit.children(entry, frozenset({Tag.SUBRANGE_TYPE}))]
        if element is None or not counts:
            return None
        is_vector = At.GNU_VECTOR in entry.attributes
        for count in reversed(counts):
            if not 0 < count <= LARGEST // max(1, element.size):
                return None
            name = f"{element.name}{count}" if is_vector else f"{element.name}[{count}]"
            size = entry.number(At.BYTE_SIZE) or element.size * (4 if is_vector and count == 3 else count)
            element = Array(name, size, element, count)
        return element if isinstance(element, Array) else None

    def _structure_name(self, entry: Entry) -> str:
        return f"{_STRUCTURES[Tag(entry.tag)]} {self._unit.text(entry, At.NAME) or 'without a name'}"

    def _structure(self, entry: Entry, depth: int) -> Structure | None:
        """A structure with its fields; None where one of them cannot be given by itself."""
        if depth >= DEEPEST:
            raise self._too_deep(entry)
        fields: list[Field] = []
        positions: list[int] = []
        for member in self._members(entry):
            inner = self.type_of(member, depth + 1)
            offset, name = member.number(At.DATA_MEMBER_LOCATION), self._unit.text(member, At.NAME)
            if inner is None or At.BIT_SIZE in member.attributes:
                return None
            if not 0 <= offset <= LARGEST - inner.size:
                raise malformed(f".debug_info offset {member.offset:#x}", f"a field at {offset}")
            takes_place = entry.tag != Tag.UNION_TYPE or not fields
            first = len(fields)
            if name or not isinstance(inner, Structure):
                fields.append(Field(name or "", offset, inner))
                positions += [first] * takes_place
            else:  # a base class, or a field without a name
                fields += [field._replace(offset=offset + field.offset) for field in inner.fields]
                positions += [first + place for place in inner.positions] if takes_place else []
            self._fields += 1
            if self._fields > MOST_FIELDS or len(fields) > MOST_FIELDS:
                raise malformed(f".debug_info offset {entry.offset:#x}", f"more than {MOST_FIELDS} fields")
        size = entry.number(At.BYTE_SIZE)
        if any(field.offset + field.type.size > size for field in fields):
            return None
        return Structure(self._structure_name(entry), size, tuple(fields), tuple(positions))

    def _members(self, entry: Entry) -> Iterator[Entry]:
        """Base classes and fields, without those that all objects share."""
        for member in self._unit.children(entry, _MEMBERS):
            if At.EXTERNAL not in member.attributes and At.ARTIFICIAL not in member.attributes:
                yield member

    def _too_deep(self, entry: Entry) -> Exception:
        return malformed(f".debug_info offset {entry.offset:#x}", f"types that are more than {DEEPEST} deep")


def _count(subrange: Entry) -> int:
    if At.COUNT in subrange.attributes:
        return subrange.number(At.COUNT)
    return subrange.number(At.UPPER_BOUND, -1) + 1
