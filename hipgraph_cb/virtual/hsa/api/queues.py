"""Functions of queues: create, destroy, indices, profiling, priority, masks of compute units."""

from __future__ import annotations

from hipgraph_cb.abi.hsa.attributes import QueueType
from hipgraph_cb.abi.hsa.status import Status
from hipgraph_cb.abi.hsa.structures import QUEUE_ENABLE_PROFILING
from hipgraph_cb.virtual.hsa.api.agents import MAX_QUEUE_SIZE, MAX_QUEUES
from hipgraph_cb.virtual.hsa.api.signals import LOAD_ORDERS, STORE_ORDERS, UPDATE_ORDERS
from hipgraph_cb.virtual.hsa.function_table import HANDLE, INT, POINTER, UINT, UINT64, api, native
from hipgraph_cb.virtual.hsa.native import load_u32s, require, store_bytes, store_u64
from hipgraph_cb.virtual.hsa.objects.atomics import (
    READ_INDEX,
    WRITE_INDEX,
    add_code,
    compare_and_swap_code,
    load_code,
    store_code,
)
from hipgraph_cb.virtual.hsa.objects.queue import Queue
from hipgraph_cb.virtual.hsa.objects.runtime import HsaRuntime
from hipgraph_cb.virtual.memory import OutOfMemory


@api("hsa_queue_create", HANDLE, UINT, UINT, POINTER, POINTER, UINT, UINT, POINTER)
def queue_create(
    runtime: HsaRuntime,
    agent_handle: int,
    size: int,
    kind: int,
    callback: int,
    data: int,
    private_segment_size: int,
    group_segment_size: int,
    out: int,
) -> None:
    agent = runtime.agent(agent_handle)
    require(out and size and not size & (size - 1), note=f"{size} packets: the size has to be a power of two")
    require(kind in tuple(QueueType))
    require(agent.gpu is not None, Status.INVALID_QUEUE_CREATION, "the CPU has no queues for kernels")
    require(size <= MAX_QUEUE_SIZE, note=f"{size} packets, the most are {MAX_QUEUE_SIZE}")
    require(sum(queue.agent is agent for queue in runtime.queues.values()) < MAX_QUEUES, Status.OUT_OF_RESOURCES)
    try:
        queue = Queue(runtime, agent, size, kind, callback, data)
    except OutOfMemory:
        require(False, Status.OUT_OF_RESOURCES, "there is no device memory left for a queue")
        raise
    runtime.queue_count += 1
    runtime.queues[queue.address] = queue
    runtime.doorbells[queue.doorbell_signal] = queue
    queue.gpu.worker.watch()
    store_u64(out, queue.address)


@api("hsa_queue_destroy", POINTER, releases=True)
def queue_destroy(runtime: HsaRuntime, address: int) -> None:
    require(address)
    runtime.queue(address).destroy()


@api("hsa_queue_inactivate", POINTER)
def queue_inactivate(runtime: HsaRuntime, address: int) -> None:
    require(address)
    queue = runtime.queue(address)
    queue.is_active = False
    runtime.gate.wait(lambda: not queue.is_busy)


for _order in LOAD_ORDERS:
    native(f"hsa_queue_load_read_index_{_order}", POINTER, result=UINT64, code=load_code(READ_INDEX))
    native(f"hsa_queue_load_write_index_{_order}", POINTER, result=UINT64, code=load_code(WRITE_INDEX))
for _order in STORE_ORDERS:
    native(f"hsa_queue_store_read_index_{_order}", POINTER, UINT64, result=None, code=store_code(READ_INDEX))
    native(f"hsa_queue_store_write_index_{_order}", POINTER, UINT64, result=None, code=store_code(WRITE_INDEX))
for _order in UPDATE_ORDERS:
    native(f"hsa_queue_add_write_index_{_order}", POINTER, UINT64, result=UINT64, code=add_code(WRITE_INDEX))
    native(
        f"hsa_queue_cas_write_index_{_order}",
        *(POINTER, UINT64, UINT64),
        result=UINT64,
        code=compare_and_swap_code(WRITE_INDEX),
    )


@api("hsa_amd_profiling_set_profiler_enabled", POINTER, INT)
def set_profiler_enabled(runtime: HsaRuntime, address: int, enable: int) -> None:
    require(address)
    structure = runtime.queue(address).structure
    if enable:
        structure.queue_properties |= QUEUE_ENABLE_PROFILING
    else:
        structure.queue_properties &= ~QUEUE_ENABLE_PROFILING


@api("hsa_amd_queue_set_priority", POINTER, INT)
def queue_set_priority(runtime: HsaRuntime, address: int, priority: int) -> None:
    """A hint: the worker takes queues in arbitrary order."""
    require(priority in (0, 1, 2))
    runtime.queue(address)


@api("hsa_amd_queue_cu_set_mask", POINTER, UINT, POINTER)
def queue_cu_set_mask(runtime: HsaRuntime, address: int, bits: int, mask: int) -> None:
    """A hint: there is one compute unit, the worker."""
    runtime.queue(address)
    require(bits % 32 == 0)
    load_u32s(mask, bits // 32)


@api("hsa_amd_queue_cu_get_mask", POINTER, UINT, POINTER)
def queue_cu_get_mask(runtime: HsaRuntime, address: int, bits: int, mask: int) -> None:
    runtime.queue(address)
    require(bits and bits % 32 == 0)
    store_bytes(mask, b"\xff" * (bits // 8))


@api("hsa_amd_queue_get_info", POINTER, INT, POINTER)
def queue_get_info(runtime: HsaRuntime, address: int, attribute: int, out: int) -> None:
    queue = runtime.queue(address)
    require(attribute in (0, 1), note=f"queue attribute {attribute} is not known")
    store_u64(out, queue.agent.handle if attribute == 0 else queue.structure.hsa_queue.doorbell_signal)
