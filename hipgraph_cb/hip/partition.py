"""Where a recording is cut: HIP cannot read workgroup counts from memory, so the host reads them between two graphs.

A recording without indirect dispatches is one section. Otherwise everything recorded before an indirect dispatch is a
graph of its own, then the host waits for it, reads the counts and launches the kernel, and the rest follows. Indirect
dispatches in a row that do not wait for each other share one cut. A nested recording that has to be cut is taken apart
like the commands of the outer one; its commands then run in the order of the stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from hipgraph_cb.backend.nested_scope import NestedScope, signalled_in
from hipgraph_cb.backend.supported import contains
from hipgraph_cb.recording.commands import DispatchIndirect
from hipgraph_cb.recording.dependencies import AutoJoin, Dependencies, JoinPolicy, PlannedNode, plan, plan_dependencies
from hipgraph_cb.recording.events import EventStates, nested_in


class Section(NamedTuple):
    """The commands from `start` up to `stop`, for one graph.

    Attributes:
        signalled: the events that are signalled by a command of the same program before `start`.
    """

    scope: NestedScope
    start: int
    stop: int
    signalled: frozenset[int] = frozenset()

    @property
    def is_whole(self) -> bool:
        return self.start == 0 and self.stop == len(self.scope.recording)

    def plan(self, policy: JoinPolicy, auto: AutoJoin) -> Iterator[PlannedNode]:
        """The nodes to add. What the commands before `start` did is done when this graph starts."""
        recording = self.scope.recording
        if recording.dependencies is not None:
            return plan_dependencies(self._dependencies(recording.dependencies), policy, auto=auto, first=self.start)
        inside = (bound for bound in recording.layer_starts if self.start < bound < self.stop)
        bounds = [self.start, *inside, self.stop]
        layers = [range(start, end) for start, end in pairwise(bounds)]
        return plan(layers, policy, auto=auto)

    def _dependencies(self, dependencies: Dependencies) -> Dependencies:
        """Those within the section, counted from its start; shared tuples stay shared."""
        if self.start == 0:
            return dependencies[: self.stop]
        known: dict[int, tuple[int, ...]] = {}
        result = []
        for waits in dependencies[self.start : self.stop]:
            inside = known.get(id(waits))
            if inside is None:
                inside = known[id(waits)] = tuple(wait - self.start for wait in waits if wait >= self.start)
            result.append(inside)
        return tuple(result)


class IndirectCalls(NamedTuple):
    """Indirect dispatches that do not wait for each other, from `start` up to `stop`."""

    scope: NestedScope
    start: int
    stop: int

    @property
    def command(self) -> int | None:
        """As `ExecutableGraph.command`."""
        return self.scope.outermost_command


Step = Section | IndirectCalls


def steps_of(scope: NestedScope) -> list[Step]:
    """The steps of a program, in order."""
    recording = scope.recording
    if not contains(recording, DispatchIndirect):
        return [Section(scope, 0, len(recording), scope.signalled)]
    steps: list[Step] = []
    states = EventStates()
    states.outcomes.update(dict.fromkeys(scope.signalled, True))
    start, before = 0, scope.signalled
    for index, command in enumerate(recording):
        nested = nested_in(recording, command)
        is_cut = isinstance(command, DispatchIndirect) or (nested is not None and contains(nested, DispatchIndirect))
        if is_cut:
            if start < index:
                steps.append(Section(scope, start, index, before))
            if nested is None:
                _add_call(steps, scope, index)
            else:
                steps.extend(steps_of(scope.nested(index, signalled_in(states))))
        states.enter(command, nested)
        if is_cut:
            start, before = index + 1, signalled_in(states)
    if start < len(recording):
        steps.append(Section(scope, start, len(recording), before))
    return steps


def _add_call(steps: list[Step], scope: NestedScope, index: int) -> None:
    last = steps[-1] if steps else None
    if isinstance(last, IndirectCalls) and last.scope is scope and last.stop == index and _is_free(last, index):
        steps[-1] = last._replace(stop=index + 1)
    else:
        steps.append(IndirectCalls(scope, index, index + 1))


def _is_free(calls: IndirectCalls, index: int) -> bool:
    """Whether the command does not wait for any of the calls, so that its counts may be read together with theirs."""
    recording = calls.scope.recording
    if recording.dependencies is not None:
        return not any(wait >= calls.start for wait in recording.dependencies[index])
    return index not in recording.layer_starts
