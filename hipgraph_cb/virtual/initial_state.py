"""The registers with which the waves of a kernel start (LLVM AMDGPU usage, "Initial Kernel Execution State")."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from hipgraph_cb.abi.kernel_descriptor import (
    DISPATCH_ID,
    DISPATCH_PTR,
    FLAT_SCRATCH_INIT,
    KERNARG_SEGMENT_PTR,
    PRIVATE_SEGMENT_BUFFER,
    PRIVATE_SEGMENT_SIZE,
    QUEUE_PTR,
)
from hipgraph_cb.virtual.isa.core.float_mode import FloatMode
from hipgraph_cb.virtual.isa.core.narrow_waves import state_of
from hipgraph_cb.virtual.isa.core.state import Scalar32, State, uniform

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hipgraph_cb.virtual.isa.execution.placement import Placement
    from hipgraph_cb.virtual.launch import Launch
    from hipgraph_cb.virtual.memory import Memory

Triple = tuple[int, int, int]
_TTMP = 108  # the first trap register


def initial_state(launch: Launch, memory: Memory, placement: Placement, make: Callable[..., State] = state_of) -> State:
    """A chunk of waves at the first instruction, in a state that `make` makes.

    Raises:
        MemoryFault: arguments to be preloaded are not in live memory.
    """
    descriptor = launch.kernel.descriptor
    differences = placement.target.differences
    mode = FloatMode.from_rsrc1(descriptor.compute_pgm_rsrc1, always_clamps_nan=differences.always_clamps_nan).register
    state = make(memory, placement, lds_size=launch.lds_size, scratch_size=launch.scratch_size, mode=mode)
    _write_user_sgprs(state, launch, memory)
    if differences.ids_in_trap_registers:
        _write_trap_registers(state, placement)
    else:
        _write_system_sgprs(state, launch, placement)
    dimensions = (descriptor.compute_pgm_rsrc2 >> 11 & 3) + 1
    state.write_vgpr(0, packed_ids(launch.workgroup, placement.groups, dimensions, placement.lanes))
    exists = _existing_lanes(launch, placement)
    if exists is not None:
        state.write_exec(exists)
    return state


def _write_user_sgprs(state: State, launch: Launch, memory: Memory) -> None:
    """In the order of the descriptor's property bits, then the preloaded arguments."""
    descriptor = launch.kernel.descriptor
    properties = descriptor.kernel_code_properties
    register = 4 if properties & PRIVATE_SEGMENT_BUFFER else 0
    for bit, value in (
        (DISPATCH_PTR, launch.packet_address),
        (QUEUE_PTR, launch.queue_address),
        (KERNARG_SEGMENT_PTR, launch.kernarg_address),
        (DISPATCH_ID, 0),
        (FLAT_SCRATCH_INIT, 0),
    ):
        if properties & bit:
            state.write_sgpr64(register, value)
            register += 2
    if properties & PRIVATE_SEGMENT_SIZE:
        state.write_sgpr(register, launch.scratch_size)
        register += 1
    count = descriptor.kernarg_preload_length
    if count:
        start = launch.kernarg_address + 4 * descriptor.kernarg_preload_offset
        for word in memory.bytes(start, 4 * count).view(np.uint32).tolist():
            state.write_sgpr(register, word)
            register += 1


def _write_system_sgprs(state: State, launch: Launch, placement: Placement) -> None:
    """The enabled workgroup ids, behind the user registers that the descriptor counts."""
    rsrc2 = launch.kernel.descriptor.compute_pgm_rsrc2
    register = rsrc2 >> 1 & 31
    for axis in range(3):
        if rsrc2 >> (7 + axis) & 1:
            state.write_sgpr(register, _group_id_register(placement, axis))
            register += 1


def _write_trap_registers(state: State, placement: Placement) -> None:
    """Workgroup id x in ttmp9, y and z in the halves of ttmp7, the number of the wave in bits 29:25 of ttmp8."""
    y, z = (_group_id_register(placement, axis) for axis in (1, 2))
    state.write_sgpr(_TTMP + 9, _group_id_register(placement, 0))
    if isinstance(y, int) and isinstance(z, int):
        state.write_sgpr(_TTMP + 7, y | z << 16)
    else:
        state.write_sgpr(_TTMP + 7, np.asarray(y, np.uint32) | np.asarray(z, np.uint32) << np.uint32(16))
    waves = np.tile(np.arange(placement.waves_per_group, dtype=np.uint32) << np.uint32(25), placement.groups)
    state.write_sgpr(_TTMP + 8, uniform(waves.reshape(-1, 1)))


def _group_id_register(placement: Placement, axis: int) -> Scalar32:
    if placement.grid_groups[axis] == 1:
        return 0
    if placement.groups == 1:
        return placement.workgroup(0)[axis]
    ids = group_ids(placement)[axis]
    values: Scalar32 = uniform(np.repeat(ids, placement.waves_per_group).reshape(-1, 1))
    return values


def group_ids(placement: Placement) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]:
    """Workgroup index x, y, z of each group of the chunk."""
    index = np.arange(placement.first_group, placement.first_group + placement.groups)
    x, y, _ = placement.grid_groups
    return (index % x).astype(np.uint32), (index // x % y).astype(np.uint32), (index // (x * y)).astype(np.uint32)


@lru_cache(maxsize=64)
def _local_ids(workgroup: Triple, lanes: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Work-item ids x, y, z of the lanes of one group, [waves of the group, lanes]."""
    x, y, z = workgroup
    waves = -(-x * y * z // lanes)
    flat = np.arange(waves * lanes).reshape(waves, lanes)
    return flat % x, flat // x % y, flat // (x * y)


@lru_cache(maxsize=64)
def packed_ids(workgroup: Triple, groups: int, dimensions: int, lanes: int) -> NDArray[np.uint32]:
    """x | y << 10 | z << 20 of every lane of the chunk; dimensions that are not enabled are zero."""
    x, y, z = _local_ids(workgroup, lanes)
    packed = x
    if dimensions > 1:
        packed = packed | y << 10
    if dimensions > 2:
        packed = packed | z << 20
    ids = packed.astype(np.uint32)
    return ids if len(ids) == 1 else np.tile(ids, (groups, 1))


def _existing_lanes(launch: Launch, placement: Placement) -> NDArray[np.bool_] | None:
    """Lanes with a work-item: inside the group, and inside the grid where that ends within the group."""
    ragged = launch.ragged
    if True not in ragged and launch.lanes_per_group % placement.lanes == 0:
        return None
    waves, lanes = placement.waves_per_group, placement.lanes
    local = _local_ids(launch.workgroup, lanes)
    exists = np.arange(waves * lanes).reshape(-1, lanes) < launch.lanes_per_group
    exists = np.tile(exists, (placement.groups, 1))
    for axis, ids in enumerate(group_ids(placement)):
        if ragged[axis]:
            origin = np.repeat(ids.astype(np.int64), waves).reshape(-1, 1) * launch.workgroup[axis]
            exists &= origin + np.tile(local[axis], (placement.groups, 1)) < launch.grid[axis]
    return exists
