"""Kernels: their functions, the checks of a launch, packing of arguments, and the dispatch itself."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import LaunchParameter, NodeKind
from hipgraph_cb.abi.hsa.aql import (
    DIMENSIONS_MASK,
    KERNEL_DISPATCH,
    PACKET_SIZE,
    SYSTEM_SCOPE,
    DispatchPacket,
    packet_header,
)
from hipgraph_cb.abi.hsa.structures import AmdQueue
from hipgraph_cb.abi.layout import packer
from hipgraph_cb.code_object.hidden_args import LaunchShape, write_hidden
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.faults import DeviceFault
from hipgraph_cb.virtual.hip.native import load_bytes, load_pointer, load_pointers, require
from hipgraph_cb.virtual.launch import MAX_SCRATCH, Launch
from hipgraph_cb.virtual.watchdog import Watchdog

if TYPE_CHECKING:
    from hipgraph_cb.code_object.verify import VerifiedExport
    from hipgraph_cb.virtual.hip.objects.gpu import Gpu
    from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
    from hipgraph_cb.virtual.loader import LoadedKernel
    from hipgraph_cb.virtual.worker import Operation

Shape = tuple[int, int, int]

MAX_BLOCK = 1024
_QUEUE_SIZE = ctypes.sizeof(AmdQueue)
_DISPATCH_PACKET = packer(DispatchPacket)
_DISPATCH_PACKET_HEADER = packet_header(KERNEL_DISPATCH, barrier=True, acquire=SYSTEM_SCOPE, release=SYSTEM_SCOPE)
_EMPTY_PACKET_ROOM = PACKET_SIZE + _QUEUE_SIZE


class Function:
    """What a hipFunction_t is: a kernel of a loaded module.

    Attributes:
        is_unloaded: its module is gone, and graphs that still launch it fail.
    """

    def __init__(self, gpu: Gpu, kernel: LoadedKernel) -> None:
        self.gpu = gpu
        self.kernel = kernel
        self.max_dynamic_lds: int | None = None
        self.is_unloaded = False

    @property
    def name(self) -> str:
        return self.kernel.name

    @property
    def export(self) -> VerifiedExport:
        return self.kernel.export


@dataclass(frozen=True)
class KernelLaunch:
    """One launch with all its arguments.

    Attributes:
        handle: what it was launched by: a hipFunction_t or the host function of compiled code.
        grid, block: workgroups, and work-items of a workgroup, in x, y, z.
        arguments: the kernarg block, hidden arguments included.
    """

    function: Function
    handle: int
    grid: Shape
    block: Shape
    dynamic_lds: int
    arguments: bytes
    kind: ClassVar[NodeKind] = NodeKind.KERNEL
    # By the address of the packet: what a launch from there is, and the bytes that it lays down there.
    _prepared: dict[int, tuple[Launch, bytes]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def label(self) -> str:
        return f"kernel {self.function.name}"

    def run(self, runtime: HipRuntime, gpu: Gpu, operation: Operation | None) -> None:
        # With the first code object; a program that only asks for devices starts in half the time without it.
        from hipgraph_cb.virtual.dispatch import execute, execution_settings

        if self.function.is_unloaded:
            raise CallError(Code.ILLEGAL_ADDRESS, "its module was unloaded; AMD's runtime would run freed memory")
        launch = self._place(runtime, gpu)
        watchdog = Watchdog(runtime.settings.watchdog, operation)
        settings = execution_settings(runtime.settings, self.function.gpu.target)
        try:
            with _registered_memory(runtime) if runtime.allocations.registered else nullcontext():
                execute(launch, runtime.memory, interrupted=watchdog.must_stop, settings=settings)
        except DeviceFault as fault:
            watchdog.explain(fault)
            raise

    def _place(self, runtime: HipRuntime, gpu: Gpu) -> Launch:
        """Write dispatch packet and arguments to device memory; returns the launch that refers to them.

        A worker runs one dispatch at a time, so there is one place per device for them.
        """
        size = _EMPTY_PACKET_ROOM + len(self.arguments)
        if gpu.launch_block_size < size:
            if gpu.launch_block:
                runtime.memory.free(gpu.launch_block)
            gpu.launch_block_size = max(4096, size)
            gpu.launch_block = runtime.memory.allocate(gpu.launch_block_size, label="kernel arguments")
        address = gpu.launch_block
        prepared = self._prepared.get(address)
        if prepared is None:
            launch = self._launch_at(address)
            prepared = self._prepared[address] = launch, self._image(launch)
        launch, image = prepared
        ctypes.memmove(address, image, size)
        return launch

    def _launch_at(self, packet: int) -> Launch:
        x, y, z = (groups * items for groups, items in zip(self.grid, self.block, strict=True))
        export = self.function.export
        return Launch(
            kernel=self.function.kernel,
            grid=(x, y, z),
            workgroup=self.block,
            kernarg_address=packet + _EMPTY_PACKET_ROOM,
            dynamic_lds=self.dynamic_lds + export.group_segment_size - export.descriptor.group_segment_fixed_size,
            packet_address=packet,
            queue_address=packet + PACKET_SIZE,
            private_segment_size=export.private_segment_size,
        )

    def _image(self, launch: Launch) -> bytes:
        """The dispatch packet of a launch, an empty queue descriptor and the arguments, as they are in memory."""
        export = self.function.export
        packet = _DISPATCH_PACKET.pack(
            _DISPATCH_PACKET_HEADER,
            DIMENSIONS_MASK,
            *self.block,
            0,
            *launch.grid,
            export.private_segment_size,
            export.group_segment_size + self.dynamic_lds,
            self.function.kernel.descriptor_address,
            launch.kernarg_address,
            0,
            0,
        )
        return packet + bytes(_QUEUE_SIZE) + self.arguments


@contextmanager
def _registered_memory(runtime: HipRuntime) -> Iterator[None]:
    """Host memory that the program registered, in the device's reach while a kernel runs."""
    with runtime.gate.lock:
        entered = [(each, each.enter(runtime.memory)) for each in runtime.allocations.registered.values()]
    yield
    for registered, before in entered:
        registered.leave(runtime.memory, before)


def make_launch(
    runtime: HipRuntime, handle: int, grid: Shape, block: Shape, dynamic_lds: int, parameters: int, extra: int,
    bad_shape: int = Code.INVALID_VALUE,
) -> KernelLaunch:  # fmt: skip
    """The launch that these C arguments describe; the order of the checks is that of AMD's runtime."""
    function = runtime.functions.get(handle)
    if function is None:
        raise CallError(Code.INVALID_DEVICE_FUNCTION, f"{handle:#x} is not a hipFunction_t of a loaded module")
    require(not (parameters and extra))
    layout = function.export.stated_layout
    require(
        parameters or extra or not layout.parameters,
        note=f"kernel {function.name} has arguments, and none were given",
    )
    check_shape(function, grid, block, dynamic_lds, bad_shape)
    arguments = bytearray(layout.size)
    if parameters:
        for parameter, address in zip(
            layout.parameters, load_pointers(parameters, len(layout.parameters)), strict=True
        ):
            require(address, note=f"kernelParams has no address for {parameter.label} of kernel {function.name}")
            arguments[parameter.offset : parameter.offset + parameter.size] = load_bytes(address, parameter.size)
    elif extra:
        given = _extra_bytes(extra)[: layout.size]
        arguments[: len(given)] = given
    _write_hidden(arguments, function, grid, block, dynamic_lds)
    return KernelLaunch(function, handle, grid, block, dynamic_lds, bytes(arguments))


def _write_hidden(arguments: bytearray, function: Function, grid: Shape, block: Shape, dynamic_lds: int) -> None:
    x, y, z = (groups * items for groups, items in zip(grid, block, strict=True))
    write_hidden(arguments, function.export.stated_layout, LaunchShape((x, y, z), block, dynamic_lds))


def _extra_bytes(extra: int) -> bytes:
    """The argument buffer that a HIP_LAUNCH_PARAM list describes."""
    buffer, size = 0, 0
    for place in range(extra, extra + 5 * 16, 16):
        key = load_pointer(place)
        if key == LaunchParameter.END:
            break
        value = load_pointer(place + 8)
        if key == LaunchParameter.BUFFER_POINTER:
            buffer = value
        elif key == LaunchParameter.BUFFER_SIZE:
            require(value)
            size = load_pointer(value)
        else:
            raise CallError(Code.INVALID_VALUE, f"extra holds the unknown key {key}")
    require(buffer)
    return load_bytes(buffer, size)


def check_shape(function: Function, grid: Shape, block: Shape, dynamic_lds: int, bad_shape: int) -> None:
    """Refuse a grid or block that no kernel, or not this kernel, can be launched with."""
    require(min(*grid, *block) > 0, bad_shape, f"kernel {function.name}: grid {grid}, block {block}")
    items = block[0] * block[1] * block[2]
    require(items <= MAX_BLOCK, bad_shape, f"kernel {function.name}: a block of {items} exceeds {MAX_BLOCK}")
    for groups, size in zip(grid, block, strict=True):
        require(groups * size < 1 << 32, bad_shape, f"kernel {function.name}: {groups} x {size} work-items in a row")
    static_lds = function.export.group_segment_size
    limit = function.gpu.model.lds
    require(
        dynamic_lds <= limit and static_lds + dynamic_lds <= limit,
        note=f"kernel {function.name}: {static_lds} + {dynamic_lds} bytes of LDS exceed {limit}",
    )
    scratch = function.export.private_segment_size
    if scratch > MAX_SCRATCH:
        raise CallError(
            Code.LAUNCH_OUT_OF_RESOURCES,
            f"kernel {function.name}: {scratch} bytes of scratch a work-item exceed {MAX_SCRATCH}",
        )
    if items > function.export.max_flat_workgroup_size:
        raise CallError(
            Code.LAUNCH_FAILURE,
            f"kernel {function.name} was compiled for at most {function.export.max_flat_workgroup_size} work-items a "
            f"workgroup, and a block has {items}",
        )
