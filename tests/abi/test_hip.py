"""The HIP header facts, compared with those that hip-python was made from: no library is loaded for that."""

from __future__ import annotations

import ctypes

import pytest
from hip import hip

from hipgraph_cb.abi.hip import enums
from hipgraph_cb.abi.hip.codes import Code
from hipgraph_cb.abi.hip.structures import (
    AllocateParams,
    DeviceProperties,
    DriverMemcpy2D,
    DriverMemcpy3D,
    FunctionAttributes,
    HostNodeParams,
    InstantiateParams,
    KernelNodeParams,
    Memcpy3DParams,
    Memcpy3DPeerParams,
    MemcpyNodeParams,
    MemoryAccess,
    MemsetParams,
    NodeParams,
    PointerAttributes,
    PoolProperties,
)

STRUCTURES = {
    AllocateParams: hip.hipMemAllocNodeParams,
    DeviceProperties: hip.hipDeviceProp_t,
    DriverMemcpy2D: hip.hip_Memcpy2D,
    DriverMemcpy3D: hip.HIP_MEMCPY3D,
    FunctionAttributes: hip.hipFuncAttributes,
    HostNodeParams: hip.hipHostNodeParams,
    InstantiateParams: hip.hipGraphInstantiateParams,
    KernelNodeParams: hip.hipKernelNodeParams,
    Memcpy3DParams: hip.hipMemcpy3DParms,
    Memcpy3DPeerParams: hip.hipMemcpy3DPeerParms,
    MemcpyNodeParams: hip.hipMemcpyNodeParams,
    MemoryAccess: hip.hipMemAccessDesc,
    MemsetParams: hip.hipMemsetParams,
    NodeParams: hip.hipGraphNodeParams,
    PointerAttributes: hip.hipPointerAttribute_t,
    PoolProperties: hip.hipMemPoolProps,
}


@pytest.mark.parametrize(("ours", "theirs"), STRUCTURES.items(), ids=lambda value: value.__name__)
def test_a_structure_is_as_large_as_that_of_hip_python(ours, theirs):
    assert ctypes.sizeof(ours) == theirs().c_sizeof()


def test_a_number_that_hip_python_writes_into_a_field_is_read_from_that_field():
    read = {}
    for ours, theirs in STRUCTURES.items():
        for name, kind, *_ in ours._fields_:
            native = theirs()
            if kind in (ctypes.c_int, ctypes.c_uint, ctypes.c_size_t) and _can_write(native, name):
                view = ours.from_address(int(native))
                read[ours, name] = [field for field, *_ in ours._fields_ if getattr(view, field) == 1]
    assert read == {(ours, name): [name] for ours, name in read}
    assert len(read) > 100


def _can_write(native, name):
    try:
        setattr(native, name, 1)
    except (AttributeError, TypeError, ValueError):  # pointers and enumerations take objects
        return False
    return True


ENUMERATIONS = {
    enums.MemcpyKind: hip.hipMemcpyKind,
    enums.MemoryType: hip.hipMemoryType,
    enums.NodeKind: hip.hipGraphNodeType,
    enums.CaptureMode: hip.hipStreamCaptureMode,
    enums.CaptureStatus: hip.hipStreamCaptureStatus,
    enums.UpdateCaptureDependencies: hip.hipStreamUpdateCaptureDependenciesFlags,
    enums.DebugDotFlag: hip.hipGraphDebugDotFlags,
    enums.PointerAttribute: hip.hipPointer_attribute,
    enums.RangeAttribute: hip.hipMemRangeAttribute,
    enums.MemoryAdvise: hip.hipMemoryAdvise,
    enums.PoolAttribute: hip.hipMemPoolAttr,
    enums.GraphMemoryAttribute: hip.hipGraphMemAttributeType,
    enums.AccessFlag: hip.hipMemAccessFlags,
    enums.LocationType: hip.hipMemLocationType,
    enums.AllocationType: hip.hipMemAllocationType,
    enums.GraphUpdateResult: hip.hipGraphExecUpdateResult,
    enums.FunctionAttribute: hip.hipFunction_attribute,
    enums.LaunchAttribute: hip.hipLaunchAttributeID,
    enums.InstantiateFlag: hip.hipGraphInstantiateFlags,
    enums.PeerAttribute: hip.hipDeviceP2PAttr,
    enums.Limit: hip.hipLimit_t,
}


@pytest.mark.parametrize(("ours", "theirs"), ENUMERATIONS.items(), ids=lambda value: value.__name__)
def test_every_member_of_an_enumeration_has_the_number_and_the_last_words_of_the_header(ours, theirs):
    for member in ours:
        words = theirs(int(member)).name.replace("_", "").lower()
        assert words.endswith(member.name.replace("_", "").lower())


CONSTANTS = {
    "hipStreamNonBlocking": enums.STREAM_NON_BLOCKING,
    "hipCpuDeviceId": enums.CPU_DEVICE,
    "hipInvalidDeviceId": enums.INVALID_DEVICE,
    "hipStreamWaitValueGte": enums.WaitValue.GTE,
    "hipStreamWaitValueEq": enums.WaitValue.EQ,
    "hipStreamWaitValueAnd": enums.WaitValue.AND,
    "hipStreamWaitValueNor": enums.WaitValue.NOR,
    "hipEventBlockingSync": enums.EventFlag.BLOCKING_SYNC,
    "hipEventDisableTiming": enums.EventFlag.DISABLE_TIMING,
    "hipEventInterprocess": enums.EventFlag.INTERPROCESS,
    "hipEventReleaseToDevice": enums.EventFlag.RELEASE_TO_DEVICE,
    "hipEventReleaseToSystem": enums.EventFlag.RELEASE_TO_SYSTEM,
    "HIP_LAUNCH_PARAM_BUFFER_POINTER": enums.LaunchParameter.BUFFER_POINTER,
    "HIP_LAUNCH_PARAM_BUFFER_SIZE": enums.LaunchParameter.BUFFER_SIZE,
    "HIP_LAUNCH_PARAM_END": enums.LaunchParameter.END,
}


def test_constants_have_the_values_of_hip_python():
    assert {name: int(getattr(hip, name)) & 0xFFFFFFFF for name in CONSTANTS} == {
        name: int(value) & 0xFFFFFFFF for name, value in CONSTANTS.items()
    }


def test_every_result_code_has_the_name_that_hip_python_gives_it():
    """But for one: AMD's runtimes up to 7.2 were seen to call it so, and the header of hip-python is newer."""
    named = {int(code): hip.hipError_t(code).name for code in Code}
    assert named.pop(1054) == "hipErrorInvalidClusterSize"
    assert {int(code): code.header_name for code in Code} == {**named, 1054: "hipErrorTbd"}
    assert all(code.text for code in Code)
