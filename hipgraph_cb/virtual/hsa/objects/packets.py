"""Reading packets: what a kernel dispatch says, and whether a barrier packet is satisfied.

A malformed packet is reported through the queue's error callback, with the status that AMD's runtime gives it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hipgraph_cb.abi.hsa.aql import (
    AMD_BARRIER_VALUE,
    BARRIER_AND,
    BARRIER_OR,
    DIMENSIONS_MASK,
    HEADER_BITS,
    KERNARG_ALIGNMENT,
    TYPE_MASK,
    BarrierPacket,
    BarrierValuePacket,
    DispatchPacket,
)
from hipgraph_cb.abi.hsa.status import Status
from hipgraph_cb.errors import HipGraphError
from hipgraph_cb.virtual.faults import DeviceFault
from hipgraph_cb.virtual.hsa.objects.signals import CONDITIONS
from hipgraph_cb.virtual.launch import MAX_SCRATCH, MAX_WORKGROUP, Launch
from hipgraph_cb.virtual.watchdog import Watchdog

if TYPE_CHECKING:
    from hipgraph_cb.code_object.target_id import TargetId
    from hipgraph_cb.virtual.hsa.objects.queue import Queue
    from hipgraph_cb.virtual.hsa.objects.runtime import HsaRuntime
    from hipgraph_cb.virtual.loader import LoadedKernel
    from hipgraph_cb.virtual.worker import Operation


class PacketError(Exception):
    """A packet that cannot be done, with the status for the queue's error callback."""

    def __init__(self, status: Status, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True)
class Dispatch:
    """A sound kernel dispatch."""

    runtime: HsaRuntime
    launch: Launch
    target: TargetId

    def run(self, operation: Operation) -> None:
        # With the first code object; a program that only asks for devices starts in half the time without it.
        from hipgraph_cb.virtual.dispatch import execute, execution_settings

        settings = self.runtime.settings
        watchdog = Watchdog(settings.watchdog, operation)
        execution = execution_settings(settings, self.target)
        try:
            execute(self.launch, self.runtime.memory, interrupted=watchdog.must_stop, settings=execution)
        except DeviceFault as fault:
            watchdog.explain(fault)
            raise


def read_dispatch(runtime: HsaRuntime, queue: Queue, slot: int) -> Dispatch:
    """The dispatch that the packet at `slot` describes.

    Raises:
        PacketError: it is malformed, or needs what the device or the kernel does not have.
    """
    packet = DispatchPacket.from_address(slot)
    kernel = _kernel(runtime, queue, packet)
    _check_shape(packet, kernel)
    _check_segments(packet, kernel, queue.gpu.model.lds)
    x, y, z = packet.grid_size
    try:
        launch = Launch(
            kernel=kernel,
            grid=(x, y, z),
            workgroup=tuple(packet.workgroup_size),
            kernarg_address=packet.kernarg_address,
            dynamic_lds=packet.group_segment_size - kernel.descriptor.group_segment_fixed_size,
            packet_address=slot,
            queue_address=queue.address,
            private_segment_size=packet.private_segment_size,
        )
    except HipGraphError as error:
        raise PacketError(Status.INVALID_ARGUMENT, str(error)) from error
    return Dispatch(runtime, launch, queue.gpu.target)


def _kernel(runtime: HsaRuntime, queue: Queue, packet: DispatchPacket) -> LoadedKernel:
    # `reserved2` is not looked at: profilers of AMD's runtime put a number of their own there.
    if packet.setup & ~DIMENSIONS_MASK or packet.reserved0 or packet.header >> HEADER_BITS:
        raise PacketError(
            Status.INVALID_PACKET_FORMAT,
            f"reserved bits are set: header {packet.header:#06x}, setup {packet.setup:#06x}, reserved0 "
            f"{packet.reserved0:#06x}",
        )
    ordinal, kernel = runtime.kernels.get(packet.kernel_object, (None, None))
    if kernel is None:
        raise PacketError(
            Status.INVALID_CODE_OBJECT, f"{packet.kernel_object:#x} is not a kernel of a frozen, loaded executable"
        )
    if ordinal != queue.gpu.ordinal:
        raise PacketError(
            Status.INVALID_CODE_OBJECT,
            f"kernel {kernel.name} was loaded for GPU {ordinal}, and the queue is one of GPU {queue.gpu.ordinal}",
        )
    return kernel


def _check_shape(packet: DispatchPacket, kernel: LoadedKernel) -> None:
    dimensions = packet.setup & DIMENSIONS_MASK
    grid, workgroup = tuple(packet.grid_size), tuple(packet.workgroup_size)
    shape = f"kernel {kernel.name}: {dimensions} dimensions, grid {grid}, workgroup {workgroup}"
    if not dimensions or 0 in grid or 0 in workgroup:
        raise PacketError(Status.INCOMPATIBLE_ARGUMENTS, f"{shape}: a size or the number of dimensions is 0")
    if any(size != 1 for size in (*grid[dimensions:], *workgroup[dimensions:])):
        raise PacketError(Status.INCOMPATIBLE_ARGUMENTS, f"{shape}: sizes beyond the dimensions have to be 1")
    # `.max_flat_workgroup_size` is not looked at: AMD's own copy kernel is launched with 512, and compiled for 256.
    items = workgroup[0] * workgroup[1] * workgroup[2]
    if items > MAX_WORKGROUP:
        raise PacketError(Status.INVALID_ARGUMENT, f"{shape}: {items} work-items, at most {MAX_WORKGROUP} are allowed")


def _check_segments(packet: DispatchPacket, kernel: LoadedKernel, lds: int) -> None:
    group, private = packet.group_segment_size, packet.private_segment_size
    needs_group = kernel.descriptor.group_segment_fixed_size
    needs_private = kernel.descriptor.private_segment_fixed_size
    if not needs_group <= group <= lds:
        raise PacketError(
            Status.INVALID_ALLOCATION,
            f"kernel {kernel.name}: group_segment_size {group}, allowed are {needs_group} to {lds}",
        )
    if private < needs_private:
        raise PacketError(
            Status.INVALID_ALLOCATION,
            f"kernel {kernel.name}: private_segment_size {private}, it needs at least {needs_private}",
        )
    if private > MAX_SCRATCH:
        raise PacketError(
            Status.OUT_OF_RESOURCES, f"kernel {kernel.name}: private_segment_size {private} exceeds {MAX_SCRATCH}"
        )
    if packet.kernarg_address % KERNARG_ALIGNMENT:
        raise PacketError(
            Status.INVALID_ARGUMENT,
            f"kernel {kernel.name}: the kernarg address {packet.kernarg_address:#x} is not a multiple of "
            f"{KERNARG_ALIGNMENT}",
        )


def is_satisfied(runtime: HsaRuntime, slot: int) -> bool:
    """Whether a barrier packet waits no longer. A malformed one does not: it fails when its turn comes."""
    packet = BarrierPacket.from_address(slot)
    kind = packet.header & TYPE_MASK
    if kind not in (BARRIER_AND, BARRIER_OR):
        return _is_value_met(runtime, slot)
    signals = [signal for signal in packet.dep_signal if signal]
    if any(signal not in runtime.signals for signal in signals):
        return True
    values = [runtime.signals.load(signal) == 0 for signal in signals]
    # A null signal is not a dependency. An OR with none but null signals waits for nothing.
    return all(values) if kind == BARRIER_AND else any(values) or not values


def _is_value_met(runtime: HsaRuntime, slot: int) -> bool:
    packet = BarrierValuePacket.from_address(slot)
    is_malformed = packet.amd_format != AMD_BARRIER_VALUE or packet.cond >= len(CONDITIONS)
    if is_malformed or not packet.signal or packet.signal not in runtime.signals:
        return True
    is_met: bool = CONDITIONS[packet.cond](runtime.signals.load(packet.signal) & packet.mask, packet.value)
    return is_met


def check_barrier(runtime: HsaRuntime, slot: int) -> None:
    """Refuse a malformed barrier packet.

    Raises:
        PacketError: a signal is not live, or a vendor-specific packet is of an unknown format.
    """
    packet = BarrierPacket.from_address(slot)
    if packet.header & TYPE_MASK in (BARRIER_AND, BARRIER_OR):
        signals = list(packet.dep_signal)
        if packet.reserved0 or packet.reserved1 or packet.header >> HEADER_BITS:
            raise PacketError(Status.INVALID_PACKET_FORMAT, "reserved bits of a barrier packet are set")
    else:
        value = BarrierValuePacket.from_address(slot)
        if value.amd_format != AMD_BARRIER_VALUE or value.cond >= len(CONDITIONS):
            raise PacketError(
                Status.INVALID_PACKET_FORMAT,
                f"a vendor-specific packet of format {value.amd_format}, condition {value.cond}; known is format "
                f"{AMD_BARRIER_VALUE} (barrier value) with conditions 0 to {len(CONDITIONS) - 1}",
            )
        signals = [value.signal]
    for signal in signals:
        if signal and signal not in runtime.signals:
            raise PacketError(
                Status.INVALID_SIGNAL, f"a barrier packet waits for {signal:#x}, which is not a live signal"
            )
