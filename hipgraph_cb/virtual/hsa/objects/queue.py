"""A queue: its structures in memory, and the packet processor that executes its packets.

The program owns a slot until its header says a valid type, the packet processor from then on until it has made the type
invalid again. Packets are taken in order; those that no barrier bit or barrier packet holds back may overlap, so a
seeded random choice among a window of them decides which is done next. All see the same memory, so fences
do nothing.
"""

from __future__ import annotations

import ctypes
import traceback
from typing import TYPE_CHECKING

import numpy as np

from hipgraph_cb.abi.hsa.aql import (
    BARRIER_AND,
    BARRIER_BIT,
    BARRIER_OR,
    INVALID,
    KERNEL_DISPATCH,
    PACKET_SIZE,
    TYPE_MASK,
    VENDOR_SPECIFIC,
    DispatchPacket,
)
from hipgraph_cb.abi.hsa.attributes import FEATURE_KERNEL_DISPATCH
from hipgraph_cb.abi.hsa.status import Status
from hipgraph_cb.abi.hsa.structures import QUEUE_ENABLE_PROFILING, QUEUE_IS_PTR64, SIGNAL_DOORBELL, AmdQueue, AmdSignal
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.faults import DeviceFault, FaultKind
from hipgraph_cb.virtual.hsa.objects.packets import PacketError, check_barrier, is_satisfied, read_dispatch
from hipgraph_cb.virtual.hsa.objects.runtime import HsaRuntime, now
from hipgraph_cb.virtual.memory import MemoryFault

if TYPE_CHECKING:
    from hipgraph_cb.virtual.hsa.objects.agent import Agent
    from hipgraph_cb.virtual.worker import Operation

WINDOW = 16
"""How many packets may be under way at once."""
_HEAD_SIZE = 4096
"""What is before the packets: the amd_queue_v2_t, and behind it the word that the doorbell points to."""
_NO_BELL = (1 << 64) - 1
"""What the doorbell holds before it is rung: the packet before the first, where indices wrap around."""
_ErrorCallback = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_size_t, ctypes.c_size_t)
_STATUS_OF_FAULT = {
    FaultKind.ILLEGAL_ADDRESS: Status.MEMORY_FAULT,
    FaultKind.ILLEGAL_INSTRUCTION: Status.ILLEGAL_INSTRUCTION,
    FaultKind.LAUNCH_FAILURE: Status.EXCEPTION,
    FaultKind.TIMEOUT: Status.EXCEPTION,
}


class Queue:
    """A queue of a GPU.

    Args:
        callback, data: what to call when a packet fails, or 0.

    Attributes:
        address: of its amd_queue_v2_t, which is its hsa_queue_t*.
        is_active: false after a failure, and once it was inactivated.
    """

    def __init__(self, runtime: HsaRuntime, agent: Agent, size: int, kind: int, callback: int, data: int) -> None:
        if agent.gpu is None:
            raise CallError(Status.INVALID_AGENT, "the CPU has no queues for kernels")
        self._runtime = runtime
        self.agent = agent
        self.gpu = agent.gpu
        self.size = size
        self.is_active = True
        self._callback = callback
        self._data = data
        self._done: set[int] = set()
        self._next: list[int] = []
        self._rung = 0
        self._operation: Operation | None = None
        self.address = runtime.memory.allocate(_HEAD_SIZE + size * PACKET_SIZE, alignment=_HEAD_SIZE, label="HSA queue")
        self.packets = self.address + _HEAD_SIZE
        self.structure = AmdQueue.from_address(self.address)
        self._doorbell = ctypes.c_uint64.from_address(self.address + ctypes.sizeof(AmdQueue))
        try:
            bell = ctypes.addressof(self._doorbell)
            self.doorbell_signal = runtime.signals.create(bell, SIGNAL_DOORBELL, self.address)
        except CallError:
            runtime.memory.free(self.address)
            raise
        ctypes.memset(self.address, 0, _HEAD_SIZE)
        self._doorbell.value = _NO_BELL
        self._describe(kind)
        headers = runtime.memory.bytes(self.packets, size * PACKET_SIZE).view(np.uint16)
        headers[:: PACKET_SIZE // 2] = INVALID

    def _describe(self, kind: int) -> None:
        header = self.structure.hsa_queue
        header.type = kind
        header.features = FEATURE_KERNEL_DISPATCH
        header.base_address = self.packets
        header.doorbell_signal = self.doorbell_signal
        header.size = self.size
        header.id = self._runtime.queue_count
        self.structure.read_dispatch_id_field_base_byte_offset = AmdQueue.read_dispatch_id.offset
        self.structure.queue_properties = QUEUE_IS_PTR64
        model = self.gpu.model
        self.structure.max_cu_id = model.compute_units - 1
        self.structure.max_wave_id = model.threads_per_compute_unit // model.wavefront_size - 1

    # -- what the program does -------------------------------------------------------------------------------------

    def ring(self, index: int) -> None:
        """A store to the doorbell signal. With the lock."""
        self._doorbell.value = index
        self._rung = max(self._rung, (index + 1) & _NO_BELL)
        self.wake()

    def wake(self) -> None:
        """Have the worker execute packets that are ready, unless it does already. With the lock."""
        if self._operation is not None and not self._operation.is_done:
            return
        if self.is_active and self._candidates():
            if self.gpu.worker.observer is not None:
                self.gpu.worker.observer.not_observed("a packet of an HSA queue")
            self._operation = self.gpu.worker.submit(self._step, f"queue {self.structure.hsa_queue.id}")

    @property
    def is_busy(self) -> bool:
        """A packet is being worked on."""
        return self._operation is not None and not self._operation.is_done

    def destroy(self) -> None:
        """Take it from the device: its kernel is stopped, and its callback is not called any more. With the lock."""
        runtime = self._runtime
        self.is_active = False
        if self._operation is not None:
            self._operation.stop_reason = "stopped because its queue was destroyed"
        del runtime.queues[self.address]
        del runtime.doorbells[self.doorbell_signal]
        runtime.gate.wait(lambda: not self.is_busy)
        runtime.events.forget(self.address)
        runtime.signals.destroy(self.doorbell_signal)
        runtime.memory.free(self.address)

    # -- the packet processor --------------------------------------------------------------------------------------

    def _header(self, index: int) -> int:
        return ctypes.c_uint16.from_address(self._slot(index)).value

    def _set_header(self, index: int, header: int) -> None:
        ctypes.c_uint16.from_address(self._slot(index)).value = header

    def _slot(self, index: int) -> int:
        return self.packets + index % self.size * PACKET_SIZE

    def _candidates(self) -> list[int]:
        """The packets that may be done now."""
        structure = self.structure
        index = structure.read_dispatch_id
        # A bell names the last packet that is ready; of several threads the one that is ahead may ring first. Slots
        # beyond the ring are not ready, even if the indices say so.
        self._rung = max(self._rung, (self._doorbell.value + 1) & _NO_BELL)
        end = min(structure.write_dispatch_id, self._rung, index + self.size)
        found: list[int] = []
        while index < end and len(found) < WINDOW:
            if index not in self._done:
                header = self._header(index)
                kind = header & TYPE_MASK
                if kind == INVALID or (header & BARRIER_BIT and found):
                    break
                if kind in (BARRIER_AND, BARRIER_OR, VENDOR_SPECIFIC):
                    # Nothing behind it starts before it is satisfied.
                    if is_satisfied(self._runtime, self._slot(index)):
                        found.append(index)
                    break
                found.append(index)
            index += 1
        return found

    def _step(self, operation: Operation) -> bool:
        candidates = (self._next or self._candidates()) if self.is_active else []
        if not candidates:
            return True
        index = candidates[0] if len(candidates) == 1 else self.gpu.worker.random.choice(candidates)
        started = now()
        try:
            self._run(index, operation)
            self._finish(index, started)
        except DeviceFault as fault:
            text = f"kernel {fault.kernel}: {fault.report()}"
            self._fail(index, _STATUS_OF_FAULT[fault.kind], text, fault.address)
        except MemoryFault as error:
            self._fail(index, Status.MEMORY_FAULT, str(error), error.address)
        except PacketError as error:
            self._fail(index, error.status, str(error), None)
        except Exception as error:  # noqa: BLE001 - the queue's callback reports any error
            self._fail(index, Status.ERROR, "".join(traceback.format_exception(error)).rstrip(), None)
        # No empty step at the end: it would take a number from the generator at an unpredictable time.
        self._next = self._candidates() if self.is_active else []
        return not self._next

    def _run(self, index: int, operation: Operation) -> None:
        slot = self._slot(index)
        kind = self._header(index) & TYPE_MASK
        if kind == KERNEL_DISPATCH:
            dispatch = read_dispatch(self._runtime, self, slot)
            self._completion_signal(slot)
            dispatch.run(operation)
        elif kind in (BARRIER_AND, BARRIER_OR, VENDOR_SPECIFIC):
            check_barrier(self._runtime, slot)
        else:
            raise PacketError(Status.INVALID_PACKET_FORMAT, f"packet type {kind} is not one that a kernel queue takes")
        self._completion_signal(slot)

    def _completion_signal(self, slot: int) -> int:
        handle = ctypes.c_uint64.from_address(slot + DispatchPacket.completion_signal.offset).value
        if handle and handle not in self._runtime.signals:
            raise PacketError(Status.INVALID_SIGNAL, f"the completion signal {handle:#x} is not a live signal")
        return handle

    def _finish(self, index: int, started: int) -> None:
        runtime = self._runtime
        with runtime.gate.lock:
            signal = self._completion_signal(self._slot(index))
            self._set_header(index, INVALID)
            self._done.add(index)
            read = self.structure.read_dispatch_id
            while read in self._done:
                self._done.discard(read)
                read += 1
            self.structure.read_dispatch_id = read
            if signal:
                if self.structure.queue_properties & QUEUE_ENABLE_PROFILING:
                    times = AmdSignal.from_address(signal)
                    times.start_ts, times.end_ts = started, now()
                runtime.signals.decrement(signal)
                runtime.signal_changed(signal)

    def _fail(self, index: int, status: Status, text: str, address: int | None) -> None:
        """The queue does nothing more. Its read index is at the packet that failed."""
        runtime = self._runtime
        with runtime.gate.lock:
            self.is_active = False
            self.structure.read_dispatch_id = index
            where = f"queue {self.structure.hsa_queue.id}, packet {index}"
            runtime.gate.faults.add(f"{where}: {text}")
            if runtime.queues.get(self.address) is self:  # else it was stopped because the program destroyed it
                runtime.gate.faults.keep(f"{where}: {text}")
            runtime.gate.faults.failed()  # the next failure is another one
            runtime.events.post(self.address, lambda: self._report(status, address))
            runtime.gate.changed.notify_all()

    def _report(self, status: Status, address: int | None) -> None:
        """Tell the program. A memory fault and whose it was are one report: who is destroyed before makes neither."""
        if status is Status.MEMORY_FAULT and address is not None:
            self._runtime.memory_fault(self.agent, address)
        if self._callback and self._runtime.queues.get(self.address) is self:  # no handler destroyed it
            _ErrorCallback(self._callback)(status, self.address, self._data)
