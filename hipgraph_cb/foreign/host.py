"""Host data that has no buffer protocol of its own but says in another way where its bytes are."""

from __future__ import annotations

from typing import Any

DLPACK_HOST_DEVICES = (1, 3, 11)
"""kDLCPU, kDLCUDAHost, kDLROCMHost: memory that the CPU reads."""


def host_array(data: object) -> Any:
    """A numpy array of the same memory, for what offers `__array_interface__` or DLPack on the CPU; else None.

    Device memory is not looked at, and lists and numbers are not: they have no fixed bytes.
    """
    import numpy

    try:
        if hasattr(type(data), "__array_interface__") or hasattr(type(data), "__array_struct__"):
            return numpy.asarray(data)
        device = getattr(data, "__dlpack_device__", None)
        if device is not None and device()[0] in DLPACK_HOST_DEVICES:
            return numpy.from_dlpack(data)  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError, AttributeError, RuntimeError):
        pass  # it offers an interface that fails: the caller says what is allowed
    return None


def is_device_memory(data: object) -> bool:
    """Whether `data` says of itself that it is on a GPU. Asks for no synchronisation."""
    try:
        device = getattr(data, "__dlpack_device__", None)
        if device is not None:
            return device()[0] not in DLPACK_HOST_DEVICES
        return hasattr(data, "__cuda_array_interface__")
    except (TypeError, ValueError, BufferError, RuntimeError):
        return False
