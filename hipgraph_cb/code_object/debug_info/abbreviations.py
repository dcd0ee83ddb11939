"""Abbreviations: which attributes, in which forms, an entry of .debug_info has."""

from __future__ import annotations

from typing import NamedTuple

from hipgraph_cb.code_object.debug_info.constants import Form
from hipgraph_cb.code_object.debug_info.cursor import Budget, Cursor

MOST_ATTRIBUTES = 64
"""Of one abbreviation; compilers write about twenty. Some attributes take no bytes of an entry."""

_FIXED: dict[int, int] = {
    Form.ADDR: 8,
    Form.DATA1: 1,
    Form.DATA2: 2,
    Form.DATA4: 4,
    Form.DATA8: 8,
    Form.DATA16: 16,
    Form.FLAG: 1,
    Form.FLAG_PRESENT: 0,
    Form.IMPLICIT_CONST: 0,
    Form.REF1: 1,
    Form.REF2: 2,
    Form.REF4: 4,
    Form.REF8: 8,
    Form.REF_SIG8: 8,
    Form.STRX1: 1,
    Form.STRX2: 2,
    Form.STRX3: 3,
    Form.STRX4: 4,
    Form.ADDRX1: 1,
    Form.ADDRX2: 2,
    Form.ADDRX3: 3,
    Form.ADDRX4: 4,
}
_OFFSETS = frozenset({Form.STRP, Form.LINE_STRP, Form.SEC_OFFSET, Form.REF_ADDR})
_NUMBERS = frozenset({Form.UDATA, Form.REF_UDATA, Form.STRX, Form.ADDRX, Form.LOCLISTX, Form.RNGLISTX})
_BLOCKS: dict[int, int] = {Form.BLOCK1: 1, Form.BLOCK2: 2, Form.BLOCK4: 4}


class Specification(NamedTuple):
    """One attribute: its name, its form, and its value where the abbreviation has it."""

    name: int
    form: int
    constant: int


class Abbreviation(NamedTuple):
    """`size`: bytes of the attributes of an entry, where it is always the same; else None."""

    tag: int
    has_children: bool
    attributes: tuple[Specification, ...]
    size: int | None


def read_abbreviations(section: bytes, offset: int, offset_size: int, budget: Budget) -> dict[int, Abbreviation]:
    """The table at `offset`, by code.

    Raises:
        InvalidArgumentError: it is malformed.
        ResourceExhaustedError: the budget is spent.
    """
    cursor = Cursor(".debug_abbrev", section, offset)
    found: dict[int, Abbreviation] = {}
    while code := cursor.uleb():
        tag, has_children = cursor.uleb(), cursor.number(1) == 1
        attributes = []
        while True:
            budget.spend()
            name, form = cursor.uleb(), cursor.uleb()
            constant = cursor.sleb() if form == Form.IMPLICIT_CONST else 0
            if not name and not form:
                break
            attributes.append(Specification(name, form, constant))
        if len(attributes) > MOST_ATTRIBUTES:
            raise cursor.malformed(f"{len(attributes)} attributes of one entry, at most {MOST_ATTRIBUTES} are read")
        sizes = [offset_size if each.form in _OFFSETS else _FIXED.get(each.form) for each in attributes]
        size = None if None in sizes else sum(size for size in sizes if size is not None)
        found[code] = Abbreviation(tag, has_children, tuple(attributes), size)
    return found


def read_value(cursor: Cursor, attribute: Specification, offset_size: int) -> int:
    """The value of one attribute, as a number: of texts and blocks, where they start."""
    form = attribute.form
    size = _FIXED.get(form)
    if size:
        return cursor.number(size)
    if form == Form.IMPLICIT_CONST:
        return attribute.constant
    if form == Form.FLAG_PRESENT:
        return 1
    if form in _OFFSETS:
        return cursor.number(offset_size)
    if form in _NUMBERS:
        return cursor.uleb()
    if form == Form.SDATA:
        return cursor.sleb()
    if form == Form.STRING:
        return cursor.text()
    if form in (Form.BLOCK, Form.EXPRLOC):
        return cursor.skip(cursor.uleb())
    if form in _BLOCKS:
        return cursor.skip(cursor.number(_BLOCKS[form]))
    raise cursor.malformed(f"an attribute of form {form:#x}")
