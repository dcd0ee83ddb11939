"""Functions of a unit with the code that they became, and what was inlined into them."""

from __future__ import annotations

from dataclasses import dataclass, field

from hipgraph_cb.code_object.debug_info.constants import At, Tag
from hipgraph_cb.code_object.debug_info.cursor import malformed
from hipgraph_cb.code_object.debug_info.unit import Entry, Range, Unit

FEW_FUNCTIONS, LEAST_FUNCTION = 64, 8
"""An entry with code takes nine bytes at least, so what has more of them is no debug information."""
LONGEST_CHAIN = 4
"""From a function to its declaration, over what it is an instance of."""

_FUNCTIONS = frozenset({Tag.SUBPROGRAM, Tag.INLINED_SUBROUTINE})


@dataclass
class Function:
    """A function, or one place that it was inlined into.

    Attributes:
        entry: the offset of its entry.
        call_file, call_line: where it was called, when it was inlined; a file is a number of the line program.
    """

    entry: int
    ranges: tuple[Range, ...]
    call_file: int = 0
    call_line: int = 0
    inlined: list[Function] = field(default_factory=list)

    def holds(self, address: int) -> bool:
        """Whether the instruction at `address` belongs to it."""
        return any(each.start <= address < each.end for each in self.ranges)


def read_functions(unit: Unit) -> list[Function]:
    """The functions of a unit that have code, in the order of the file.

    Raises:
        InvalidArgumentError: an entry is malformed.
        ResourceExhaustedError: the unit takes too long to read.
    """
    found: list[Function] = []
    most, count = FEW_FUNCTIONS + (unit.end - unit.first) // LEAST_FUNCTION, 0
    scopes: list[list[Function]] = [found]
    for entry, has_children in unit.walk(unit.first, _FUNCTIONS):
        inner = scopes[-1]
        if entry is not None and entry.tag == 0:
            scopes.pop()
            if len(scopes) < 2:  # the end of what is below the root
                break
            continue
        ranges = () if entry is None else unit.ranges(entry)
        if entry is not None and ranges:
            count += 1
            if count > most:
                raise malformed(f".debug_info offset {entry.offset:#x}", f"more than {most} functions in one unit")
            function = Function(entry.offset, ranges, entry.number(At.CALL_FILE), entry.number(At.CALL_LINE))
            (inner if entry.tag == Tag.INLINED_SUBROUTINE else found).append(function)
            inner = function.inlined
        if has_children:
            scopes.append(inner)
    return found


def chain(functions: list[Function], address: int) -> list[Function]:
    """The function that the instruction at `address` belongs to, and what is inlined there, the innermost last."""
    found: list[Function] = []
    while True:
        inner = next((each for each in functions if each.holds(address)), None)
        if inner is None:
            return found
        found.append(inner)
        functions = inner.inlined


def declarations(unit: Unit, entry: Entry) -> list[Entry]:
    """The entry of a function, what it is an instance of, and what declares that."""
    found = [entry]
    while len(found) <= LONGEST_CHAIN:
        origin = unit.reference(found[-1], At.ABSTRACT_ORIGIN) or unit.reference(found[-1], At.SPECIFICATION)
        if origin is None:
            break
        found.append(unit.entry(origin))
    return found


def name_of(unit: Unit, entry: Entry) -> str | None:
    """The name of a function or parameter, as it is in the source."""
    for each in declarations(unit, entry):
        name = unit.text(each, At.NAME) or unit.text(each, At.LINKAGE_NAME)
        if name:
            return name
    return None
