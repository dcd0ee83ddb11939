"""One command of a program, to be given other arguments or switched off between replays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hipgraph_cb.recording.commands import Command
    from hipgraph_cb.runtime.program import Program


class ProgramCommand:
    """A command of a program: `program[index]`.

    Attributes:
        program, index: which.
    """

    __slots__ = ("index", "program")

    def __init__(self, program: Program, index: int) -> None:
        self.program = program
        self.index = index

    @property
    def command(self) -> Command:
        """What it is now."""
        return self.program.recording[self.index]

    @property
    def enabled(self) -> bool:
        """Whether replays from now on run it. What waits for it waits for what it waits for where they do not.

        Setting it raises:
            InvalidArgumentError: neither True nor False.
            UnimplementedError: a command about events, or a nested recording with such commands.
            HipError, HsaError: the runtime refused; it stays as it was.
        """
        return self.program._is_enabled(self.index)

    @enabled.setter
    def enabled(self, value: bool) -> None:
        self.program._set_enabled(self.index, value)

    def update(self, **changes: Any) -> None:
        """Give it other arguments for the replays from now on; those in flight keep what they have.

        Args:
            changes: the arguments of its verb that are to be others. Of a dispatch `workgroup_count`,
                `workgroup_size`, `args` (all of them, or a mapping from indices or names), `bindings` with `constants`,
                `dynamic_lds`, `reads`, `writes`; of a fill `target`, `pattern`, `pattern_length`; of an update
                `target`, `data`; of a copy `source`, `target`.

        Raises:
            InvalidArgumentError: an argument that its verb does not have, or refuses.
            OutOfRangeError: as the verb.
            UnimplementedError: a command about events, of rows, a host call, or a nested recording.
            HipError, HsaError: the runtime refused; everything stays as it was.
        """
        self.program._update_command(self.index, changes)

    def __repr__(self) -> str:
        state = "" if self.enabled else ", switched off"
        return f"<{self.program.recording.where(self.index)} of {self.program.describe()}{state}>"
