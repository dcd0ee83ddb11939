"""The status codes of HSA, as its public headers number them, with the texts of hsa_status_string."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """hsa_status_t, with the additions of AMD's extension (40 to 47)."""

    SUCCESS = 0x0
    INFO_BREAK = 0x1
    INVALID_MEMORY_POOL = 40
    MEMORY_APERTURE_VIOLATION = 41
    ILLEGAL_INSTRUCTION = 42
    MEMORY_FAULT = 43
    CU_MASK_REDUCED = 44
    OUT_OF_REGISTERS = 45
    RESOURCE_BUSY = 46
    NOT_SUPPORTED = 47
    ERROR = 0x1000
    INVALID_ARGUMENT = 0x1001
    INVALID_QUEUE_CREATION = 0x1002
    INVALID_ALLOCATION = 0x1003
    INVALID_AGENT = 0x1004
    INVALID_REGION = 0x1005
    INVALID_SIGNAL = 0x1006
    INVALID_QUEUE = 0x1007
    OUT_OF_RESOURCES = 0x1008
    INVALID_PACKET_FORMAT = 0x1009
    RESOURCE_FREE = 0x100A
    NOT_INITIALIZED = 0x100B
    REFCOUNT_OVERFLOW = 0x100C
    INCOMPATIBLE_ARGUMENTS = 0x100D
    INVALID_INDEX = 0x100E
    INVALID_ISA = 0x100F
    INVALID_CODE_OBJECT = 0x1010
    INVALID_EXECUTABLE = 0x1011
    FROZEN_EXECUTABLE = 0x1012
    INVALID_SYMBOL_NAME = 0x1013
    VARIABLE_ALREADY_DEFINED = 0x1014
    VARIABLE_UNDEFINED = 0x1015
    EXCEPTION = 0x1016
    INVALID_ISA_NAME = 0x1017
    INVALID_CODE_SYMBOL = 0x1018
    INVALID_EXECUTABLE_SYMBOL = 0x1019
    INVALID_FILE = 0x1020
    INVALID_CODE_OBJECT_READER = 0x1021
    INVALID_CACHE = 0x1022
    INVALID_WAVEFRONT = 0x1023
    INVALID_SIGNAL_GROUP = 0x1024
    INVALID_RUNTIME_STATE = 0x1025
    FATAL = 0x1026


_NOT_ERRORS = (Status.SUCCESS, Status.INFO_BREAK, Status.CU_MASK_REDUCED)
_WORDS = {
    Status.SUCCESS: "the function succeeded",
    Status.INFO_BREAK: "the caller ended an iteration",
    Status.CU_MASK_REDUCED: "the mask names compute units that the process may not use",
    Status.ERROR: "an error without a more exact code",
    Status.NOT_INITIALIZED: "hsa_init was not called, or hsa_shut_down was",
    Status.OUT_OF_RESOURCES: "there is no room left",
    Status.MEMORY_FAULT: "a kernel accessed memory that it must not",
    Status.ILLEGAL_INSTRUCTION: "a kernel holds an instruction that is none",
    Status.INVALID_PACKET_FORMAT: "an AQL packet is malformed",
    Status.FROZEN_EXECUTABLE: "the executable is frozen",
}


def status_name(code: int) -> str:
    """HSA_STATUS_ERROR_INVALID_AGENT and the like, or "unknown"."""
    if code not in Status._value2member_map_:
        return "unknown"
    status = Status(code)
    is_plain = status in _NOT_ERRORS or status is Status.ERROR
    return f"HSA_STATUS_{status.name}" if is_plain else f"HSA_STATUS_ERROR_{status.name}"


def status_text(status: Status) -> str:
    """What hsa_status_string says: the name, and a sentence."""
    return f"{status_name(status)}: {_WORDS.get(status, status.name.lower().replace('_', ' '))}"
