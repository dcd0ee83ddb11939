"""Runs the waves of a chunk: groups of waves at the same PC, which split at branches and merge where PCs meet.

A group has one MODE too; waves at one PC under different modes are different groups. Of several groups the one at the
lowest PC runs first, which makes them meet again after an `if` or a loop. A group that takes `PATIENCE` backward
branches while others wait falls behind those (it may be waiting for them). When a chunk goes on like that and no
other group can run, `run` returns SPINNING, and the dispatcher brings in further workgroups.

Most waits are recognised long before: an iteration that changes no memory and leaves every register as it was will be
followed by the same one until another wave changes memory. Such a group falls behind at once. Loops with barriers in
them are recognised by the number of barriers: workgroups that have passed many more than others fall behind those.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from operator import length_hint
from typing import TYPE_CHECKING, Any

import numpy as np

from hipgraph_cb.virtual.faults import DeviceFault, FaultKind
from hipgraph_cb.virtual.isa.core.control import (
    Barrier,
    Branch,
    ConditionalBranch,
    ControlFlow,
    EndProgram,
    Jump,
    SetMode,
)
from hipgraph_cb.virtual.isa.core.instruction import UnknownInstruction
from hipgraph_cb.virtual.isa.core.lane_mask import LaneMask, any_set
from hipgraph_cb.virtual.isa.core.state import uniform
from hipgraph_cb.virtual.isa.execution.diverged_barriers import arrivals_in, described

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.instruction import Instruction
    from hipgraph_cb.virtual.isa.core.registry import Step
    from hipgraph_cb.virtual.isa.core.state import Snapshot
    from hipgraph_cb.virtual.isa.execution.program import Block, Program
from hipgraph_cb.virtual.isa.core.state import Bits, State

PATIENCE = 1000
BARRIER_PATIENCE = 32  # barriers that a workgroup passes before those that passed fewer go first
SPIN_LIMIT = 1000  # backward branches of a chunk's first turn; each further turn has as many more
FIRST_LOOK = 8  # backward branches after which a group is first looked at for waiting; then at 16, 32, ...
POLL_INTERVAL = 64  # instructions between two looks at `interrupted`

Place = tuple[int, int]
"""The state that a group of waves shares: PC and MODE."""


class Outcome(Enum):
    FINISHED = "every wave has ended"
    PAUSED = "other workgroups have a turn"
    SPINNING = "the chunk loops and may be waiting for another workgroup"


class Chunk:
    """The waves of `state`, from `entry` (an offset into the program's code) to their end."""

    def __init__(self, state: State, program: Program, entry: int) -> None:
        self._state = state
        self._program = program
        self._pc = entry
        # Members are bool [waves, 1]. `None` is every wave that has not ended.
        self._members: Bits | None = None
        self._penalty = 0
        self._programs = {state.mode: program}  # by the MODE that waves run under
        self._waiting: dict[Place, tuple[int, Bits]] = {}  # place -> (penalty, members)
        self._passes = np.zeros(state.placement.groups, np.int64)  # barriers each workgroup has left behind others
        self._parked: dict[Place, Bits] = {}  # place behind the barrier -> members
        self._live: Bits = np.ones((state.waves, 1), np.bool_)
        self._backward = 0
        self._total_backward = 0
        self._turns = 0
        self._snapshot: tuple[int, Snapshot] | None = None  # where a backward branch went, and the registers then
        self._only_read = True  # nothing was written since the snapshot
        self._is_stuck = False  # the running group has been found waiting
        self._stuck = 0  # how many groups in turn have been found waiting, without a write in between

    def run(self, interrupted: Callable[[], bool]) -> Outcome:
        """Run until every wave has ended, or until the chunk seems to spin; may be called again then.

        Raises:
            DeviceFault: a wave faulted, or `interrupted` returned true (TIMEOUT).
        """
        self._turns += 1
        limit = SPIN_LIMIT * self._turns
        self._total_backward = self._backward = 0
        countdown = 0
        while True:
            if countdown <= 0:
                countdown = POLL_INTERVAL
                if interrupted():
                    raise self._stopped()
                if self._total_backward > limit:
                    return Outcome.SPINNING
            block = self._program.blocks.get(self._pc) or self._fetch()
            self._execute(block)
            countdown -= len(block.steps) + 1
            if not block.only_reads and self._has_written(block):
                self._only_read = False
                self._stuck = 0
            if block.control is None:
                self._pc = block.end
            elif self._leave(block, block.control):
                return Outcome.FINISHED
            if self._is_stuck and self._give_way():
                return Outcome.SPINNING
            if self._waiting:
                self._yield_to_others()

    def _execute(self, block: Block) -> None:
        state = self._state
        remaining = iter(block.steps)
        try:
            for step in remaining:
                step(state)
        except DeviceFault:
            raise
        except Exception as error:
            index = len(block.steps) - length_hint(remaining) - 1
            raise self._failed(block.instructions[index], error) from error

    def _leave(self, block: Block, control: ControlFlow) -> bool:
        """Do what ends a block, with the errors of `_execute`; true means that every wave has ended."""
        try:
            return _HANDLERS[type(control)](self, control, block.end)
        except DeviceFault:
            raise
        except Exception as error:
            if block.last is None:
                raise
            raise self._failed(block.last, error) from error

    def _execute_step(self, step: Step, instruction: Instruction) -> None:
        """One instruction, with the errors of `_execute`."""
        try:
            step(self._state)
        except DeviceFault:
            raise
        except Exception as error:
            raise self._failed(instruction, error) from error

    def _failed(self, instruction: Instruction, error: Exception) -> DeviceFault:
        return self._state.fault(instruction, f"the virtual GPU failed: {type(error).__name__}: {error}")

    def _fetch(self) -> Block:
        try:
            return self._program.block(self._pc)
        except UnknownInstruction as error:
            text = None if error.word is None else f".long {error.word:#010x}"
            raise self._state.placement.fault_at(
                FaultKind.ILLEGAL_INSTRUCTION, str(error), self._pc, self._first_member(), text
            ) from None

    def _stopped(self) -> DeviceFault:
        block = self._program.block(self._pc)
        first = block.instructions[0] if block.instructions else block.last
        text = None if first is None else self._state.placement.text_of(first)
        return self._state.placement.fault_at(
            FaultKind.TIMEOUT,
            f"the wait for it was given up{self._who_waits()}",
            self._pc,
            self._first_member(),
            text,
        )

    def _who_waits(self) -> str:
        """The waves of the first workgroup that wait at barriers, in words."""
        if not self._parked:
            return ""
        placement = self._state.placement
        wave = min(int(members.argmax()) for members in self._parked.values())
        first = wave - wave % placement.waves_per_group
        arrivals = arrivals_in(self._parked, slice(first, first + placement.waves_per_group))
        return f"; of workgroup {placement.workgroup(wave)} wait {described(arrivals, placement.entry)}"

    def _first_member(self) -> int:
        return int((self._live if self._members is None else self._members).argmax())

    # control flow: each handler sets the next PC; true means that every wave has ended

    def _go(self, target: int, end: int) -> bool:
        if target < end:
            self._backward += 1
            self._total_backward += 1
            if self._snapshot is not None or self._backward >= FIRST_LOOK:
                self._look_for_waiting(target)
        self._pc = target
        return False

    def _has_written(self, block: Block) -> bool:
        changed, self._state.atomics_changed = self._state.atomics_changed, False
        return changed or block.writes

    def _look_for_waiting(self, target: int) -> None:
        state, count = self._state, self._backward
        if self._snapshot is not None and self._snapshot[0] == target:
            self._is_stuck = self._only_read and state.is_as_in(self._snapshot[1])
            self._snapshot = None
        if count >= FIRST_LOOK and count & (count - 1) == 0:
            self._snapshot = target, state.snapshot()
            self._only_read = True
        state.watches_atomics = self._snapshot is not None

    def _give_way(self) -> bool:
        """Put the group that waits behind the others; true when all of them have been found waiting."""
        self._is_stuck = False
        self._stuck += 1
        self._penalty += 1
        self._backward = 0
        if self._stuck <= len(self._waiting):
            return False
        self._stuck = 0
        self._turns -= 1
        return True

    def _branch(self, control: Branch, end: int) -> bool:
        return self._go(control.target, end)

    def _conditional_branch(self, control: ConditionalBranch, end: int) -> bool:
        taken = control.taken(self._state)
        if not isinstance(taken, (bool, np.bool_)):
            members = self._live if self._members is None else self._members
            going = members & taken
            if any_set(going):
                staying = members & ~going
                if any_set(staying):
                    return self._part(((control.target, going), (end, staying)), control.target < end)
                taken = True
            else:
                taken = False
        if taken:
            return self._go(control.target, end)
        self._pc = end
        return False

    def _part(self, parts: tuple[tuple[int, Bits], ...], backward: bool) -> bool:
        for pc, members in parts:
            self._add((pc, self._state.mode), self._penalty, members)
        backlog = self._backward + int(backward)
        self._total_backward += int(backward)
        self._pick()
        self._backward = backlog
        return False

    def _jump(self, control: Jump, end: int) -> bool:
        state = self._state
        destination = control.destination(state)
        if control.link is not None:
            control.link(state, state.placement.code_address + end)
        if isinstance(destination, LaneMask):
            destination = uniform(destination.words(state.shape))
        base = state.placement.code_address
        if isinstance(destination, int):
            return self._go(destination - base, end)
        members = self._live if self._members is None else self._members
        targets = np.unique(destination[members[:, 0]])
        parts = tuple((int(target) - base, members & (destination == target)) for target in targets)
        return self._go(parts[0][0], end) if len(parts) == 1 else self._part(parts, parts[0][0] < end)

    def _set_mode(self, control: SetMode, end: int) -> bool:
        state = self._state
        mode = control.value(state, state.mode)
        if isinstance(mode, int):
            self._enter(mode)
            self._pc = end
            return False
        members = self._live if self._members is None else self._members
        for number in np.unique(mode[members]).tolist():
            self._add((end, number), self._penalty, members & (mode == number))
        self._pick()
        return False

    def _enter(self, mode: int) -> None:
        """Go on under `mode`; groups that wait keep theirs."""
        state = self._state
        if mode != state.mode:
            state.mode = mode
            program = self._programs.get(mode)
            if program is None:
                program = self._programs[mode] = self._program.under(mode)
            self._program = program

    def _barrier(self, control: Barrier, end: int) -> bool:
        del control
        if self._members is None and not self._parked:
            self._pc = end
            return False
        members = self._live if self._members is None else self._members
        place = (end, self._state.mode)
        self._parked[place] = members | self._parked[place] if place in self._parked else members
        self._release()
        self._pick()
        return False

    def _end(self, control: EndProgram, end: int) -> bool:
        del control, end
        if self._members is None:
            if not self._parked:
                return True
            raise RuntimeError("waves are parked although every wave has ended")
        self._live = self._live & ~self._members
        self._state.retire(self._members, self._live)
        if self._parked:
            self._release()
        self._pick()
        return False

    def _release(self) -> None:
        """Free the parked waves of every workgroup of which all waves that have not ended are parked."""
        arrived = np.logical_or.reduce(list(self._parked.values()))
        missing = self._live & ~arrived
        count = self._state.placement.waves_per_group
        complete = ~missing.reshape(-1, count).any(axis=1)
        free = np.repeat(complete, count).reshape(-1, 1)
        self._look_at_barriers(complete)
        self._passes[complete] += 1
        for place, members in list(self._parked.items()):
            freed, kept = members & free, members & ~free
            if any_set(freed):
                fewest = self._passes[freed.reshape(-1, count).any(axis=1)].min()
                self._add(place, int(fewest) // BARRIER_PATIENCE, freed)
            if any_set(kept):
                self._parked[place] = kept
            else:
                del self._parked[place]

    def _look_at_barriers(self, complete: Bits) -> None:
        """Called before the parked waves of the `complete` workgroups (bool [groups]) go on."""

    # groups

    def _add(self, place: Place, penalty: int, members: Bits) -> None:
        found = self._waiting.get(place)
        if found is not None:
            penalty, members = min(penalty, found[0]), members | found[1]
        self._waiting[place] = (penalty, members)

    def _pick(self) -> None:
        """Run the group with the lowest penalty, of those the one with the lowest PC."""
        place = min(self._waiting, key=lambda candidate: (self._waiting[candidate][0], candidate))
        penalty, members = self._waiting.pop(place)
        self._pc, mode = place
        self._penalty, self._backward, self._snapshot = penalty, 0, None
        self._members = None if not self._waiting and not self._parked else members
        self._state.set_group(self._members)
        self._enter(mode)

    def _yield_to_others(self) -> None:
        if self._backward > PATIENCE:
            self._backward = 0
            self._penalty += 1
        place = (self._pc, self._state.mode)
        first = min((penalty, candidate) for candidate, (penalty, _) in self._waiting.items())
        if place in self._waiting or first < (self._penalty, place):
            backlog = self._backward
            self._add(place, self._penalty, self._live if self._members is None else self._members)
            self._pick()
            if (self._pc, self._state.mode) == place:
                self._backward = backlog


_HANDLERS: dict[type[ControlFlow], Callable[[Chunk, Any, int], bool]] = {
    Branch: Chunk._branch,
    ConditionalBranch: Chunk._conditional_branch,
    Barrier: Chunk._barrier,
    EndProgram: Chunk._end,
    Jump: Chunk._jump,
    SetMode: Chunk._set_mode,
}
