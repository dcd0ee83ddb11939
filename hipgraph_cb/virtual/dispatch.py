"""Executes one dispatch: cuts the grid into chunks of whole workgroups and runs them.

Chunks run one after the other in a seeded order. One that seems to wait for another workgroup is suspended, the next is
started, and from then on they take turns: kernels whose workgroups wait for each other make progress.
"""

from __future__ import annotations

import os
import random
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from hipgraph_cb.code_object.target_id import FeatureState, TargetId
from hipgraph_cb.virtual import malloc_tuning
from hipgraph_cb.virtual.faults import DeviceFault, FaultKind
from hipgraph_cb.virtual.initial_state import initial_state
from hipgraph_cb.virtual.interleaving import run_interleaved
from hipgraph_cb.virtual.isa.core.float_mode import FloatMode
from hipgraph_cb.virtual.isa.core.lds_range import OutsideLds
from hipgraph_cb.virtual.isa.core.narrow_waves import state_of
from hipgraph_cb.virtual.isa.core.registry import CompileContext
from hipgraph_cb.virtual.isa.core.watched_state import watched_state_of
from hipgraph_cb.virtual.isa.execution.interleaved_program import InterleavedProgram
from hipgraph_cb.virtual.isa.execution.placement import Placement
from hipgraph_cb.virtual.isa.execution.program import Program, program_for
from hipgraph_cb.virtual.isa.execution.random_schedule import RandomChunk
from hipgraph_cb.virtual.isa.execution.scheduler import Chunk, Outcome
from hipgraph_cb.virtual.isa.targets.families import target_of
from hipgraph_cb.virtual.memory import MemoryFault
from hipgraph_cb.virtual.settings import LDS_BOUNDS_FAULT, RANDOM, Settings

if TYPE_CHECKING:
    from hipgraph_cb.virtual.isa.core.state import State
    from hipgraph_cb.virtual.launch import KernelLike, Launch
    from hipgraph_cb.virtual.memory import Memory
    from hipgraph_cb.virtual.trace import DispatchTrace

PRELOAD_ENTRY = 256  # a kernel that wants kernel arguments preloaded is entered so many bytes behind its entry
GFX942 = TargetId("gfx942", FeatureState.ON, FeatureState.OFF)


@dataclass(frozen=True)
class ExecutionSettings:
    """How a dispatch is executed.

    Attributes:
        chunk_lanes: lanes that are executed side by side (at least one workgroup).
        seed: the order of the chunks; None runs them in order.
        target: the processor whose instructions the code is made of, and its features.
        refuses_outside_lds: whether an access outside a workgroup's LDS is a fault.
        interleaves: whether waves run in a random order (see random_schedule.py), and in chunks that are small.
        trace: the file to which figures of each dispatch are appended (see trace.py); None for none. The default is
            what the environment said when the virtual GPU was loaded.
    """

    chunk_lanes: int = 65536
    seed: int | None = None
    target: TargetId = GFX942
    refuses_outside_lds: bool = False
    interleaves: bool = False
    trace: str | None = os.environ.get("HIPGRAPH_CB_TRACE") or None


DEFAULTS = ExecutionSettings()
MOST_CHUNKS = 1 << 22
"""Of one launch: a hundred billion work-items take too long to wait for."""
CHUNK_SCRATCH = 256 << 20
"""Bytes of scratch of one chunk, which has fewer workgroups where it would take more (one at least)."""
INTERLEAVED_LANES = 2048
"""Lanes of a chunk whose waves run in random order: a step of some waves costs as much as one of all."""
MOST_RESIDENT = 4 << 30
"""Bytes of registers, LDS and scratch of workgroups that have started and wait for others."""
SHUFFLED = 4096  # chunks that are shuffled together
# What ran last at an address; comparing code is cheaper than hashing it.
_RECENT: dict[tuple[int, TargetId, int, int, type[Program]], Program] = {}
malloc_tuning.raise_the_mapping_threshold()


def execution_settings(settings: Settings, target: TargetId) -> ExecutionSettings:
    """How the device of these settings executes on `target`."""
    return ExecutionSettings(
        seed=settings.seed,
        target=target,
        refuses_outside_lds=settings.lds_bounds == LDS_BOUNDS_FAULT,
        interleaves=settings.schedule == RANDOM,
    )


def execute(
    launch: Launch,
    memory: Memory,
    *,
    interrupted: Callable[[], bool] = lambda: False,
    settings: ExecutionSettings = DEFAULTS,
) -> None:
    """Run `launch` to its end.

    Args:
        interrupted: called often; true stops the kernel.

    Raises:
        DeviceFault: the kernel faulted or was stopped.
    """
    if launch.group_count == 0:
        return
    program, entry = _program(launch.kernel, memory, settings)
    context = program.context
    waves = launch.waves_per_group(context.lanes)
    most_lanes = INTERLEAVED_LANES if settings.interleaves else settings.chunk_lanes
    lanes = min(most_lanes, CHUNK_SCRATCH // max(1, launch.scratch_size))
    per_chunk = max(1, lanes // (waves * context.lanes))
    if launch.group_count > per_chunk * MOST_CHUNKS:
        description = f"{launch.group_count} workgroups are more than a virtual GPU runs in a day"
        raise DeviceFault(FaultKind.LAUNCH_FAILURE, description, kernel=launch.kernel.name)
    waiting = _starts(launch.group_count, per_chunk, settings.seed)
    outside_lds = OutsideLds(settings.refuses_outside_lds)
    trace = None if settings.trace is None else _trace(launch, context.lanes, settings.trace, outside_lds)
    chance = random.Random(settings.seed) if settings.interleaves else None
    make = _chunk if trace is None else trace.chunk
    make_state = state_of if chance is None else watched_state_of

    def start(first: int, others: int) -> Chunk:
        _refuse_too_many(launch, others * per_chunk, context)
        groups = min(per_chunk, launch.group_count - first)
        state = _initial_state(launch, memory, entry, first, groups, waves, context, make_state)
        state.outside_lds = outside_lds
        return make(state, program, entry, chance)

    with np.errstate(all="ignore"), nullcontext() if trace is None else trace.recording(), _with_source(launch.kernel):
        if chance is None:
            _run_one_after_the_other(waiting, start, interrupted)
        else:
            fitting = max(1, MOST_RESIDENT // _held(launch, per_chunk, context))
            run_interleaved(waiting, start, fitting, interrupted, chance)


def _chunk(state: State, program: Program, entry: int, chance: random.Random | None) -> Chunk:
    return Chunk(state, program, entry) if chance is None else RandomChunk(state, program, entry, chance)


def _run_one_after_the_other(
    waiting: Iterator[int], start: Callable[[int, int], Chunk], interrupted: Callable[[], bool]
) -> None:
    """Run every chunk; `start` makes one from its first workgroup and the number of suspended chunks."""
    started: deque[Chunk] = deque()
    while True:
        first = next(waiting, None)
        if first is not None:
            chunk = start(first, len(started))
        elif started:
            chunk = started.popleft()
        else:
            return
        _run_in_turns(chunk, started, interrupted)


@contextmanager
def _with_source(kernel: KernelLike) -> Iterator[None]:
    """Within it, faults get the source lines of their instructions."""
    try:
        yield
    except DeviceFault as fault:
        if fault.pc is not None:
            fault.frames = kernel.frames_at(fault.pc)
        raise


def _starts(groups: int, per_chunk: int, seed: int | None) -> Iterator[int]:
    """The first workgroup of each chunk, in the order that the seed chooses."""
    shuffle = None if seed is None else random.Random(seed).shuffle
    piece = SHUFFLED * per_chunk
    for first in range(0, groups, piece):
        starts = list(range(first, min(first + piece, groups), per_chunk))
        if shuffle is not None:
            shuffle(starts)
        yield from starts


def _refuse_too_many(launch: Launch, groups: int, context: CompileContext) -> None:
    """Check that so many workgroups may be in the middle of their work.

    Raises:
        DeviceFault: they hold more than a virtual GPU has.
    """
    held = _held(launch, groups, context)
    if held > MOST_RESIDENT:
        description = (
            f"{groups} workgroups wait for others with {held} bytes of registers, LDS and scratch; a virtual GPU has "
            f"{MOST_RESIDENT}"
        )
        raise DeviceFault(FaultKind.LAUNCH_FAILURE, description, kernel=launch.kernel.name)


def _held(launch: Launch, groups: int, context: CompileContext) -> int:
    """Bytes of registers, LDS and scratch of so many workgroups."""
    granules = (launch.kernel.descriptor.compute_pgm_rsrc1 & 0x3F) + 1
    registers = 4 * context.target.vector_granule[context.lanes] * granules
    lanes = launch.waves_per_group(context.lanes) * context.lanes
    return groups * (lanes * (registers + launch.scratch_size) + launch.lds_size)


def _run_in_turns(chunk: Chunk, started: deque[Chunk], interrupted: Callable[[], bool]) -> None:
    """Run `chunk`, and after it the suspended ones, once each."""
    turns = [chunk, *started]
    started.clear()
    for current in turns:
        if current.run(interrupted) is Outcome.SPINNING:
            started.append(current)


def _initial_state(
    launch: Launch,
    memory: Memory,
    entry: int,
    first: int,
    groups: int,
    waves: int,
    context: CompileContext,
    make_state: Callable[..., State],
) -> State:
    kernel = launch.kernel
    placement = _placement(
        kernel.name,
        kernel.code_address,
        entry,
        launch.groups,
        first,
        groups,
        waves,
        context.lanes,
        context.target,
    )
    try:
        return initial_state(launch, memory, placement, make_state)
    except MemoryFault as error:
        raise DeviceFault(
            FaultKind.ILLEGAL_ADDRESS,
            f"the kernel arguments: {error.found}",
            kernel=launch.kernel.name,
            address=error.address,
        ) from error


_placement = lru_cache(maxsize=256)(Placement)  # repeated launches have the same placement


def _trace(launch: Launch, lanes: int, path: str, outside_lds: OutsideLds) -> DispatchTrace:
    from hipgraph_cb.virtual.trace import DispatchTrace

    return DispatchTrace(launch, lanes, path, outside_lds)


def _program(kernel: KernelLike, memory: Memory, settings: ExecutionSettings) -> tuple[Program, int]:
    """The compiled code and the offset at which waves start."""
    descriptor = kernel.descriptor
    entry = kernel.descriptor_address + descriptor.kernel_code_entry_byte_offset - kernel.code_address
    if descriptor.kernarg_preload_length:
        entry += PRELOAD_ENTRY
    code = memory.bytes(kernel.code_address, kernel.code_size).tobytes()
    rsrc1, properties = descriptor.compute_pgm_rsrc1, descriptor.kernel_code_properties
    kind = InterleavedProgram if settings.interleaves else Program
    key = (kernel.code_address, settings.target, rsrc1, properties, kind)
    program = _RECENT.get(key)
    if program is None or program.code != code:
        context = _context(settings.target, rsrc1, properties)
        if context is None:
            description = f"the virtual GPU executes no code for {settings.target.processor}"
            raise DeviceFault(FaultKind.ILLEGAL_INSTRUCTION, description, kernel=kernel.name)
        if len(_RECENT) >= 256:
            _RECENT.clear()
        program = _RECENT[key] = program_for(code, context, kind)
    return program, entry


def _context(device: TargetId, rsrc1: int, properties: int) -> CompileContext | None:
    """How a device runs kernels whose descriptors have these fields; None where it runs none."""
    target = target_of(device.processor)
    if target is None or not target.executes:
        return None
    mode = FloatMode.from_rsrc1(rsrc1, always_clamps_nan=target.differences.always_clamps_nan)
    lanes = target.wave_size(properties)
    return CompileContext(target, device.processor, lanes, mode, sram_ecc=device.sramecc is FeatureState.ON)
