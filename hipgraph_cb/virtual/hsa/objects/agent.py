"""The agents of the virtual machine with their memory pools: one CPU, then the GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from hipgraph_cb.abi.hsa.attributes import PoolFlag, Segment
from hipgraph_cb.code_object.target_id import HSA_PREFIX
from hipgraph_cb.virtual.machine import HOST_ARENA, Machine, VirtualGpu

_handles = count(0xA6E0_0000, 0x100)


@dataclass
class MemoryPool:
    """A memory pool, or a region. `size` in bytes; `flags` as in hsa_amd_memory_pool_global_flag_t."""

    handle: int
    segment: int
    flags: int
    size: int
    agent: Agent

    @property
    def is_allocatable(self) -> bool:
        return self.segment == Segment.GLOBAL


@dataclass
class Agent:
    """A CPU (`gpu` is None) or a GPU. `node` counts all agents; `isa` is a handle, 0 for none."""

    handle: int
    node: int
    gpu: VirtualGpu | None
    isa: int = 0
    pools: list[MemoryPool] = field(default_factory=list)

    @property
    def isa_name(self) -> str:
        return f"{HSA_PREFIX}{self.gpu.target}" if self.gpu else ""

    def add_pool(self, segment: int, flags: int, size: int) -> None:
        self.pools.append(MemoryPool(next(_handles), segment, flags, size, self))


def make_agents(machine: Machine) -> Iterator[Agent]:
    """The agents of these GPUs. Every pool of the CPU is one view of the same host memory, as with AMD's runtime."""
    cpu = Agent(next(_handles), 0, None)
    for flags in (PoolFlag.FINE_GRAINED, PoolFlag.FINE_GRAINED | PoolFlag.KERNARG, PoolFlag.COARSE_GRAINED):
        cpu.add_pool(Segment.GLOBAL, flags, HOST_ARENA)
    yield cpu
    for node, gpu in enumerate(machine.gpus, start=1):
        agent = Agent(next(_handles), node, gpu, next(_handles))
        agent.add_pool(Segment.GLOBAL, PoolFlag.COARSE_GRAINED, machine.settings.memory)
        agent.add_pool(Segment.GLOBAL, PoolFlag.FINE_GRAINED, machine.settings.memory)
        agent.add_pool(Segment.GROUP, 0, gpu.model.lds)
        yield agent
