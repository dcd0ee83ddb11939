"""What can be enqueued on a stream or be a node of a graph: plain values with a `run`.

The same value serves both: a call on a stream enqueues it, a call on a capturing stream or a hipGraphAdd function
makes a node of it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.enums import NodeKind
from hipgraph_cb.virtual.callbacks import CallError

if TYPE_CHECKING:
    from hipgraph_cb.virtual.hip.objects.event import Event
    from hipgraph_cb.virtual.hip.objects.gpu import Gpu
    from hipgraph_cb.virtual.hip.objects.runtime import HipRuntime
    from hipgraph_cb.virtual.worker import Operation


class Work(Protocol):
    """One piece of work of a device. `run` executes it, on the worker and without the gate's lock."""

    kind: ClassVar[NodeKind]

    @property
    def label(self) -> str: ...

    def run(self, runtime: HipRuntime, gpu: Gpu, operation: Operation | None) -> None: ...


class SteppedWork:
    """Work that waits for other devices on the way: each execution has steps of its own, which return whether it is
    over. A device does other work between them."""

    kind: ClassVar[NodeKind] = NodeKind.KERNEL

    @property
    def label(self) -> str:
        raise NotImplementedError

    def begin(self, runtime: HipRuntime, gpu: Gpu) -> Callable[[Operation], bool]:
        raise NotImplementedError

    def run(self, runtime: HipRuntime, gpu: Gpu, operation: Operation | None) -> None:
        raise NotImplementedError("stepped work runs on a worker")


def run_work(work: Work, runtime: HipRuntime, gpu: Gpu, operation: Operation, node: int | None = None) -> None:
    """Run a piece of work of an operation, or a node of the graph that it launches, whoever is told of it."""
    observer = gpu.worker.observer
    if observer is None:
        work.run(runtime, gpu, operation)
    else:
        observer.run(work, runtime, gpu, operation, node)


@dataclass(frozen=True)
class Empty:
    """Nothing: a place where edges meet."""

    kind: ClassVar[NodeKind] = NodeKind.EMPTY
    label: ClassVar[str] = "empty node"

    def run(self, runtime: HipRuntime, gpu: Gpu, operation: Operation | None) -> None:
        return None


@dataclass(frozen=True)
class Fill:
    """`height` rows of `width` elements of 1, 2 or 4 bytes, `pitch` bytes apart."""

    destination: int
    value: int
    element_size: int
    width: int
    height: int = 1
    pitch: int = 0
    kind: ClassVar[NodeKind] = NodeKind.MEMSET

    @property
    def label(self) -> str:
        rows = "" if self.height == 1 else f" x {self.height} rows"
        return f"memset of {self.width * self.element_size} bytes{rows} at {self.destination:#x}"

    def run(self, runtime: HipRuntime, gpu: Gpu, operation: Operation | None) -> None:
        element = (self.value & ((1 << 8 * self.element_size) - 1)).to_bytes(self.element_size, "little")
        row_size = self.width * self.element_size
        if self.height == 1 or self.pitch == row_size:
            self._fill_row(runtime, self.destination, row_size * self.height, element)
            return
        for row in range(self.height):
            self._fill_row(runtime, self.destination + row * self.pitch, row_size, element)

    @staticmethod
    def _fill_row(runtime: HipRuntime, address: int, size: int, element: bytes) -> None:
        view = runtime.allocations.view(address, size)
        if element.count(element[:1]) == len(element):
            view[:] = element[0]
        else:
            # A row need not be aligned to its element, so bytes are written by their place in the element.
            for place, byte in enumerate(element):
                view[place :: len(element)] = byte


@dataclass(frozen=True)
class Copy:
    """`size` bytes in one piece; host memory is read or written when this runs."""

    destination: int
    source: int
    size: int
    direction: int
    kind: ClassVar[NodeKind] = NodeKind.MEMCPY

    @property
    def label(self) -> str:
        return f"memcpy of {self.size} bytes from {self.source:#x} to {self.destination:#x}"

    def run(self, runtime: HipRuntime, gpu: Gpu, operation: Operation | None) -> None:
        copy_row(runtime, self.destination, self.source, self.size)


@dataclass(frozen=True)
class Upload:
    """Bytes of pageable host memory, taken when the copy was enqueued."""

    destination: int
    data: bytes
    kind: ClassVar[NodeKind] = NodeKind.MEMCPY

    @property
    def label(self) -> str:
        return f"memcpy of {len(self.data)} bytes from the host to {self.destination:#x}"

    def run(self, runtime: HipRuntime, gpu: Gpu, operation: Operation | None) -> None:
        size = len(self.data)
        runtime.allocations.view(self.destination, size)[:] = np.frombuffer(self.data, np.uint8)


@dataclass(frozen=True)
class CopyBox:
    """`height` x `depth` rows of `width` bytes. Each side has an address, a pitch and the size of a slice in bytes."""

    destination: int
    destination_pitch: int
    destination_slice: int
    source: int
    source_pitch: int
    source_slice: int
    width: int
    height: int
    depth: int
    parameters: bytes = b""
    direction: int = 4  # hipMemcpyDefault
    kind: ClassVar[NodeKind] = NodeKind.MEMCPY

    @property
    def label(self) -> str:
        shape = f"{self.width} bytes x {self.height} x {self.depth}"
        return f"memcpy of {shape} from {self.source:#x} to {self.destination:#x}"

    def run(self, runtime: HipRuntime, gpu: Gpu, operation: Operation | None) -> None:
        for z in range(self.depth):
            for y in range(self.height):
                destination = self.destination + z * self.destination_slice + y * self.destination_pitch
                source = self.source + z * self.source_slice + y * self.source_pitch
                copy_row(runtime, destination, source, self.width)


def copy_row(runtime: HipRuntime, destination: int, source: int, size: int) -> None:
    """Copy after checking the device side; raises MemoryFault where it is not inside one live allocation."""
    allocations = runtime.allocations
    if allocations.registered:
        destination, source = allocations.host_address(destination), allocations.host_address(source)
    for address in (source, destination):
        if allocations.memory.is_inside(address):
            runtime.memory.bytes(address, size)
    ctypes.memmove(destination, source, size)


_HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_size_t)


@dataclass(frozen=True)
class HostCall:
    """A function of the host program, called with one pointer."""

    function: int
    argument: int
    kind: ClassVar[NodeKind] = NodeKind.HOST

    @property
    def label(self) -> str:
        return f"host function at {self.function:#x}"

    def run(self, runtime: HipRuntime, gpu: Gpu, operation: Operation | None) -> None:
        _HOST_FUNCTION(self.function)(self.argument)


@dataclass(frozen=True)
class RecordEvent:
    """Completes an event that the launch of its graph has started. (On a stream the event refers to the operation.)"""

    event: Event
    kind: ClassVar[NodeKind] = NodeKind.EVENT_RECORD
    label: ClassVar[str] = "event record"

    def run(self, runtime: HipRuntime, gpu: Gpu, operation: Operation | None) -> None:
        with runtime.gate.lock:
            # An observer has to know what an event was behind: there it is over when its graph is.
            if self.event.operation is operation and gpu.worker.observer is None:
                self.event.note_time()


@dataclass(frozen=True)
class WaitEvent:
    """Holds a graph back until the work behind which the event was recorded, before the launch, is done."""

    event: Event
    kind: ClassVar[NodeKind] = NodeKind.WAIT_EVENT
    label: ClassVar[str] = "event wait"

    def run(self, runtime: HipRuntime, gpu: Gpu, operation: Operation | None) -> None:
        return None


def refuse_freed(runtime: HipRuntime, address: int) -> None:
    """A device address without a live allocation: AMD's runtime takes it for host memory and crashes."""
    allocations = runtime.allocations
    if allocations.memory.is_inside(address) and allocations.find(address) is None:
        raise CallError(
            Code.INVALID_VALUE, f"{address:#x} is not device memory any more: {runtime.memory.describe(address)}"
        )


def refuse_freed_fills(runtime: HipRuntime, works: Iterable[Work]) -> None:
    """What AMD's runtime looks at when it makes a graph executable: it crashes on a fill of freed memory."""
    for work in works:
        if isinstance(work, Fill):
            refuse_freed(runtime, work.destination)


def values_of(structure: Any, *names: str) -> tuple[int, ...]:
    """Several integer fields of a ctypes structure."""
    return tuple(int(getattr(structure, name)) for name in names)
