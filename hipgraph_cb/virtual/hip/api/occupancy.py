"""How many workgroups of a kernel a compute unit holds: by work-items and LDS, which is what this device has limits on.

Each question exists for a function handle and for the host function of compiled code.
"""

from __future__ import annotations

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.api.registration import handle_of_symbol
from hipgraph_cb.virtual.hip.function_table import HANDLE, INT, POINTER, SIZE, UINT, api
from hipgraph_cb.virtual.hip.native import require, store_int, store_pointer
from hipgraph_cb.virtual.hip.objects.kernels import Function
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime

_MAX_BLOCK = 1024


def _of_handle(runtime: HipRuntime, handle: int) -> Function:
    return runtime.functions[handle]


def _of_symbol(runtime: HipRuntime, host_function: int) -> Function:
    """A host function, or a function handle: some programs give that."""
    found = runtime.functions.get(host_function)
    return found if found is not None else runtime.functions[handle_of_symbol(runtime, host_function)]


def blocks_of(function: Function, block: int, dynamic_lds: int) -> int:
    """By waves and LDS. What the kernel was compiled for at most does not count, as by AMD's runtime."""
    model, export = function.gpu.model, function.export
    if block > _MAX_BLOCK:
        return 0
    waves = model.threads_per_compute_unit // model.wavefront_size
    of_block = -(-block // model.wavefront_size)
    return min(waves // of_block, model.lds // max(1, export.group_segment_size + dynamic_lds))


def _best(function: Function, dynamic_lds: int, limit: int) -> tuple[int, int]:
    """The grid that fills the device with the largest blocks, and those blocks: whole waves."""
    model = function.gpu.model
    largest = min(limit, _MAX_BLOCK) if limit > 0 else _MAX_BLOCK
    block = -(-largest // model.wavefront_size) * model.wavefront_size
    return blocks_of(function, block, dynamic_lds) * model.compute_units, block


def _tell_blocks(out: int, function: Function, block: int, dynamic_lds: int) -> None:
    store_int(out, blocks_of(function, block, dynamic_lds) if block > 0 else 0)
    require(block > 0)


@api("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", POINTER, HANDLE, INT, SIZE)
def blocks_of_handle(runtime: HipRuntime, out: int, handle: int, block: int, dynamic_lds: int) -> None:
    require(out)
    _tell_blocks(out, _of_handle(runtime, handle), block, dynamic_lds)


@api("hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", POINTER, HANDLE, INT, SIZE, UINT)
def blocks_of_handle_with_flags(
    runtime: HipRuntime, out: int, handle: int, block: int, dynamic_lds: int, flags: int
) -> None:
    require(flags in (0, 1))
    blocks_of_handle(runtime, out, handle, block, dynamic_lds)


@api("hipOccupancyMaxActiveBlocksPerMultiprocessor", POINTER, POINTER, INT, SIZE)
def blocks_of_symbol(runtime: HipRuntime, out: int, host_function: int, block: int, dynamic_lds: int) -> None:
    require(out)
    _tell_blocks(out, _of_symbol(runtime, host_function), block, dynamic_lds)


@api("hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", POINTER, POINTER, INT, SIZE, UINT)
def blocks_of_symbol_with_flags(
    runtime: HipRuntime, out: int, host_function: int, block: int, dynamic_lds: int, flags: int
) -> None:
    require(flags in (0, 1))
    blocks_of_symbol(runtime, out, host_function, block, dynamic_lds)


@api("hipModuleOccupancyMaxPotentialBlockSize", POINTER, POINTER, HANDLE, SIZE, INT)
def best_of_handle(
    runtime: HipRuntime, grid_out: int, block_out: int, handle: int, dynamic_lds: int, limit: int
) -> None:
    require(grid_out and block_out)
    grid, block = _best(_of_handle(runtime, handle), dynamic_lds, limit)
    store_int(grid_out, grid)
    store_int(block_out, block)


@api("hipModuleOccupancyMaxPotentialBlockSizeWithFlags", POINTER, POINTER, HANDLE, SIZE, INT, UINT)
def best_of_handle_with_flags(
    runtime: HipRuntime, grid_out: int, block_out: int, handle: int, dynamic_lds: int, limit: int, flags: int
) -> None:
    require(flags in (0, 1))
    best_of_handle(runtime, grid_out, block_out, handle, dynamic_lds, limit)


@api("hipOccupancyMaxPotentialBlockSize", POINTER, POINTER, POINTER, SIZE, INT)
def best_of_symbol(
    runtime: HipRuntime, grid_out: int, block_out: int, host_function: int, dynamic_lds: int, limit: int
) -> None:
    require(grid_out and block_out)
    grid, block = _best(_of_symbol(runtime, host_function), dynamic_lds, limit)
    store_int(grid_out, grid)
    store_int(block_out, block)


@api("hipOccupancyAvailableDynamicSMemPerBlock", POINTER, POINTER, INT, INT)
def available_dynamic_lds(runtime: HipRuntime, out: int, host_function: int, blocks: int, block: int) -> None:
    """What each of `blocks` workgroups on one compute unit may ask for."""
    require(out and blocks > 0 and block > 0)
    function = _of_symbol(runtime, host_function)
    model = function.gpu.model
    if blocks * block > model.threads_per_compute_unit:
        raise CallError(Code.INVALID_VALUE, f"a compute unit holds {model.threads_per_compute_unit} work-items")
    store_pointer(out, max(0, model.lds // blocks - function.export.group_segment_size))
