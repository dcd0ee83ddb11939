"""What HSA says about a GPU: its target, its limits, and where its memory comes from."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

from hipgraph_cb.abi.hsa.attributes import (
    AgentInfo,
    AgentPoolInfo,
    DeviceType,
    IsaInfo,
    PoolAccess,
    PoolFlag,
    PoolInfo,
    Segment,
)
from hipgraph_cb.code_object.limits import DeviceLimits
from hipgraph_cb.code_object.target_id import TargetId
from hipgraph_cb.errors import HipGraphError, InternalError, NotFoundError
from hipgraph_cb.hsa.api import HsaApi
from hipgraph_cb.hsa.functions import BOOL, U16, U32, U64

NAME_SIZE = 64


@dataclass(frozen=True)
class Agent:
    """One GPU, with what the backend needs to know of it.

    Attributes:
        handle: the hsa_agent_t.
        targets: its instruction sets; a set, for their order means nothing.
        profile, rounding: what executables for it are made with.
        device_pool, host_pool: where its own memory and memory that both sides see come from.
        largest_queue: packets.
        device_count: GPUs that HSA lists.
    """

    handle: int
    name: str
    target: TargetId
    targets: frozenset[TargetId]
    limits: DeviceLimits
    profile: int
    rounding: int
    device_pool: int
    host_pool: int
    largest_queue: int
    compute_units: int
    device_count: int


def find_agent(api: HsaApi, ordinal: int) -> Agent:
    """GPU number `ordinal`, as HSA lists them.

    Raises:
        NotFoundError: there is no such GPU.
        InternalError: the runtime describes a GPU that cannot be used.
        HsaError: a query failed.
    """
    agents = api.list("hsa_iterate_agents")
    kinds = [_info(api, agent, AgentInfo.DEVICE, U32) for agent in agents]
    gpus = [agent for agent, kind in zip(agents, kinds, strict=True) if kind == DeviceType.GPU]
    if ordinal >= len(gpus):
        raise NotFoundError(
            "open_device: no such device",
            found=f"device {ordinal}",
            allowed=f"0 to {len(gpus) - 1}" if gpus else "none: HSA sees no GPU",
        )
    cpus = [agent for agent, kind in zip(agents, kinds, strict=True) if kind == DeviceType.CPU]
    return _describe(api, gpus[ordinal], cpus, len(gpus))


def _describe(api: HsaApi, agent: int, cpus: list[int], device_count: int) -> Agent:
    targets = _targets(api, agent)
    pools = _pools(api, agent)
    host_pools = [pool for cpu in cpus for pool in _pools(api, cpu)]
    return Agent(
        handle=agent,
        name=_text(api, agent, AgentInfo.PRODUCT_NAME) or _text(api, agent, AgentInfo.NAME),
        target=next((target for target in targets if not target.is_generic), targets[0]),
        targets=frozenset(targets),
        limits=_limits(api, agent, pools),
        profile=_info(api, agent, AgentInfo.PROFILE, U32),
        rounding=_info(api, agent, AgentInfo.DEFAULT_FLOAT_ROUNDING_MODE, U32),
        device_pool=_pool(pools, PoolFlag.COARSE_GRAINED, "the GPU has no memory of its own to allocate"),
        host_pool=_pool(host_pools, PoolFlag.KERNARG, "no CPU has memory for kernel arguments"),
        largest_queue=_info(api, agent, AgentInfo.QUEUE_MAX_SIZE, U32),
        compute_units=_info(api, agent, AgentInfo.COMPUTE_UNIT_COUNT, U32),
        device_count=device_count,
    )


def can_access(api: HsaApi, agent: Agent, pool: int) -> bool:
    """Whether an agent may be given access to what is allocated from a pool of another one."""
    access = api.read("hsa_amd_agent_memory_pool_get_info", agent.handle, pool, AgentPoolInfo.ACCESS, kind=U32)
    return bool(access != PoolAccess.NEVER_ALLOWED)


def _targets(api: HsaApi, agent: int) -> list[TargetId]:
    """The instruction sets of an agent. A name that cannot be read is skipped: a newer runtime may list it."""
    targets: list[TargetId] = []
    for isa in api.list("hsa_agent_iterate_isas", agent):
        length = _isa(api, isa, IsaInfo.NAME_LENGTH, U32).value
        name = _isa(api, isa, IsaInfo.NAME, ctypes.c_char * (length + 1)).value.decode(errors="replace")
        try:
            targets.append(TargetId.parse(name))
        except HipGraphError:
            continue
    if not targets:
        raise InternalError("open_device: HSA names no instruction set of the GPU that can be read")
    return targets


def _isa(api: HsaApi, isa: int, attribute: IsaInfo, kind: Any) -> Any:
    value = kind()
    api.call("hsa_isa_get_info_alt", isa, attribute, ctypes.byref(value))
    return value


def _limits(api: HsaApi, agent: int, pools: list[_Pool]) -> DeviceLimits:
    x, y, z = api.read("hsa_agent_get_info", agent, AgentInfo.WORKGROUP_MAX_DIM, kind=U16 * 3)
    return DeviceLimits(
        max_workgroup_size=(x, y, z),
        max_flat_workgroup_size=_info(api, agent, AgentInfo.WORKGROUP_MAX_SIZE, U32),
        max_lds=max((pool.size for pool in pools if pool.segment == Segment.GROUP), default=0),
        wavefront_size=_info(api, agent, AgentInfo.WAVEFRONT_SIZE, U32),
    )


@dataclass(frozen=True)
class _Pool:
    handle: int
    segment: int
    flags: int
    size: int
    can_allocate: bool


def _pools(api: HsaApi, agent: int) -> list[_Pool]:
    return [_pool_of(api, pool) for pool in api.list("hsa_amd_agent_iterate_memory_pools", agent)]


def _pool_of(api: HsaApi, pool: int) -> _Pool:
    def info(attribute: PoolInfo, kind: Any) -> Any:
        return api.read("hsa_amd_memory_pool_get_info", pool, attribute, kind=kind)

    segment = info(PoolInfo.SEGMENT, U32)
    is_global = segment == Segment.GLOBAL
    return _Pool(
        handle=pool,
        segment=segment,
        flags=info(PoolInfo.GLOBAL_FLAGS, U32) if is_global else 0,
        size=info(PoolInfo.SIZE, U64),
        can_allocate=is_global and info(PoolInfo.RUNTIME_ALLOC_ALLOWED, BOOL),
    )


def _pool(pools: list[_Pool], flag: int, missing: str) -> int:
    """The first pool of global memory with a flag from which may be allocated."""
    for pool in pools:
        if pool.can_allocate and pool.flags & flag:
            return pool.handle
    raise InternalError(f"open_device: {missing}")


def _info(api: HsaApi, agent: int, attribute: AgentInfo, kind: Any) -> Any:
    return api.read("hsa_agent_get_info", agent, attribute, kind=kind)


def _text(api: HsaApi, agent: int, attribute: AgentInfo) -> str:
    value = api.read("hsa_agent_get_info", agent, attribute, kind=ctypes.c_char * NAME_SIZE)
    return bytes(value).split(b"\0")[0].decode(errors="replace")
