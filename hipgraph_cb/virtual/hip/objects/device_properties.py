"""What a virtual device answers to property and attribute queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraph_cb.abi.hip.structures import DeviceProperties

if TYPE_CHECKING:
    from hipgraph_cb.virtual.hip.objects.gpu import Gpu

_INT_MAX = (1 << 31) - 1

# hipDeviceProp_t.arch: which features a device has, one bit each, in the header's order.
_ALL_ARCH_FEATURES = 0b0_0101_1111_1111_1111
_MAX_IMAGE = {
    "maxTexture1D": 16384,
    "maxTexture1DLinear": 134217728,
    "maxTexture2D": (16384, 16384),
    "maxTexture3D": (16384, 16384, 8192),
}

# hipDeviceAttribute_t -> field of the properties; a tuple adds the index into an array field.
ATTRIBUTE_FIELDS: dict[int, str | tuple[str, int]] = {
    0: "ECCEnabled",
    1: "accessPolicyMaxWindowSize",
    2: "asyncEngineCount",
    3: "canMapHostMemory",
    4: "canUseHostPointerForRegisteredMem",
    5: "clockRate",
    6: "computeMode",
    7: "computePreemptionSupported",
    8: "concurrentKernels",
    9: "concurrentManagedAccess",
    10: "cooperativeLaunch",
    11: "cooperativeMultiDeviceLaunch",
    12: "deviceOverlap",
    13: "directManagedMemAccessFromHost",
    14: "globalL1CacheSupported",
    15: "hostNativeAtomicSupported",
    16: "integrated",
    17: "isMultiGpuBoard",
    18: "kernelExecTimeoutEnabled",
    19: "l2CacheSize",
    20: "localL1CacheSupported",
    22: "luidDeviceNodeMask",
    23: "major",
    24: "managedMemory",
    25: "maxBlocksPerMultiProcessor",
    26: ("maxThreadsDim", 0),
    27: ("maxThreadsDim", 1),
    28: ("maxThreadsDim", 2),
    29: ("maxGridSize", 0),
    30: ("maxGridSize", 1),
    31: ("maxGridSize", 2),
    39: "maxTexture1D",
    41: "maxTexture1DLinear",
    43: ("maxTexture2D", 0),
    44: ("maxTexture2D", 1),
    49: ("maxTexture3D", 0),
    50: ("maxTexture3D", 1),
    51: ("maxTexture3D", 2),
    56: "maxThreadsPerBlock",
    57: "maxThreadsPerMultiProcessor",
    58: "memPitch",
    59: "memoryBusWidth",
    60: "memoryClockRate",
    61: "minor",
    62: "multiGpuBoardGroupID",
    63: "multiProcessorCount",
    65: "pageableMemoryAccess",
    66: "pageableMemoryAccessUsesHostPageTables",
    67: "pciBusID",
    68: "pciDeviceID",
    69: "pciDomainID",
    70: "persistingL2CacheMaxSize",
    71: "regsPerBlock",
    72: "regsPerMultiprocessor",
    73: "reservedSharedMemPerBlock",
    74: "sharedMemPerBlock",
    75: "sharedMemPerBlockOptin",
    76: "sharedMemPerMultiprocessor",
    78: "streamPrioritiesSupported",
    79: "surfaceAlignment",
    81: "textureAlignment",
    82: "texturePitchAlignment",
    83: "totalConstMem",
    84: "totalGlobalMem",
    85: "unifiedAddressing",
    87: "warpSize",
    88: "memoryPoolsSupported",
    90: "hostRegisterSupported",
    91: "memoryPoolSupportedHandleTypes",
    10002: "maxSharedMemoryPerMultiProcessor",
    10007: "cooperativeMultiDeviceUnmatchedFunc",
    10008: "cooperativeMultiDeviceUnmatchedGridDim",
    10009: "cooperativeMultiDeviceUnmatchedBlockDim",
    10010: "cooperativeMultiDeviceUnmatchedSharedMem",
    10011: "isLargeBar",
    10012: "asicRevision",
}
_PHYSICAL_COMPUTE_UNITS, _XCC_COUNT, _PCI_CHIP, _WALL_CLOCK = 10015, 10018, 10020, 10017
_CONSTANT_ATTRIBUTES = {32: 0, 42: 0, 53: 0, 89: 1, 92: 0, 10013: 0, 10014: 0, 10016: 1, _WALL_CLOCK: 100_000}


def device_name(gpu: Gpu) -> str:
    return gpu.model.name


def uuid_of(gpu: Gpu) -> bytes:
    """Sixteen printable bytes, as AMD's runtime gives."""
    return f"virtualgpu{gpu.ordinal:06d}".encode()


def pci_bus_id(gpu: Gpu) -> str:
    return f"0000:{gpu.ordinal + 1:02x}:00.0"


def properties_of(gpu: Gpu, memory_size: int) -> DeviceProperties:
    """The filled hipDeviceProp_t of a device."""
    model = gpu.model
    values: dict[str, object] = {
        "name": device_name(gpu).encode(),
        "gcnArchName": str(gpu.target).encode(),
        "totalGlobalMem": memory_size,
        "sharedMemPerBlock": model.lds,
        "sharedMemPerMultiprocessor": model.lds,
        "maxSharedMemoryPerMultiProcessor": model.lds,
        "sharedMemPerBlockOptin": model.lds,
        "regsPerBlock": model.registers_per_block,
        "regsPerMultiprocessor": model.registers_per_block,
        "warpSize": model.wavefront_size,
        "memPitch": _INT_MAX,
        "maxThreadsPerBlock": 1024,
        "maxThreadsDim": (1024, 1024, 1024),
        "maxGridSize": (_INT_MAX, 65536, 65536),
        "clockRate": model.clock,
        "totalConstMem": _INT_MAX,
        "major": model.major,
        "minor": model.minor,
        "multiProcessorCount": model.compute_units,
        "canMapHostMemory": 1,
        "concurrentKernels": 1,
        "pciBusID": gpu.ordinal + 1,
        "asyncEngineCount": 1,
        "unifiedAddressing": 1,
        "memoryClockRate": model.memory_clock,
        "memoryBusWidth": model.memory_bus_bits,
        "l2CacheSize": model.l2_cache,
        "maxThreadsPerMultiProcessor": model.threads_per_compute_unit,
        "maxBlocksPerMultiProcessor": 2,
        "streamPrioritiesSupported": 1,
        "managedMemory": 1,
        "cooperativeLaunch": 1,
        "memoryPoolsSupported": 1,
        "hostRegisterSupported": 1,
        "isLargeBar": 1,
        "clockInstructionRate": 100_000,
        "arch": _ALL_ARCH_FEATURES,
        "textureAlignment": 256,
        "texturePitchAlignment": 256,
        **(_MAX_IMAGE if model.has_arrays else {}),
    }
    properties = DeviceProperties()
    properties.uuid[:] = list(uuid_of(gpu))
    for name, value in values.items():
        if isinstance(value, tuple):
            getattr(properties, name)[:] = value
        else:
            setattr(properties, name, value)
    return properties


def attribute_of(gpu: Gpu, memory_size: int, attribute: int) -> int | None:
    """The value of a hipDeviceAttribute_t, cut to an int as the C function does; None for an unknown one."""
    field = ATTRIBUTE_FIELDS.get(attribute)
    if field is None:
        special = {
            _PHYSICAL_COMPUTE_UNITS: gpu.model.compute_units,
            _XCC_COUNT: gpu.model.xcc_count,
            _PCI_CHIP: gpu.model.pci_chip,
        }
        return special.get(attribute, _CONSTANT_ATTRIBUTES.get(attribute))
    properties = properties_of(gpu, memory_size)
    value = getattr(properties, field) if isinstance(field, str) else getattr(properties, field[0])[field[1]]
    return min(int(value), _INT_MAX)
