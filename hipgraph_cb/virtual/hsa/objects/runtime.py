"""The state behind all functions of the virtual libhsa-runtime64."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from hipgraph_cb.abi.hsa.attributes import GPU_MEMORY_FAULT_EVENT, PAGE_NOT_PRESENT
from hipgraph_cb.abi.hsa.status import Status
from hipgraph_cb.abi.hsa.structures import MemoryFaultEvent
from hipgraph_cb.virtual.callbacks import CallError, CallGate
from hipgraph_cb.virtual.handles import HandleTable
from hipgraph_cb.virtual.hsa.objects.agent import Agent, MemoryPool, make_agents
from hipgraph_cb.virtual.hsa.objects.events import Events
from hipgraph_cb.virtual.hsa.objects.pool_memory import MemoryOfPool, PoolMemory
from hipgraph_cb.virtual.hsa.objects.signals import Pending, PendingWork, Signals
from hipgraph_cb.virtual.machine import Machine
from hipgraph_cb.virtual.virtual_memory import Refusals, VirtualMemory

if TYPE_CHECKING:
    from hipgraph_cb.virtual.hsa.objects.executable import CodeObjectReader, Executable, LoadedCodeObject, Symbol
    from hipgraph_cb.virtual.hsa.objects.queue import Queue
    from hipgraph_cb.virtual.loader import LoadedKernel

TICKS_PER_SECOND = 100_000_000
"""The rate of HSA timestamps: 10 ns a tick."""
_REFUSALS = Refusals(
    unknown=Status.INVALID_ALLOCATION,
    invalid=Status.INVALID_ARGUMENT,
    other_size=Status.INVALID_ARGUMENT,
    in_use=Status.RESOURCE_FREE,
    no_room=Status.OUT_OF_RESOURCES,
    foreign=Status.INCOMPATIBLE_ARGUMENTS,
)
_SIGNALS_OF_A_LOOK = 64
"""So many awaited signals are read in one look, in turn: its cost does not grow with their number."""
_EventHandler = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, ctypes.c_size_t)


def now() -> int:
    """The timestamp of HSA."""
    return time.perf_counter_ns() // (1_000_000_000 // TICKS_PER_SECOND)


class HsaRuntime:
    """All state of the virtual library; functions of `FUNCTIONS` get it as their first argument.

    Attributes:
        references: how often hsa_init was called more than hsa_shut_down.
        agents: all agents by handle; the CPU is first.
        kernels: by the address of their descriptor: those that packets may name, with the device they are on.
        pending: what waits for signals.
        event_handlers: pairs of a function's address and its data, to be called for memory faults.
        symbol_addresses: where the library's own functions are, for the tables of extensions.
    """

    def __init__(self, machine: Machine, gate: CallGate) -> None:
        self.machine = machine
        self.gate = gate
        self.settings = machine.settings
        self.memory = machine.memory
        self.references = 0
        self.agents: dict[int, Agent] = {agent.handle: agent for agent in make_agents(machine)}
        self.pools: dict[int, MemoryPool] = {
            pool.handle: pool for agent in self.agents.values() for pool in agent.pools
        }
        self.isas: dict[int, Agent] = {agent.isa: agent for agent in self.agents.values() if agent.isa}
        self.signals = Signals(self.memory)
        self.events = Events(gate, machine)
        self.pool_memory = PoolMemory(self.memory)
        self.virtual_memory: VirtualMemory[MemoryOfPool] = VirtualMemory(self.memory, _REFUSALS)
        self.queues: dict[int, Queue] = {}
        self.doorbells: dict[int, Queue] = {}
        self.queue_count = 0
        self.readers: HandleTable[CodeObjectReader] = HandleTable(Status.INVALID_CODE_OBJECT_READER)
        self.executables: HandleTable[Executable] = HandleTable(Status.INVALID_EXECUTABLE)
        self.loaded_code_objects: HandleTable[LoadedCodeObject] = HandleTable(Status.INVALID_CODE_OBJECT)
        self.symbols: HandleTable[Symbol] = HandleTable(Status.INVALID_EXECUTABLE_SYMBOL)
        self.signal_groups: HandleTable[list[int]] = HandleTable(Status.INVALID_SIGNAL_GROUP)
        self.kernels: dict[int, tuple[int, LoadedKernel]] = {}
        self.pending = PendingWork()
        self.event_handlers: list[tuple[int, int]] = []
        self.profiles_copies = False
        self.locate: Callable[[str], int] = lambda name: 0
        for gpu in machine.gpus:
            gpu.worker.add_watch(self.look_around)

    # -- handles ---------------------------------------------------------------------------------------------------

    def agent(self, handle: int) -> Agent:
        agent = self.agents.get(handle)
        if agent is None:
            raise CallError(Status.INVALID_AGENT, f"{handle:#x} is not an agent")
        return agent

    def pool(self, handle: int) -> MemoryPool:
        pool = self.pools.get(handle)
        if pool is None:
            raise CallError(Status.INVALID_MEMORY_POOL, f"{handle:#x} is not a memory pool")
        return pool

    def queue(self, address: int) -> Queue:
        queue = self.queues.get(address)
        if queue is None:
            raise CallError(Status.INVALID_QUEUE, f"{address:#x} is not a queue")
        return queue

    # -- room in memory --------------------------------------------------------------------------------------------

    def used(self, agent: Agent) -> int:
        """The bytes of an agent that are in use."""
        created = (known for known in self.virtual_memory.handles() if known.owner.pool.agent is agent)
        return self.pool_memory.used(agent) + sum(known.physical.size for known in created)

    def check_room(self, pool: MemoryPool, size: int) -> None:
        used = self.used(pool.agent)
        if used + size > pool.size:
            raise CallError(Status.OUT_OF_RESOURCES, f"{used} of {pool.size} bytes are in use, {size} were requested")

    # -- what happens without a call -------------------------------------------------------------------------------

    def look_around(self) -> bool:
        """Start what can go on: new packets, conditions that were met by a store of a kernel or through an address of
        the host. With the lock, from a worker.

        Returns whether a worker has to look again without being asked.
        """
        self._wake_queues()
        self.pending.look_at_some(_SIGNALS_OF_A_LOOK)
        return bool(self.queues or self.pending)

    def wait_for(self, awaited: Callable[[], int | None], start: Callable[[], None]) -> None:
        """Call `start` once `awaited()` names no signal any more. Both get the lock. With the lock."""
        is_watching = bool(self.pending)
        self.pending.add(Pending(awaited, start))
        if self.pending and not is_watching:
            self.machine.gpus[0].worker.watch()

    def signal_changed(self, handle: int) -> None:
        """A signal was stored to, or destroyed: let those who wait for it look. With the lock."""
        self.gate.changed.notify_all()
        self._wake_queues()
        self.pending.look_at(handle)

    def _wake_queues(self) -> None:
        for queue in self.queues.values():
            queue.wake()

    def memory_fault(self, agent: Agent, address: int) -> None:
        """Tell the handlers of system events. On the thread for events, without the lock."""
        event = MemoryFaultEvent(GPU_MEMORY_FAULT_EVENT, agent.handle, address, PAGE_NOT_PRESENT)
        for function, data in tuple(self.event_handlers):
            _EventHandler(function)(ctypes.addressof(event), data)

    def release_all(self) -> None:
        """After the last hsa_shut_down: nothing that was made is left."""
        for queue in list(self.queues.values()):
            queue.destroy()
        for executable in self.executables.values():
            executable.destroy()
        for table in (self.readers, self.executables, self.loaded_code_objects, self.symbols, self.signal_groups):
            table.clear()
        self.pending.clear()
        self.event_handlers.clear()
        self.events.forget_all()
        self.signals.release_all()
        self.pool_memory.release_all()
        self.virtual_memory.release_all()
