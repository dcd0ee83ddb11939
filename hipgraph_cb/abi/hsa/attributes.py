"""What can be asked of agents, pools and their like, and the numbers in the answers: hsa.h and hsa_ext_amd.h."""

from __future__ import annotations

from enum import IntEnum, IntFlag


class SystemInfo(IntEnum):
    """hsa_system_info_t."""

    VERSION_MAJOR = 0
    VERSION_MINOR = 1
    TIMESTAMP = 2
    TIMESTAMP_FREQUENCY = 3
    SIGNAL_MAX_WAIT = 4
    ENDIANNESS = 5
    MACHINE_MODEL = 6
    EXTENSIONS = 7
    AMD_BUILD_VERSION = 0x200
    SVM_SUPPORTED = 0x201
    SVM_ACCESSIBLE_BY_DEFAULT = 0x202
    MWAITX_ENABLED = 0x203
    DMABUF_SUPPORTED = 0x204
    VIRTUAL_MEM_API_SUPPORTED = 0x205
    XNACK_ENABLED = 0x206
    EXT_VERSION_MAJOR = 0x207
    EXT_VERSION_MINOR = 0x208


class Extension(IntEnum):
    """HSA_EXTENSION_*."""

    FINALIZER = 0
    IMAGES = 1
    PERFORMANCE_COUNTERS = 2
    PROFILING_EVENTS = 3
    AMD_PROFILER = 0x200
    AMD_LOADER = 0x201
    AMD_AQLPROFILE = 0x202


class AgentInfo(IntEnum):
    """hsa_agent_info_t, the additions for images from 0x3000 on, and hsa_amd_agent_info_t from 0xA000 on."""

    NAME = 0
    VENDOR_NAME = 1
    FEATURE = 2
    MACHINE_MODEL = 3
    PROFILE = 4
    DEFAULT_FLOAT_ROUNDING_MODE = 5
    WAVEFRONT_SIZE = 6
    WORKGROUP_MAX_DIM = 7
    WORKGROUP_MAX_SIZE = 8
    GRID_MAX_DIM = 9
    GRID_MAX_SIZE = 10
    FBARRIER_MAX_SIZE = 11
    QUEUES_MAX = 12
    QUEUE_MIN_SIZE = 13
    QUEUE_MAX_SIZE = 14
    QUEUE_TYPE = 15
    NODE = 16
    DEVICE = 17
    CACHE_SIZE = 18
    ISA = 19
    EXTENSIONS = 20
    VERSION_MAJOR = 21
    VERSION_MINOR = 22
    BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES = 23
    FAST_F16_OPERATION = 24
    IMAGE_1D_MAX_ELEMENTS = 0x3000
    IMAGE_1DA_MAX_ELEMENTS = 0x3001
    IMAGE_1DB_MAX_ELEMENTS = 0x3002
    IMAGE_2D_MAX_ELEMENTS = 0x3003
    IMAGE_2DA_MAX_ELEMENTS = 0x3004
    IMAGE_2DDEPTH_MAX_ELEMENTS = 0x3005
    IMAGE_2DADEPTH_MAX_ELEMENTS = 0x3006
    IMAGE_3D_MAX_ELEMENTS = 0x3007
    IMAGE_ARRAY_MAX_LAYERS = 0x3008
    MAX_IMAGE_RD_HANDLES = 0x3009
    MAX_IMAGE_RORW_HANDLES = 0x300A
    MAX_SAMPLER_HANDLERS = 0x300B
    IMAGE_LINEAR_ROW_PITCH_ALIGNMENT = 0x300C
    CHIP_ID = 0xA000
    CACHELINE_SIZE = 0xA001
    COMPUTE_UNIT_COUNT = 0xA002
    MAX_CLOCK_FREQUENCY = 0xA003
    DRIVER_NODE_ID = 0xA004
    MAX_ADDRESS_WATCH_POINTS = 0xA005
    BDFID = 0xA006
    MEMORY_WIDTH = 0xA007
    MEMORY_MAX_FREQUENCY = 0xA008
    PRODUCT_NAME = 0xA009
    MAX_WAVES_PER_CU = 0xA00A
    NUM_SIMDS_PER_CU = 0xA00B
    NUM_SHADER_ENGINES = 0xA00C
    NUM_SHADER_ARRAYS_PER_SE = 0xA00D
    HDP_FLUSH = 0xA00E
    DOMAIN = 0xA00F
    COOPERATIVE_QUEUES = 0xA010
    UUID = 0xA011
    ASIC_REVISION = 0xA012
    SVM_DIRECT_HOST_ACCESS = 0xA013
    COOPERATIVE_COMPUTE_UNIT_COUNT = 0xA014
    MEMORY_AVAIL = 0xA015
    TIMESTAMP_FREQUENCY = 0xA016
    ASIC_FAMILY_ID = 0xA107
    UCODE_VERSION = 0xA108
    SDMA_UCODE_VERSION = 0xA109
    NUM_SDMA_ENG = 0xA10A
    NUM_SDMA_XGMI_ENG = 0xA10B
    IOMMU_SUPPORT = 0xA110
    NUM_XCC = 0xA111
    DRIVER_UID = 0xA112
    NEAREST_CPU = 0xA113
    MEMORY_PROPERTIES = 0xA114
    AQL_EXTENSIONS = 0xA115
    SCRATCH_LIMIT_MAX = 0xA116
    SCRATCH_LIMIT_CURRENT = 0xA117


class DeviceType(IntEnum):
    """hsa_device_type_t."""

    CPU = 0
    GPU = 1


class Profile(IntEnum):
    """hsa_profile_t."""

    BASE = 0
    FULL = 1


class RoundingMode(IntEnum):
    """hsa_default_float_rounding_mode_t."""

    DEFAULT = 0
    ZERO = 1
    NEAR = 2


class QueueType(IntEnum):
    """hsa_queue_type_t."""

    MULTI = 0
    SINGLE = 1
    COOPERATIVE = 2


FEATURE_KERNEL_DISPATCH = 1
"""HSA_AGENT_FEATURE_KERNEL_DISPATCH and HSA_QUEUE_FEATURE_KERNEL_DISPATCH."""
MACHINE_MODEL_LARGE = 1


class IsaInfo(IntEnum):
    """hsa_isa_info_t."""

    NAME_LENGTH = 0
    NAME = 1
    CALL_CONVENTION_COUNT = 2
    CALL_CONVENTION_INFO_WAVEFRONT_SIZE = 3
    CALL_CONVENTION_INFO_WAVEFRONTS_PER_COMPUTE_UNIT = 4
    MACHINE_MODELS = 5
    PROFILES = 6
    DEFAULT_FLOAT_ROUNDING_MODES = 7
    BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES = 8
    FAST_F16_OPERATION = 9
    WORKGROUP_MAX_DIM = 12
    WORKGROUP_MAX_SIZE = 13
    GRID_MAX_DIM = 14
    GRID_MAX_SIZE = 16
    FBARRIER_MAX_SIZE = 17


class PoolInfo(IntEnum):
    """hsa_amd_memory_pool_info_t."""

    SEGMENT = 0
    GLOBAL_FLAGS = 1
    SIZE = 2
    RUNTIME_ALLOC_ALLOWED = 5
    RUNTIME_ALLOC_GRANULE = 6
    RUNTIME_ALLOC_ALIGNMENT = 7
    ACCESSIBLE_BY_ALL = 15
    ALLOC_MAX_SIZE = 16
    LOCATION = 17
    RUNTIME_ALLOC_REC_GRANULE = 18


class RegionInfo(IntEnum):
    """hsa_region_info_t."""

    SEGMENT = 0
    GLOBAL_FLAGS = 1
    SIZE = 2
    ALLOC_MAX_SIZE = 4
    RUNTIME_ALLOC_ALLOWED = 5
    RUNTIME_ALLOC_GRANULE = 6
    RUNTIME_ALLOC_ALIGNMENT = 7
    ALLOC_MAX_PRIVATE_WORKGROUP_SIZE = 8


class Segment(IntEnum):
    """hsa_amd_segment_t."""

    GLOBAL = 0
    READONLY = 1
    PRIVATE = 2
    GROUP = 3


class PoolFlag(IntFlag):
    """hsa_amd_memory_pool_global_flag_t."""

    KERNARG = 1
    FINE_GRAINED = 2
    COARSE_GRAINED = 4


class PointerType(IntEnum):
    """hsa_amd_pointer_type_t; `HSA` is memory of one of the runtime's pools."""

    UNKNOWN = 0
    HSA = 1
    LOCKED = 2
    RESERVED_ADDRESS = 5
    HSA_VMEM = 6


class AccessPermission(IntEnum):
    """hsa_access_permission_t."""

    NONE = 0
    READ_ONLY = 1
    WRITE_ONLY = 2
    READ_WRITE = 3


class ExecutableInfo(IntEnum):
    """hsa_executable_info_t."""

    PROFILE = 1
    STATE = 2
    DEFAULT_FLOAT_ROUNDING_MODE = 3


class SymbolInfo(IntEnum):
    """hsa_executable_symbol_info_t."""

    TYPE = 0
    NAME_LENGTH = 1
    NAME = 2
    MODULE_NAME_LENGTH = 3
    MODULE_NAME = 4
    LINKAGE = 5
    VARIABLE_ALLOCATION = 6
    VARIABLE_SEGMENT = 7
    VARIABLE_ALIGNMENT = 8
    VARIABLE_SIZE = 9
    VARIABLE_IS_CONST = 10
    KERNEL_KERNARG_SEGMENT_SIZE = 11
    KERNEL_KERNARG_SEGMENT_ALIGNMENT = 12
    KERNEL_GROUP_SEGMENT_SIZE = 13
    KERNEL_PRIVATE_SEGMENT_SIZE = 14
    KERNEL_DYNAMIC_CALLSTACK = 15
    IS_DEFINITION = 17
    KERNEL_CALL_CONVENTION = 18
    AGENT = 20
    VARIABLE_ADDRESS = 21
    KERNEL_OBJECT = 22


class AgentPoolInfo(IntEnum):
    """hsa_amd_agent_memory_pool_info_t."""

    ACCESS = 0
    NUM_LINK_HOPS = 1
    LINK_INFO = 2


class PoolAccess(IntEnum):
    """hsa_amd_memory_pool_access_t."""

    NEVER_ALLOWED = 0
    ALLOWED_BY_DEFAULT = 1
    DISALLOWED_BY_DEFAULT = 2


class SymbolKind(IntEnum):
    """hsa_symbol_kind_t."""

    VARIABLE = 0
    KERNEL = 1


class LoadedCodeObjectInfo(IntEnum):
    """hsa_ven_amd_loader_loaded_code_object_info_t."""

    EXECUTABLE = 1
    KIND = 2
    AGENT = 3
    CODE_OBJECT_STORAGE_TYPE = 4
    CODE_OBJECT_STORAGE_MEMORY_BASE = 5
    CODE_OBJECT_STORAGE_MEMORY_SIZE = 6
    CODE_OBJECT_STORAGE_FILE = 7
    LOAD_DELTA = 8
    LOAD_BASE = 9
    LOAD_SIZE = 10
    URI_LENGTH = 11
    URI = 12


GPU_MEMORY_FAULT_EVENT = 0
"""hsa_amd_event_type_t."""
PAGE_NOT_PRESENT = 1
"""hsa_amd_memory_fault_reason_t."""
