"""Commands as a recording keeps them.

Of thousands of dispatches most differ in the numbers among their arguments alone. They are kept as one command, the
model, with a kernarg block for each. That is less to make, and bytes are nothing to the garbage collector, which would
look at a tuple for each command over and over while a recording grows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hipgraph_cb.recording.commands import Command, Dispatch

NO_BLOCK = b""
_new = tuple.__new__


class CommandStore:
    """The commands in order. A recording that holds them relies on nobody changing them any more.

    Attributes:
        models: for each command the command itself, or a dispatch that has another kernarg block and perhaps a label.
        kernargs: for each dispatch its block, of which zeros at the end may be left out; nothing for the others.
        labels: by index, of dispatches that have one and whose model has none.
    """

    __slots__ = ("kernargs", "labels", "models")

    def __init__(self, commands: Iterable[Command] = ()) -> None:
        self.models: list[Command] = []
        self.kernargs: list[bytes] = []
        self.labels: dict[int, str] = {}
        for command in commands:
            self.append(command)

    def append(self, command: Command) -> None:
        self.models.append(command)
        self.kernargs.append(command.kernarg if isinstance(command, Dispatch) else NO_BLOCK)

    def __len__(self) -> int:
        return len(self.models)

    def __getitem__(self, index: int) -> Command:
        model, kernarg, label = self.models[index], self.kernargs[index], self.labels.get(index)
        if not isinstance(model, Dispatch) or (model.kernarg is kernarg and label is None):
            return model
        block = kernarg.ljust(len(model.kernarg), b"\0")
        return _new(Dispatch, (*model[:5], block, model.pointers, model.accesses, label))

    def __iter__(self) -> Iterator[Command]:
        return map(self.__getitem__, range(len(self)))
