"""All arguments of the calls of HIP for the commands of one scope, ready before the first node is added."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hipgraph_cb.backend.arena import Arena, form_sizes, rows_of
from hipgraph_cb.backend.host_calls import NO_CALL
from hipgraph_cb.cached import cached_property
from hipgraph_cb.hip.api import Pointers
from hipgraph_cb.hip.node_kinds import SWITCHABLE, NodeKind, Prepared, node_kinds, reshape
from hipgraph_cb.hip.node_parameters import ParameterBlock, without_table
from hipgraph_cb.recording.forms import check_form
from hipgraph_cb.recording.launch_form import LaunchForm

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hipgraph_cb.backend.nested_scope import NestedScope
    from hipgraph_cb.hip.api import HipApi
    from hipgraph_cb.hip.commands import CommandArguments
    from hipgraph_cb.hip.row_launches import RowLaunches
    from hipgraph_cb.recording.commands import Command


class Call(NamedTuple):
    """How nodes of one form are added and changed.

    Attributes:
        image: the memory of the parameter block, whose `raw` is written before each call; None where there is none.
        native: the block as hip-python takes it.
        add: the function that adds one.
        name, change: what the functions are called that add and change one.
    """

    image: Any
    native: Any
    add: Callable[..., Any]
    name: str
    change: str


class Kernels(NamedTuple):
    """Of dispatches, by the number of a form.

    Attributes:
        functions: the addresses of the hipFunction_t.
        extents: where the shape of a launch begins in a block.
        offsets: where each explicit argument is.
    """

    functions: NDArray[np.uint64]
    extents: NDArray[np.intp]
    offsets: list[Sequence[int]]


CHUNK = 1280
"""Commands that are prepared together, where nothing will change: what they take in memory is released."""


class PreparedNodes:
    """Parameters for the nodes of a scope, and the arena that they lead into.

    Args:
        whole: whether all of it is kept, so that `apply` can change it; else `load` prepares a stretch at a time.

    Attributes:
        commands: what is prepared now.
        rows: the number of the form of each command.
        parameters: for each of `commands` the image of its parameter block or the arguments of its call; None where it
            is no node of a kind that has them.
        calls: by the number of a form; None where its commands have no parameters.
        has_open_shapes: whether numbers in slots decide how many workgroups or how much LDS a command has.
        idle: the commands that launch no workgroups, by their index in the scope. Their parameters say one.
    """

    def __init__(self, api: HipApi, scope: NestedScope, arguments: CommandArguments, whole: bool = True) -> None:
        self._arguments = arguments
        self._scope = scope
        self._table = scope.table
        self._is_nested = scope.outer is not None
        self._extents = arguments.extents(self._table.places)
        self._now = self._extents.bound(arguments.slots)
        self._kept: dict[int, list[NDArray[Any]]] = {}
        self._preparing = 0
        kinds = node_kinds(arguments.fill_kernel)
        self._kinds_used: list[NodeKind] = []
        self._which = np.full(max(len(self._table.forms), 1), -1)
        self._commands: dict[int, NDArray[np.intp]] = {}
        self._pointers = Pointers()
        self._blocks: dict[Callable[[], ParameterBlock], ParameterBlock] = {}
        self.calls: list[Call | None] = [None] * len(self._table.forms)
        self.idle: set[int] = set()
        self._has_open_shape = self.form_facts("has_open_shape").astype(bool)
        self.has_open_shapes = bool(self._has_open_shape.any())
        made: dict[NodeKind, Call] = {}
        for number in np.flatnonzero(np.bincount(rows_of(self._table))).tolist():
            form = self._table.forms[number]
            kind = kinds.get(form.kind)
            if kind is not None:
                check_form(form)
                if kind not in made:
                    made[kind] = self._call(api, kind)
                    self._kinds_used.append(kind)
                self._which[number] = self._kinds_used.index(kind)
                self.calls[number] = made[kind]
        count = len(self._table)
        self._step = max(count, 1) if whole else CHUNK
        self._bounds = self._starts_of_stretches()
        self.commands = range(0)
        self.load(0)

    def stretches(self) -> Iterator[range]:
        """All commands, as stretches that are prepared one after the other."""
        for first in range(0, len(self._table), self._step):
            self.load(first)
            yield self.commands

    def load(self, command: int) -> None:
        """Let the stretch with this command be the one that is prepared."""
        if command in self.commands:
            return
        number = command // self._step
        first = number * self._step
        self.commands = range(first, min(first + self._step, len(self._table)))
        self.arena = Arena(self._table, self.commands, self._bounds[number])
        self.arena.apply(self._now)
        self.rows: list[int] = self.arena.rows.tolist()
        self.parameters: list[Prepared | None] = [None] * len(self.rows)
        self._kept.clear()
        self._commands = {}
        which = self._which[self.arena.rows]
        for number, kind in enumerate(self._kinds_used):
            commands = np.flatnonzero(which == number)
            if len(commands):
                self._commands[number] = commands
                self._prepare(number, kind, commands)

    def of(self, command: int) -> tuple[Call | None, Prepared | None]:
        """How the node of a command is added, and with what."""
        self.load(command)
        index = command - self.commands.start
        if command in self.idle and self._is_nested:  # an empty node, for it is never changed
            return None, None
        return self.calls[self.rows[index]], self.parameters[index]

    def apply(self) -> list[int]:
        """Take the present addresses; returns the commands whose nodes have to change."""
        changed = self.arena.apply(self._extents.bound(self._arguments.slots))
        moving = [number for number, kind in enumerate(self._kinds_used) if not kind.leads_into_arena]
        if moving and changed:
            indices = np.array(changed, np.intp)
            which = self._which[self.arena.rows[indices]]
            for number in moving:
                commands, kind = indices[which == number], self._kinds_used[number]
                if len(commands):
                    self._prepare(number, kind, self._commands[number] if kind.keeps_memory else commands)
        if self.has_open_shapes:
            reshaped = np.array(changed, np.intp)[self._has_open_shape[self.arena.rows[changed]]]
            self._enter(reshaped, reshape(self, reshaped))
        return changed

    def differing(self, before: PreparedNodes) -> list[int]:
        """The commands that have other arguments than those of another scope of the same structure."""
        return [index for index in range(len(self.rows)) if self._reported(index) != before._reported(index)]

    def _reported(self, index: int) -> tuple[Any, ...]:
        """The arguments of the call for a command's node; of host bytes which they are."""
        form, parameters = self._table.forms[self.rows[index]], self.parameters[index]
        if isinstance(form, LaunchForm) and isinstance(parameters, bytes):
            start = int(self.arena.starts[index])
            return *without_table(parameters), self.arena.bytes[start : start + form.extent].tobytes()
        if isinstance(parameters, bytes) or parameters is None:
            return (parameters,)
        return tuple([id(each) if isinstance(each, bytes) else int(each) for each in parameters])

    def note_idle(self, commands: NDArray[np.intp], is_idle: NDArray[np.bool_]) -> None:
        """Say which of some commands launch no workgroups."""
        indices = commands + self.commands.start
        self.idle.difference_update(indices[~is_idle].tolist())
        self.idle.update(indices[is_idle].tolist())

    @property
    def off(self) -> Set[int]:
        """The commands of the outermost recording whose nodes are switched off, by index."""
        if self._is_nested:
            return set()
        forms, rows = self._table.forms, self._table.rows
        return self.idle.union(index for index in self._arguments.disabled if forms[rows[index]].kind in SWITCHABLE)

    def _starts_of_stretches(self) -> list[int]:
        """Where the blocks of each stretch begin."""
        sizes = form_sizes(self._table)[rows_of(self._table)]
        firsts = range(0, len(sizes), self._step)
        return [0, *np.cumsum(np.add.reduceat(sizes, firsts)).tolist()] if len(sizes) else [0]

    def extents(self, commands: NDArray[np.intp], index: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Addresses and lengths of the place that the relocation `index` of each command leads to."""
        numbers = self.arena.places_of(commands, index)
        return self.arena.extents.addresses[numbers], self.arena.extents.lengths[numbers]

    def pointers(self, addresses: NDArray[np.uint64]) -> list[Any]:
        """Addresses as hip-python takes them fastest."""
        return list(map(self._pointers.__getitem__, addresses.tolist()))

    def command(self, index: int) -> Command:
        """A command of the stretch that is prepared, by its index there."""
        return self._table[self.commands.start + index]

    def host_call(self, index: int) -> int:
        """The number of the host call of a command, by its index in the stretch that is prepared."""
        number = self.commands.start + index
        if not self._is_nested and number in self._arguments.disabled:
            return NO_CALL
        where = self._scope.where(number)
        return self._arguments.host_call(self.command(index), where)  # type: ignore[arg-type]

    @property
    def row_launches(self) -> RowLaunches:
        """Our own kernels for rows."""
        return self._arguments.row_launches

    def keep(self, block: NDArray[Any]) -> NDArray[Any]:
        """Hold memory that parameters point to."""
        self._kept[self._preparing].append(block)
        return block

    @cached_property
    def kernels(self) -> Kernels:
        """What the nodes of dispatches need of their kernels, by the number of a form."""
        functions, extents = np.zeros(len(self._table.forms), np.uint64), np.zeros(len(self._table.forms), np.intp)
        offsets: list[Sequence[int]] = [()] * len(self._table.forms)
        for number, form in enumerate(self._table.forms):
            if isinstance(form, LaunchForm) and self.calls[number] is not None:
                executable = self._arguments.executable(form.executable)
                functions[number], extents[number] = executable.function(form.export), form.extent
                offsets[number] = executable.verified.exports[form.export].layout.offsets
        return Kernels(functions, extents, offsets)

    def form_facts(self, name: str) -> NDArray[np.intp]:
        """A number that forms have, by the number of a form."""
        return np.array([getattr(form, name, 0) for form in self._table.forms] or [0], np.intp)

    def _prepare(self, number: int, kind: NodeKind, commands: NDArray[np.intp]) -> None:
        self._preparing, self._kept[number] = number, []
        prepared = kind.prepare(self, commands)
        if len(prepared) == len(self.parameters):
            self.parameters = list(prepared)
            return
        self._enter(commands, prepared)

    def _enter(self, commands: NDArray[np.intp], prepared: Sequence[Prepared]) -> None:
        parameters = self.parameters
        for command, each in zip(commands.tolist(), prepared, strict=True):
            parameters[command] = each

    def _call(self, api: HipApi, kind: NodeKind) -> Call:
        block = None
        if kind.block is not None:
            block = self._blocks.get(kind.block) or self._blocks.setdefault(kind.block, kind.block())
        image, native = (None, None) if block is None else (block.image, block.native)
        return Call(image, native, api.function(kind.add), kind.add, kind.change)
