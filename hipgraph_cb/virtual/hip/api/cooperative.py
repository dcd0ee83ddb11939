"""Cooperative launches: all workgroups of the grid are under way at once, so that they may wait for each other."""

from __future__ import annotations

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.structures import Dim3
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hip.api.occupancy import blocks_of
from hipgraph_cb.virtual.hip.api.registration import handle_of_symbol
from hipgraph_cb.virtual.hip.function_table import HANDLE, POINTER, UINT, api
from hipgraph_cb.virtual.hip.native import require
from hipgraph_cb.virtual.hip.objects.kernels import KernelLaunch, Shape, make_launch
from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
from hipgraph_cb.virtual.hip.objects.submit import submit


def refuse_too_large(launch: KernelLaunch) -> None:
    """A grid that the device does not hold at once could wait for a workgroup that has no room."""
    x, y, z = launch.block
    model = launch.function.gpu.model
    room = blocks_of(launch.function, x * y * z, launch.dynamic_lds) * model.compute_units
    groups = launch.grid[0] * launch.grid[1] * launch.grid[2]
    if groups > room:
        raise CallError(
            Code.COOPERATIVE_LAUNCH_TOO_LARGE,
            f"kernel {launch.function.name}: {groups} workgroups, and the device holds {room} of them at once",
        )


def _launch(
    runtime: HipRuntime, handle: int, grid: Shape, block: Shape, dynamic_lds: int, stream: int, parameters: int
) -> None:
    target = runtime.stream(stream)
    launch = make_launch(runtime, handle, grid, block, dynamic_lds, parameters, 0)
    refuse_too_large(launch)
    submit(runtime, target, launch)


@api("hipModuleLaunchCooperativeKernel", HANDLE, *[UINT] * 7, HANDLE, POINTER)
def module_launch_cooperative_kernel(
    runtime: HipRuntime, handle: int, x: int, y: int, z: int, block_x: int, block_y: int, block_z: int,
    dynamic_lds: int, stream: int, parameters: int,
) -> None:  # fmt: skip
    require(handle, Code.INVALID_HANDLE)
    _launch(runtime, handle, (x, y, z), (block_x, block_y, block_z), dynamic_lds, stream, parameters)


@api("hipLaunchCooperativeKernel", POINTER, Dim3, Dim3, POINTER, UINT, HANDLE)
@api("hipLaunchCooperativeKernel_spt", POINTER, Dim3, Dim3, POINTER, UINT, HANDLE)
def launch_cooperative_kernel(
    runtime: HipRuntime, host_function: int, grid: Dim3, block: Dim3, parameters: int, dynamic_lds: int, stream: int
) -> None:
    require(host_function, Code.INVALID_DEVICE_FUNCTION)
    handle = handle_of_symbol(runtime, host_function)
    _launch(runtime, handle, grid.values, block.values, dynamic_lds, stream, parameters)
