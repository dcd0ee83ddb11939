"""What debug information says about one code object: source lines of addresses, parameters of kernels."""

from __future__ import annotations

from typing import NamedTuple

from hipgraph_cb.cached import cached_property
from hipgraph_cb.code_object.data_types import DataType
from hipgraph_cb.code_object.debug_info.constants import At, Tag
from hipgraph_cb.code_object.debug_info.cursor import Budget
from hipgraph_cb.code_object.debug_info.functions import (
    Function,
    chain,
    declarations,
    name_of,
    read_functions,
)
from hipgraph_cb.code_object.debug_info.line_table import LineTable
from hipgraph_cb.code_object.debug_info.sections import DebugSections, debug_sections
from hipgraph_cb.code_object.debug_info.types import TypeReader
from hipgraph_cb.code_object.debug_info.unit import Unit, read_units
from hipgraph_cb.errors import HipGraphError

_PARAMETERS = frozenset({Tag.FORMAL_PARAMETER})


class Frame(NamedTuple):
    """A place in a source, in the function that an instruction belongs to, or in one that it was inlined into.

    Attributes:
        file: its path, as the compiler wrote it.
        line: 0 where the compiler made the code and no line did.
        function: the name in the source, where it is known.
    """

    file: str
    line: int
    function: str | None

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return place if self.function is None else f"{place} in {self.function}"


class DebugParameter(NamedTuple):
    """A parameter of a kernel, as its source has it; `type` is None where it is not known."""

    name: str | None
    type: DataType | None


class DebugInfo:
    """Reads what is asked for, when it is. What is malformed is as if it were not there; `problem` says what it was.

    Attributes:
        problem: why something could not be read; None as long as everything that was asked for could.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.problem: HipGraphError | None = None
        self._read: dict[int, _ReadUnit | None] = {}

    @cached_property
    def _sections(self) -> DebugSections | None:
        return debug_sections(self._data)

    @property
    def is_there(self) -> bool:
        """Whether the file has any."""
        return self._sections is not None

    def frames(self, address: int) -> tuple[Frame, ...]:
        """The line that the instruction at `address` of the file comes from, then where that function was inlined,
        outwards; empty where that is not known."""
        unit = self._unit_of(address)
        try:
            return () if unit is None else unit.frames(address)
        except HipGraphError as error:
            self.problem = error
            return ()

    def parameters(self, entry: int) -> tuple[DebugParameter, ...] | None:
        """The parameters of the kernel whose code starts at `entry`; None where they are not known."""
        unit = self._unit_of(entry)
        try:
            return None if unit is None else unit.parameters(entry)
        except HipGraphError as error:
            self.problem = error
            return None

    def _unit_of(self, address: int) -> _ReadUnit | None:
        """The unit that has the code at `address`; what is malformed is looked at once."""
        for unit in self._units:
            unit.budget = Budget(unit.sections.size)
            if unit.offset not in self._read:
                try:
                    ranges = unit.ranges(unit.root)
                    if ranges and not any(each.start <= address < each.end for each in ranges):
                        continue
                    self._read[unit.offset] = _ReadUnit(unit)
                except HipGraphError as error:
                    self.problem, self._read[unit.offset] = error, None
            read = self._read[unit.offset]
            if read is not None and chain(read.functions, address):
                return read
        return None

    @cached_property
    def _units(self) -> list[Unit]:
        """All units, up to the first that is malformed."""
        found: list[Unit] = []
        if self._sections is not None:
            try:
                for unit in read_units(self._sections):
                    found.append(unit)  # those before an error are kept
            except HipGraphError as error:
                self.problem = error
        return found


class _ReadUnit:
    """A unit with its functions; its lines are read when they are asked for."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self.functions = read_functions(unit)
        self._lines: LineTable | None = None
        self._has_lines = At.STMT_LIST in unit.root.attributes

    def frames(self, address: int) -> tuple[Frame, ...]:
        functions = chain(self.functions, address)
        lines = self._line_table()
        row = None if lines is None else lines.row(address)
        if lines is None or row is None:
            return ()
        file, line = row.file, row.line
        found = []
        for function in reversed(functions):
            path = lines.path(file)
            if path is not None:
                found.append(Frame(path, line, self._name(function)))
            file, line = function.call_file, function.call_line
        return tuple(found)

    def parameters(self, entry: int) -> tuple[DebugParameter, ...] | None:
        unit = self._unit
        function = next((each for each in self.functions if each.ranges[0].start == entry), None)
        if function is None:
            return None
        types = TypeReader(unit)
        for declared in declarations(unit, unit.entry(function.entry)):
            found = [
                DebugParameter(name_of(unit, each), types.type_of(declarations(unit, each)[-1]))
                for each in unit.children(declared, _PARAMETERS)
            ]
            if found:
                return tuple(found)
        return ()

    def _name(self, function: Function) -> str | None:
        return name_of(self._unit, self._unit.entry(function.entry))

    def _line_table(self) -> LineTable | None:
        root = self._unit.root
        if self._has_lines and self._lines is None:
            self._has_lines = False  # until they were read
            folder = self._unit.text(root, At.COMP_DIR) or ""
            self._lines = LineTable(self._unit, folder, root.number(At.STMT_LIST))
            self._has_lines = True
        return self._lines
