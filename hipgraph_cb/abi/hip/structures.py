"""The C structures of HIP's public header, in its field order."""

from __future__ import annotations

from ctypes import Structure, c_byte, c_char, c_int, c_size_t, c_ubyte, c_uint, c_ulonglong, c_ushort, sizeof
from typing import Any

POINTER = c_size_t
"""Pointers are plain numbers here: NULL is 0."""


class Dim3(Structure):
    _fields_ = (("x", c_uint), ("y", c_uint), ("z", c_uint))

    @property
    def values(self) -> tuple[int, int, int]:
        return self.x, self.y, self.z


def _fields(text: str, kind: Any) -> list[tuple[str, Any]]:
    """`name` or `name*count` fields of one type."""
    rows: list[tuple[str, Any]] = []
    for word in text.split():
        name, _, count = word.partition("*")
        rows.append((name, (kind * int(count)) if count else kind))
    return rows


class DeviceProperties(Structure):
    """hipDeviceProp_t in its R0600 layout."""

    _fields_ = (
        ("name", c_char * 256),
        ("uuid", c_byte * 16),
        ("luid", c_char * 8),
        ("luidDeviceNodeMask", c_uint),
        *_fields("totalGlobalMem sharedMemPerBlock", c_size_t),
        *_fields("regsPerBlock warpSize", c_int),
        ("memPitch", c_size_t),
        *_fields("maxThreadsPerBlock maxThreadsDim*3 maxGridSize*3 clockRate", c_int),
        ("totalConstMem", c_size_t),
        *_fields("major minor", c_int),
        *_fields("textureAlignment texturePitchAlignment", c_size_t),
        *_fields(
            "deviceOverlap multiProcessorCount kernelExecTimeoutEnabled integrated canMapHostMemory computeMode "
            "maxTexture1D maxTexture1DMipmap maxTexture1DLinear maxTexture2D*2 maxTexture2DMipmap*2 "
            "maxTexture2DLinear*3 maxTexture2DGather*2 maxTexture3D*3 maxTexture3DAlt*3 maxTextureCubemap "
            "maxTexture1DLayered*2 maxTexture2DLayered*3 maxTextureCubemapLayered*2 maxSurface1D maxSurface2D*2 "
            "maxSurface3D*3 maxSurface1DLayered*2 maxSurface2DLayered*3 maxSurfaceCubemap maxSurfaceCubemapLayered*2",
            c_int,
        ),
        ("surfaceAlignment", c_size_t),
        *_fields(
            "concurrentKernels ECCEnabled pciBusID pciDeviceID pciDomainID tccDriver asyncEngineCount "
            "unifiedAddressing memoryClockRate memoryBusWidth l2CacheSize persistingL2CacheMaxSize "
            "maxThreadsPerMultiProcessor streamPrioritiesSupported globalL1CacheSupported localL1CacheSupported",
            c_int,
        ),
        ("sharedMemPerMultiprocessor", c_size_t),
        *_fields(
            "regsPerMultiprocessor managedMemory isMultiGpuBoard multiGpuBoardGroupID hostNativeAtomicSupported "
            "singleToDoublePrecisionPerfRatio pageableMemoryAccess concurrentManagedAccess "
            "computePreemptionSupported canUseHostPointerForRegisteredMem cooperativeLaunch "
            "cooperativeMultiDeviceLaunch",
            c_int,
        ),
        ("sharedMemPerBlockOptin", c_size_t),
        *_fields(
            "pageableMemoryAccessUsesHostPageTables directManagedMemAccessFromHost maxBlocksPerMultiProcessor "
            "accessPolicyMaxWindowSize",
            c_int,
        ),
        ("reservedSharedMemPerBlock", c_size_t),
        *_fields(
            "hostRegisterSupported sparseHipArraySupported hostRegisterReadOnlySupported "
            "timelineSemaphoreInteropSupported memoryPoolsSupported gpuDirectRDMASupported",
            c_int,
        ),
        ("gpuDirectRDMAFlushWritesOptions", c_uint),
        ("gpuDirectRDMAWritesOrdering", c_int),
        ("memoryPoolSupportedHandleTypes", c_uint),
        *_fields(
            "deferredMappingHipArraySupported ipcEventSupported clusterLaunch unifiedFunctionPointers "
            "reserved*63 hipReserved*32",
            c_int,
        ),
        ("gcnArchName", c_char * 256),
        ("maxSharedMemoryPerMultiProcessor", c_size_t),
        ("clockInstructionRate", c_int),
        ("arch", c_uint),
        *_fields("hdpMemFlushCntl hdpRegFlushCntl", POINTER),
        *_fields(
            "cooperativeMultiDeviceUnmatchedFunc cooperativeMultiDeviceUnmatchedGridDim "
            "cooperativeMultiDeviceUnmatchedBlockDim cooperativeMultiDeviceUnmatchedSharedMem isLargeBar asicRevision",
            c_int,
        ),
    )


class KernelNodeParams(Structure):
    _fields_ = (
        ("blockDim", Dim3),
        ("extra", POINTER),
        ("func", POINTER),
        ("gridDim", Dim3),
        ("kernelParams", POINTER),
        ("sharedMemBytes", c_uint),
    )


class MemsetParams(Structure):
    _fields_ = (
        ("dst", POINTER),
        ("elementSize", c_uint),
        ("height", c_size_t),
        ("pitch", c_size_t),
        ("value", c_uint),
        ("width", c_size_t),
    )


class DevicePropertiesR0000(Structure):
    """hipDeviceProp_tR0000: the layout of ROCm 5, which hipGetDeviceProperties and hipChooseDevice have."""

    _fields_ = (
        ("name", c_char * 256),
        *_fields("totalGlobalMem sharedMemPerBlock", c_size_t),
        *_fields("regsPerBlock warpSize maxThreadsPerBlock", c_int),
        ("maxThreadsDim", c_int * 3),
        ("maxGridSize", c_int * 3),
        *_fields("clockRate memoryClockRate memoryBusWidth", c_int),
        ("totalConstMem", c_size_t),
        *_fields("major minor multiProcessorCount l2CacheSize maxThreadsPerMultiProcessor", c_int),
        *_fields("computeMode clockInstructionRate", c_int),
        ("arch", c_uint),
        *_fields("concurrentKernels pciDomainID pciBusID pciDeviceID", c_int),
        ("maxSharedMemoryPerMultiProcessor", c_size_t),
        *_fields("isMultiGpuBoard canMapHostMemory gcnArch", c_int),
        ("gcnArchName", c_char * 256),
        *_fields("integrated cooperativeLaunch cooperativeMultiDeviceLaunch maxTexture1DLinear maxTexture1D", c_int),
        ("maxTexture2D", c_int * 2),
        ("maxTexture3D", c_int * 3),
        ("hdpMemFlushCntl", POINTER),
        ("hdpRegFlushCntl", POINTER),
        *_fields("memPitch textureAlignment texturePitchAlignment", c_size_t),
        *_fields("kernelExecTimeoutEnabled ECCEnabled tccDriver", c_int),
        *_fields("cooperativeMultiDeviceUnmatchedFunc cooperativeMultiDeviceUnmatchedGridDim", c_int),
        *_fields("cooperativeMultiDeviceUnmatchedBlockDim cooperativeMultiDeviceUnmatchedSharedMem", c_int),
        *_fields("isLargeBar asicRevision managedMemory directManagedMemAccessFromHost", c_int),
        *_fields("concurrentManagedAccess pageableMemoryAccess pageableMemoryAccessUsesHostPageTables", c_int),
    )


class BatchMemoryOperation(Structure):
    """hipStreamBatchMemOpParams: the structures of waits and writes in that union, which begin in the same way."""

    _fields_ = (
        ("operation", c_int),
        ("address", POINTER),
        ("value", c_size_t),
        ("flags", c_uint),
        ("alias", POINTER),
        ("unused", c_size_t),
    )


class BatchNodeParams(Structure):
    """hipBatchMemOpNodeParams."""

    _fields_ = (("ctx", POINTER), ("count", c_uint), ("paramArray", POINTER), ("flags", c_uint))


class DriverMemsetParams(Structure):
    """HIP_MEMSET_NODE_PARAMS."""

    _fields_ = (
        ("dst", POINTER),
        ("pitch", c_size_t),
        ("value", c_uint),
        ("elementSize", c_uint),
        ("width", c_size_t),
        ("height", c_size_t),
    )


class HostNodeParams(Structure):
    _fields_ = (("fn", POINTER), ("userData", POINTER))


class MemoryLocation(Structure):
    """hipMemLocation: a device, or one of the places of the host."""

    _fields_ = (("type", c_int), ("id", c_int))

    @property
    def ordinal(self) -> int:
        """The device's, or -1 for the host."""
        return int(self.id) if self.type == 1 else -1


class Extent(Structure):
    _fields_ = (("width", c_size_t), ("height", c_size_t), ("depth", c_size_t))


class Position(Structure):
    _fields_ = (("x", c_size_t), ("y", c_size_t), ("z", c_size_t))


class PitchedPointer(Structure):
    _fields_ = (("ptr", POINTER), ("pitch", c_size_t), ("xsize", c_size_t), ("ysize", c_size_t))


class ChannelDescriptor(Structure):
    """hipChannelFormatDesc: the bits of each channel, and what they mean."""

    _fields_ = tuple(_fields("x y z w f", c_int))


class ArrayDescriptor(Structure):
    """HIP_ARRAY_DESCRIPTOR."""

    _fields_ = (*_fields("Width Height", c_size_t), ("Format", c_int), ("NumChannels", c_uint))


class ArrayDescriptor3D(Structure):
    """HIP_ARRAY3D_DESCRIPTOR."""

    _fields_ = (*_fields("Width Height Depth", c_size_t), ("Format", c_int), *_fields("NumChannels Flags", c_uint))


class Memcpy3DParams(Structure):
    """hipMemcpy3DParms."""

    _fields_ = (
        ("srcArray", POINTER),
        ("srcPos", Position),
        ("srcPtr", PitchedPointer),
        ("dstArray", POINTER),
        ("dstPos", Position),
        ("dstPtr", PitchedPointer),
        ("extent", Extent),
        ("kind", c_int),
    )


class Memcpy3DPeerParams(Structure):
    """hipMemcpy3DPeerParms."""

    _fields_ = (
        ("srcArray", POINTER),
        ("srcPos", Position),
        ("srcPtr", PitchedPointer),
        ("srcDevice", c_int),
        ("dstArray", POINTER),
        ("dstPos", Position),
        ("dstPtr", PitchedPointer),
        ("dstDevice", c_int),
        ("extent", Extent),
    )


def _side(prefix: str) -> list[tuple[str, Any]]:
    return [
        *_fields(f"{prefix}XInBytes {prefix}Y {prefix}Z {prefix}LOD", c_size_t),
        (f"{prefix}MemoryType", c_int),
        *_fields(f"{prefix}Host {prefix}Device {prefix}Array", POINTER),
        *_fields(f"{prefix}Pitch {prefix}Height", c_size_t),
    ]


class DriverMemcpy3D(Structure):
    """HIP_MEMCPY3D."""

    _fields_ = (*_side("src"), *_side("dst"), *_fields("WidthInBytes Height Depth", c_size_t))


def _side_2d(prefix: str) -> list[tuple[str, Any]]:
    return [
        *_fields(f"{prefix}XInBytes {prefix}Y", c_size_t),
        (f"{prefix}MemoryType", c_int),
        *_fields(f"{prefix}Host {prefix}Device {prefix}Array", POINTER),
        (f"{prefix}Pitch", c_size_t),
    ]


class DriverMemcpy2D(Structure):
    """hip_Memcpy2D."""

    _fields_ = (*_side_2d("src"), *_side_2d("dst"), *_fields("WidthInBytes Height", c_size_t))


class PointerAttributes(Structure):
    """hipPointerAttribute_t."""

    _fields_ = (
        ("type", c_int),
        ("device", c_int),
        ("devicePointer", POINTER),
        ("hostPointer", POINTER),
        ("isManaged", c_int),
        ("allocationFlags", c_uint),
    )


class FunctionAttributes(Structure):
    """hipFuncAttributes."""

    _fields_ = (
        *_fields("binaryVersion cacheModeCA", c_int),
        *_fields("constSizeBytes localSizeBytes", c_size_t),
        *_fields("maxDynamicSharedSizeBytes maxThreadsPerBlock numRegs preferredShmemCarveout ptxVersion", c_int),
        ("sharedSizeBytes", c_size_t),
    )


class PoolProperties(Structure):
    """hipMemPoolProps."""

    _fields_ = (
        *_fields("allocType handleTypes", c_int),
        ("location", MemoryLocation),
        ("win32SecurityAttributes", POINTER),
        ("maxSize", c_size_t),
        ("reserved", c_byte * 56),
    )


class AllocationProperties(Structure):
    """hipMemAllocationProp."""

    _fields_ = (
        *_fields("type requestedHandleType", c_int),
        ("location", MemoryLocation),
        ("win32HandleMetaData", POINTER),
        *_fields("compressionType gpuDirectRDMACapable", c_ubyte),
        ("usage", c_ushort),
        ("reserved", c_byte * 4),
    )


class IpcHandle(Structure):
    """hipIpcMemHandle_t and hipIpcEventHandle_t."""

    _fields_ = (("reserved", c_byte * 64),)


class MemoryAccess(Structure):
    """hipMemAccessDesc."""

    _fields_ = (("location", MemoryLocation), ("flags", c_int))


class AllocateParams(Structure):
    """hipMemAllocNodeParams."""

    _fields_ = (
        ("poolProps", PoolProperties),
        ("accessDescs", POINTER),
        *_fields("accessDescCount bytesize", c_size_t),
        ("dptr", POINTER),
    )


class MemcpyNodeParams(Structure):
    """hipMemcpyNodeParams."""

    _fields_ = (*_fields("flags reserved*3", c_int), ("copyParams", Memcpy3DParams))


class NodeParams(Structure):
    """hipGraphNodeParams: a type, and 232 bytes for the parameters of a node of that type."""

    _fields_ = (
        ("type", c_int),
        *_fields("reserved0*3", c_int),
        ("inside", c_ulonglong * 29),
        ("reserved2", c_ulonglong),
    )


class LaunchConfig(Structure):
    """hipLaunchConfig_t."""

    _fields_ = (
        ("gridDim", Dim3),
        ("blockDim", Dim3),
        ("dynamicSmemBytes", c_size_t),
        *_fields("stream attrs", POINTER),
        ("numAttrs", c_uint),
    )


class DriverLaunchConfig(Structure):
    """HIP_LAUNCH_CONFIG."""

    _fields_ = (
        ("gridDim", Dim3),
        ("blockDim", Dim3),
        ("sharedMemBytes", c_uint),
        *_fields("stream attrs", POINTER),
        ("numAttrs", c_uint),
    )


class InstantiateParams(Structure):
    """hipGraphInstantiateParams."""

    _fields_ = (("errNode_out", POINTER), ("flags", c_ulonglong), ("result_out", c_int), ("uploadStream", POINTER))


SIZE_OF_3D = sizeof(Memcpy3DParams)
SIZE_OF_DRIVER_3D = sizeof(DriverMemcpy3D)
