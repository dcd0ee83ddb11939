"""The enumerations and flags of HIP's public headers, under the last words of their names there."""

from __future__ import annotations

from enum import IntEnum, IntFlag


class MemcpyKind(IntEnum):
    """hipMemcpyKind."""

    HOST_TO_HOST = 0
    HOST_TO_DEVICE = 1
    DEVICE_TO_HOST = 2
    DEVICE_TO_DEVICE = 3
    DEFAULT = 4
    DEVICE_TO_DEVICE_NO_CU = 1024


class MemoryType(IntEnum):
    """hipMemoryType."""

    UNREGISTERED = 0
    HOST = 1
    DEVICE = 2
    MANAGED = 3
    ARRAY = 10
    UNIFIED = 11


class NodeKind(IntEnum):
    """hipGraphNodeType."""

    KERNEL = 0
    MEMCPY = 1
    MEMSET = 2
    HOST = 3
    GRAPH = 4
    EMPTY = 5
    WAIT_EVENT = 6
    EVENT_RECORD = 7
    MEM_ALLOC = 10
    MEM_FREE = 11
    BATCH_MEM_OP = 14


class CaptureMode(IntEnum):
    """hipStreamCaptureMode."""

    GLOBAL = 0
    THREAD_LOCAL = 1
    RELAXED = 2


class CaptureStatus(IntEnum):
    """hipStreamCaptureStatus."""

    NONE = 0
    ACTIVE = 1
    INVALIDATED = 2


class UpdateCaptureDependencies(IntEnum):
    """hipStreamUpdateCaptureDependenciesFlags."""

    ADD_CAPTURE_DEPENDENCIES = 0
    SET_CAPTURE_DEPENDENCIES = 1


class DebugDotFlag(IntFlag):
    """hipGraphDebugDotFlags."""

    VERBOSE = 1
    KERNEL_NODE_PARAMS = 4
    MEMCPY_NODE_PARAMS = 8
    MEMSET_NODE_PARAMS = 0x10
    HOST_NODE_PARAMS = 0x20
    KERNEL_NODE_ATTRIBUTES = 0x200


class PointerAttribute(IntEnum):
    """hipPointer_attribute."""

    CONTEXT = 1
    MEMORY_TYPE = 2
    DEVICE_POINTER = 3
    HOST_POINTER = 4
    P2P_TOKENS = 5
    SYNC_MEMOPS = 6
    BUFFER_ID = 7
    IS_MANAGED = 8
    DEVICE_ORDINAL = 9
    IS_LEGACY_HIP_IPC_CAPABLE = 10
    RANGE_START_ADDR = 11
    RANGE_SIZE = 12
    MAPPED = 13
    ALLOWED_HANDLE_TYPES = 14
    IS_GPU_DIRECT_RDMA_CAPABLE = 15
    ACCESS_FLAGS = 16
    MEMPOOL_HANDLE = 17


class RangeAttribute(IntEnum):
    """hipMemRangeAttribute."""

    READ_MOSTLY = 1
    PREFERRED_LOCATION = 2
    ACCESSED_BY = 3
    LAST_PREFETCH_LOCATION = 4
    COHERENCY_MODE = 100


class MemoryAdvise(IntEnum):
    """hipMemoryAdvise."""

    SET_READ_MOSTLY = 1
    UNSET_READ_MOSTLY = 2
    SET_PREFERRED_LOCATION = 3
    UNSET_PREFERRED_LOCATION = 4
    SET_ACCESSED_BY = 5
    UNSET_ACCESSED_BY = 6
    SET_COARSE_GRAIN = 100
    UNSET_COARSE_GRAIN = 101


class PoolAttribute(IntEnum):
    """hipMemPoolAttr."""

    REUSE_FOLLOW_EVENT_DEPENDENCIES = 1
    REUSE_ALLOW_OPPORTUNISTIC = 2
    REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3
    RELEASE_THRESHOLD = 4
    RESERVED_MEM_CURRENT = 5
    RESERVED_MEM_HIGH = 6
    USED_MEM_CURRENT = 7
    USED_MEM_HIGH = 8


class GraphMemoryAttribute(IntEnum):
    """hipGraphMemAttributeType."""

    USED_MEM_CURRENT = 0
    USED_MEM_HIGH = 1
    RESERVED_MEM_CURRENT = 2
    RESERVED_MEM_HIGH = 3


class AccessFlag(IntEnum):
    """hipMemAccessFlags."""

    NONE = 0
    READ = 1
    READ_WRITE = 3


class ChannelKind(IntEnum):
    """hipChannelFormatKind."""

    SIGNED = 0
    UNSIGNED = 1
    FLOAT = 2
    NONE = 3


class ArrayFormat(IntEnum):
    """hipArray_Format."""

    UNSIGNED_INT8 = 1
    UNSIGNED_INT16 = 2
    UNSIGNED_INT32 = 3
    SIGNED_INT8 = 8
    SIGNED_INT16 = 9
    SIGNED_INT32 = 10
    HALF = 16
    FLOAT = 32


class ArrayFlag(IntFlag):
    """hipArray*."""

    LAYERED = 1
    SURFACE_LOAD_STORE = 2
    CUBEMAP = 4
    TEXTURE_GATHER = 8


class LocationType(IntEnum):
    """hipMemLocationType."""

    DEVICE = 1
    HOST = 2


class AllocationType(IntEnum):
    """hipMemAllocationType."""

    PINNED = 1
    UNCACHED = 0x40000000


class HandleType(IntEnum):
    """hipMemAllocationHandleType."""

    NONE = 0
    POSIX_FILE_DESCRIPTOR = 1


class AllocationGranularity(IntEnum):
    """hipMemAllocationGranularity_flags."""

    MINIMUM = 0
    RECOMMENDED = 1


class GraphUpdateResult(IntEnum):
    """hipGraphExecUpdateResult."""

    SUCCESS = 0
    ERROR = 1
    ERROR_TOPOLOGY_CHANGED = 2
    ERROR_NODE_TYPE_CHANGED = 3
    ERROR_PARAMETERS_CHANGED = 5


class FunctionAttribute(IntEnum):
    """hipFunction_attribute."""

    MAX_THREADS_PER_BLOCK = 0
    SHARED_SIZE_BYTES = 1
    CONST_SIZE_BYTES = 2
    LOCAL_SIZE_BYTES = 3
    NUM_REGS = 4
    PTX_VERSION = 5
    BINARY_VERSION = 6
    CACHE_MODE_CA = 7
    MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
    PREFERRED_SHARED_MEMORY_CARVEOUT = 9


class LaunchAttribute(IntEnum):
    """hipLaunchAttributeID."""

    ACCESS_POLICY_WINDOW = 1
    COOPERATIVE = 2
    SYNCHRONIZATION_POLICY = 3
    PRIORITY = 8


class InstantiateFlag(IntFlag):
    """hipGraphInstantiateFlags."""

    AUTO_FREE_ON_LAUNCH = 1
    UPLOAD = 2
    DEVICE_LAUNCH = 4
    USE_NODE_PRIORITY = 8


class PeerAttribute(IntEnum):
    """hipDeviceP2PAttr."""

    PERFORMANCE_RANK = 0
    ACCESS_SUPPORTED = 1
    NATIVE_ATOMIC_SUPPORTED = 2
    HIP_ARRAY_ACCESS_SUPPORTED = 3


class Limit(IntEnum):
    """hipLimit_t."""

    STACK_SIZE = 0
    PRINTF_FIFO_SIZE = 1
    MALLOC_HEAP_SIZE = 2


class BatchOperation(IntEnum):
    """hipStreamBatchMemOpType."""

    WAIT_VALUE_32 = 1
    WRITE_VALUE_32 = 2
    FLUSH_REMOTE_WRITES = 3
    WAIT_VALUE_64 = 4
    WRITE_VALUE_64 = 5
    BARRIER = 6


class WaitValue(IntEnum):
    """hipStreamWaitValue*: the comparisons of hipStreamWaitValue32 and 64."""

    GTE = 0
    EQ = 1
    AND = 2
    NOR = 3


class LaunchParameter(IntEnum):
    """HIP_LAUNCH_PARAM_*: the keys of the `extra` list of a launch."""

    BUFFER_POINTER = 1
    BUFFER_SIZE = 2
    END = 3


class EventFlag(IntFlag):
    """hipEvent*: the flags of hipEventCreateWithFlags."""

    BLOCKING_SYNC = 1
    DISABLE_TIMING = 2
    INTERPROCESS = 4
    DISABLE_SYSTEM_FENCE = 0x20000000
    RELEASE_TO_DEVICE = 0x40000000
    RELEASE_TO_SYSTEM = 0x80000000


STREAM_NON_BLOCKING = 1
"""hipStreamNonBlocking: the flag of a stream that has no order with the null stream."""
STREAM_LEGACY, STREAM_PER_THREAD = 1, 2
"""hipStreamLegacy and hipStreamPerThread: handles that are no pointers."""
CPU_DEVICE, INVALID_DEVICE = -1, -2
"""hipCpuDeviceId and hipInvalidDeviceId."""
