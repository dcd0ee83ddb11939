"""The result codes of HIP, as its public header numbers them, with the texts of hipGetErrorString."""

from __future__ import annotations

from enum import IntEnum

from hipgraph_cb.virtual.callbacks import Codes


class Code(IntEnum):
    """hipError_t."""

    SUCCESS = 0
    INVALID_VALUE = 1
    OUT_OF_MEMORY = 2
    NOT_INITIALIZED = 3
    DEINITIALIZED = 4
    PROFILER_DISABLED = 5
    PROFILER_NOT_INITIALIZED = 6
    PROFILER_ALREADY_STARTED = 7
    PROFILER_ALREADY_STOPPED = 8
    INVALID_CONFIGURATION = 9
    INVALID_PITCH_VALUE = 12
    INVALID_SYMBOL = 13
    INVALID_DEVICE_POINTER = 17
    INVALID_MEMCPY_DIRECTION = 21
    INSUFFICIENT_DRIVER = 35
    MISSING_CONFIGURATION = 52
    PRIOR_LAUNCH_FAILURE = 53
    INVALID_DEVICE_FUNCTION = 98
    NO_DEVICE = 100
    INVALID_DEVICE = 101
    INVALID_IMAGE = 200
    INVALID_CONTEXT = 201
    CONTEXT_ALREADY_CURRENT = 202
    MAP_FAILED = 205
    UNMAP_FAILED = 206
    ARRAY_IS_MAPPED = 207
    ALREADY_MAPPED = 208
    NO_BINARY_FOR_GPU = 209
    ALREADY_ACQUIRED = 210
    NOT_MAPPED = 211
    NOT_MAPPED_AS_ARRAY = 212
    NOT_MAPPED_AS_POINTER = 213
    ECC_NOT_CORRECTABLE = 214
    UNSUPPORTED_LIMIT = 215
    CONTEXT_ALREADY_IN_USE = 216
    PEER_ACCESS_UNSUPPORTED = 217
    INVALID_KERNEL_FILE = 218
    INVALID_GRAPHICS_CONTEXT = 219
    INVALID_SOURCE = 300
    FILE_NOT_FOUND = 301
    SHARED_OBJECT_SYMBOL_NOT_FOUND = 302
    SHARED_OBJECT_INIT_FAILED = 303
    OPERATING_SYSTEM = 304
    INVALID_HANDLE = 400
    ILLEGAL_STATE = 401
    NOT_FOUND = 500
    NOT_READY = 600
    ILLEGAL_ADDRESS = 700
    LAUNCH_OUT_OF_RESOURCES = 701
    LAUNCH_TIME_OUT = 702
    PEER_ACCESS_ALREADY_ENABLED = 704
    PEER_ACCESS_NOT_ENABLED = 705
    SET_ON_ACTIVE_PROCESS = 708
    CONTEXT_IS_DESTROYED = 709
    ASSERT = 710
    HOST_MEMORY_ALREADY_REGISTERED = 712
    HOST_MEMORY_NOT_REGISTERED = 713
    LAUNCH_FAILURE = 719
    COOPERATIVE_LAUNCH_TOO_LARGE = 720
    NOT_SUPPORTED = 801
    STREAM_CAPTURE_UNSUPPORTED = 900
    STREAM_CAPTURE_INVALIDATED = 901
    STREAM_CAPTURE_MERGE = 902
    STREAM_CAPTURE_UNMATCHED = 903
    STREAM_CAPTURE_UNJOINED = 904
    STREAM_CAPTURE_ISOLATION = 905
    STREAM_CAPTURE_IMPLICIT = 906
    CAPTURED_EVENT = 907
    STREAM_CAPTURE_WRONG_THREAD = 908
    GRAPH_EXEC_UPDATE_FAILURE = 910
    UNKNOWN = 999
    RUNTIME_MEMORY = 1052
    RUNTIME_OTHER = 1053


CALL_CODES = Codes(
    unknown=Code.UNKNOWN,
    not_initialized=Code.NOT_INITIALIZED,
    deinitialized=Code.DEINITIALIZED,
    quiet=(Code.NOT_READY,),
)

NAMES: dict[int, str] = {
    0: "hipSuccess",
    1: "hipErrorInvalidValue",
    2: "hipErrorOutOfMemory",
    3: "hipErrorNotInitialized",
    4: "hipErrorDeinitialized",
    5: "hipErrorProfilerDisabled",
    6: "hipErrorProfilerNotInitialized",
    7: "hipErrorProfilerAlreadyStarted",
    8: "hipErrorProfilerAlreadyStopped",
    9: "hipErrorInvalidConfiguration",
    12: "hipErrorInvalidPitchValue",
    13: "hipErrorInvalidSymbol",
    17: "hipErrorInvalidDevicePointer",
    21: "hipErrorInvalidMemcpyDirection",
    35: "hipErrorInsufficientDriver",
    52: "hipErrorMissingConfiguration",
    53: "hipErrorPriorLaunchFailure",
    98: "hipErrorInvalidDeviceFunction",
    100: "hipErrorNoDevice",
    101: "hipErrorInvalidDevice",
    200: "hipErrorInvalidImage",
    201: "hipErrorInvalidContext",
    202: "hipErrorContextAlreadyCurrent",
    205: "hipErrorMapFailed",
    206: "hipErrorUnmapFailed",
    207: "hipErrorArrayIsMapped",
    208: "hipErrorAlreadyMapped",
    209: "hipErrorNoBinaryForGpu",
    210: "hipErrorAlreadyAcquired",
    211: "hipErrorNotMapped",
    212: "hipErrorNotMappedAsArray",
    213: "hipErrorNotMappedAsPointer",
    214: "hipErrorECCNotCorrectable",
    215: "hipErrorUnsupportedLimit",
    216: "hipErrorContextAlreadyInUse",
    217: "hipErrorPeerAccessUnsupported",
    218: "hipErrorInvalidKernelFile",
    219: "hipErrorInvalidGraphicsContext",
    300: "hipErrorInvalidSource",
    301: "hipErrorFileNotFound",
    302: "hipErrorSharedObjectSymbolNotFound",
    303: "hipErrorSharedObjectInitFailed",
    304: "hipErrorOperatingSystem",
    400: "hipErrorInvalidHandle",
    401: "hipErrorIllegalState",
    500: "hipErrorNotFound",
    600: "hipErrorNotReady",
    700: "hipErrorIllegalAddress",
    701: "hipErrorLaunchOutOfResources",
    702: "hipErrorLaunchTimeOut",
    704: "hipErrorPeerAccessAlreadyEnabled",
    705: "hipErrorPeerAccessNotEnabled",
    708: "hipErrorSetOnActiveProcess",
    709: "hipErrorContextIsDestroyed",
    710: "hipErrorAssert",
    712: "hipErrorHostMemoryAlreadyRegistered",
    713: "hipErrorHostMemoryNotRegistered",
    719: "hipErrorLaunchFailure",
    720: "hipErrorCooperativeLaunchTooLarge",
    801: "hipErrorNotSupported",
    900: "hipErrorStreamCaptureUnsupported",
    901: "hipErrorStreamCaptureInvalidated",
    902: "hipErrorStreamCaptureMerge",
    903: "hipErrorStreamCaptureUnmatched",
    904: "hipErrorStreamCaptureUnjoined",
    905: "hipErrorStreamCaptureIsolation",
    906: "hipErrorStreamCaptureImplicit",
    907: "hipErrorCapturedEvent",
    908: "hipErrorStreamCaptureWrongThread",
    910: "hipErrorGraphExecUpdateFailure",
    999: "hipErrorUnknown",
    1052: "hipErrorRuntimeMemory",
    1053: "hipErrorRuntimeOther",
}

TEXTS: dict[int, str] = {
    0: "no error",
    1: "invalid argument",
    2: "out of memory",
    3: "initialization error",
    4: "driver shutting down",
    5: "profiler disabled while using external profiling tool",
    6: "profiler is not initialized",
    7: "profiler already started",
    8: "profiler already stopped",
    9: "invalid configuration argument",
    12: "invalid pitch argument",
    13: "invalid device symbol",
    17: "invalid device pointer",
    21: "invalid copy direction for memcpy",
    35: "driver version is insufficient for runtime version",
    52: "__global__ function call is not configured",
    53: "unspecified launch failure in prior launch",
    98: "invalid device function",
    100: "no ROCm-capable device is detected",
    101: "invalid device ordinal",
    200: "device kernel image is invalid",
    201: "invalid device context",
    202: "context is already current context",
    205: "mapping of buffer object failed",
    206: "unmapping of buffer object failed",
    207: "array is mapped",
    208: "resource already mapped",
    209: "no kernel image is available for execution on the device",
    210: "resource already acquired",
    211: "resource not mapped",
    212: "resource not mapped as array",
    213: "resource not mapped as pointer",
    214: "uncorrectable ECC error encountered",
    215: "limit is not supported on this architecture",
    216: "exclusive-thread device already in use by a different thread",
    217: "peer access is not supported between these two devices",
    218: "invalid kernel file",
    219: "invalid OpenGL or DirectX context",
    300: "device kernel image is invalid",
    301: "file not found",
    302: "shared object symbol not found",
    303: "shared object initialization failed",
    304: "OS call failed or operation not supported on this OS",
    400: "invalid resource handle",
    401: "the operation cannot be performed in the present state",
    500: "named symbol not found",
    600: "device not ready",
    700: "an illegal memory access was encountered",
    701: "too many resources requested for launch",
    702: "the launch timed out and was terminated",
    704: "peer access is already enabled",
    705: "peer access has not been enabled",
    708: "cannot set while device is active in this process",
    709: "context is destroyed",
    710: "device-side assert triggered",
    712: "part or all of the requested memory range is already mapped",
    713: "pointer does not correspond to a registered memory region",
    719: "unspecified launch failure",
    720: "too many blocks in cooperative launch",
    801: "operation not supported",
    900: "operation not permitted when stream is capturing",
    901: "operation failed due to a previous error during capture",
    902: "operation would result in a merge of separate capture sequences",
    903: "capture was not ended in the same stream as it began",
    904: "capturing stream has unjoined work",
    905: "dependency created on uncaptured work in another stream",
    906: "operation would make the legacy stream depend on a capturing blocking stream",
    907: "operation not permitted on an event last recorded in a capturing stream",
    908: "attempt to terminate a thread-local capture sequence from another thread",
    910: "the graph update was not performed because it included changes which violated constraints "
    "specific to instantiated graph update",
    999: "unknown error",
    1052: "runtime memory call returned error",
    1053: "runtime call other than memory returned error",
}
