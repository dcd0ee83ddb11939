"""Device memory that another library owns: where it is, how long it lives, and whose work on it has to be waited for.

DLPack goes first where a producer offers it for an AMD device, since it says which device that is and orders the
producer's work; else the CUDA array interface, which ROCm builds of PyTorch and CuPy and hip-python's own arrays offer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from hipgraph_cb.errors import InvalidArgumentError, UnimplementedError
from hipgraph_cb.foreign.dlpack import ROCM, CapsuleError, device_name, element_name, read_capsule
from hipgraph_cb.foreign.host import DLPACK_HOST_DEVICES

ACTION = "import_buffer"
NO_ORDER = -1
"""The stream that asks a DLPack producer to order nothing."""
LEGACY_STREAM, PER_THREAD_STREAM = 1, 2
"""The streams with the numbers 1 and 2 in the array interface."""


class ForeignMemory(NamedTuple):
    """Bytes on a device.

    Attributes:
        address, size: in bytes.
        owner: what has to stay for the memory to stay.
        device: the ordinal, where the producer says it.
        stream: the stream of the work that has to be done first: `LEGACY_STREAM`, `PER_THREAD_STREAM` or an address;
            None where nothing has to be waited for.
        name: how messages call it.
        shape: the extents, in C order; None for an address.
        element: what numpy calls the elements; None where it is not known.
    """

    address: int
    size: int
    owner: object
    device: int | None
    stream: int | None
    name: str
    shape: tuple[int, ...] | None = None
    element: str | None = None


def foreign_memory(source: Any, size: int | None, dlpack_stream: int | None) -> ForeignMemory:
    """What `source` says of itself.

    Args:
        source: something with `__dlpack__` on an AMD device or with `__cuda_array_interface__`, or an address.
        size: bytes, for an address.
        dlpack_stream: the stream that a DLPack producer is to order its work before; None asks for none.

    Raises:
        InvalidArgumentError: nothing of the kind, host memory, another vendor's, not contiguous, read-only or empty.
        UnimplementedError: a masked array.
    """
    name = type(source).__name__
    device = _dlpack_device(source)
    if device is not None and device[0] == ROCM:
        memory = _by_dlpack(source, name, dlpack_stream)
    else:
        interface = _array_interface(source, name)
        if interface is not None:
            memory = _by_array_interface(interface, source, name)
        elif device is not None or hasattr(source, "__array_interface__") or _has_buffer(source):
            raise _not_device_memory(name, device)
        else:
            return _by_address(source, size, name)
    if size is not None and size != memory.size:
        raise InvalidArgumentError(
            f"{ACTION}: the memory has another size", where=name, found=f"{memory.size} bytes", allowed=f"size={size}"
        )
    return memory


def _dlpack_device(source: Any) -> tuple[int, int] | None:
    if not hasattr(source, "__dlpack__") or not hasattr(source, "__dlpack_device__"):
        return None
    device = source.__dlpack_device__()
    try:
        kind, ordinal = device
        return int(kind), int(ordinal)
    except (TypeError, ValueError):
        raise InvalidArgumentError(
            f"{ACTION}: __dlpack_device__ gives no device", found=repr(device), allowed="a kind and an ordinal"
        ) from None


def _by_dlpack(source: Any, name: str, stream: int | None) -> ForeignMemory:
    try:
        try:
            capsule = source.__dlpack__(stream=stream, max_version=(1, 0))
        except TypeError:
            capsule = source.__dlpack__(stream=stream)
    except (BufferError, RuntimeError, ValueError) as error:
        raise InvalidArgumentError(
            f"{ACTION}: its owner does not give it away", where=name, found=str(error)
        ) from error
    try:
        tensor = read_capsule(capsule)
    except CapsuleError as error:
        raise InvalidArgumentError(f"{ACTION}: not a DLPack tensor", where=name, found=str(error)) from None
    if tensor.bits % 8:
        raise InvalidArgumentError(
            f"{ACTION}: the elements are no whole bytes", where=name, found=f"{tensor.bits} bits", allowed="8, 16, ..."
        )
    itemsize = tensor.bits // 8
    strides = None if tensor.strides is None else tuple(stride * itemsize for stride in tensor.strides)
    size = _contiguous_size(tensor.shape, strides, itemsize, name)
    _check_writable(tensor.read_only, name)
    element = element_name(tensor.code, tensor.bits)
    return ForeignMemory(tensor.address, size, (source, capsule), tensor.device[1], None, name, tensor.shape, element)


def _array_interface(source: Any, name: str) -> Any:
    try:
        return getattr(source, "__cuda_array_interface__", None)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"{ACTION}: its owner does not give it away", where=name, found=str(error)
        ) from error


def _by_array_interface(interface: Any, source: object, name: str) -> ForeignMemory:
    import numpy

    try:
        address, read_only = interface["data"]
        shape = tuple(int(extent) for extent in interface["shape"])
        element = numpy.dtype(interface["typestr"])
        strides, stream = interface.get("strides"), interface.get("stream")
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"{ACTION}: the __cuda_array_interface__ cannot be read",
            where=name,
            found=f"{type(error).__name__}: {error}",
            allowed="a dict with shape, typestr and data",
        ) from None
    if interface.get("mask") is not None:
        raise UnimplementedError(
            f"{ACTION}: masked arrays are not taken", where=name, next_step="import the data alone"
        )
    size = _contiguous_size(shape, None if strides is None else tuple(strides), element.itemsize, name)
    _check_writable(bool(read_only), name)
    if stream == 0:
        raise InvalidArgumentError(
            f"{ACTION}: stream 0 says nothing",
            where=name,
            found="stream 0 in the __cuda_array_interface__",
            allowed="None, 1 (the legacy default stream), 2 (the per-thread one) or the address of a stream",
        )
    order = None if stream is None else int(stream)
    return ForeignMemory(int(address or 0), size, source, None, order, name, shape, element.str)


def _by_address(source: Any, size: int | None, name: str) -> ForeignMemory:
    try:
        if isinstance(source, (bool, float, str)):
            raise TypeError
        address = int(source)
    except (TypeError, ValueError):
        raise InvalidArgumentError(
            f"{ACTION}: not device memory",
            found=name,
            allowed="an object with __dlpack__ on an AMD device or __cuda_array_interface__, or an address with size=",
        ) from None
    if size is None:
        raise InvalidArgumentError(
            f"{ACTION}: an address does not say how many bytes there are",
            found=f"{name} {address:#x}",
            next_step="pass size=",
        )
    if size == 0 or address <= 0:
        raise InvalidArgumentError(f"{ACTION}: there is no memory", found=f"{size} bytes at {address:#x}")
    return ForeignMemory(address, size, source, None, None, f"the memory at {address:#x}")


def _contiguous_size(shape: tuple[int, ...], strides: Sequence[int] | None, itemsize: int, name: str) -> int:
    """The bytes of an array in C order; strides of axes with one element do not matter."""
    size = math.prod(shape) * itemsize
    if size == 0:
        raise InvalidArgumentError(f"{ACTION}: there is no memory", where=name, found=f"shape {shape}")
    expected = itemsize
    for extent, stride in zip(reversed(shape), reversed(strides or ()), strict=False):
        if extent != 1 and stride != expected:
            raise InvalidArgumentError(
                f"{ACTION}: the array is not contiguous",
                where=name,
                found=f"shape {shape}, strides {tuple(strides or ())} in bytes",
                allowed="elements one after the other, last axis fastest",
                next_step="make a contiguous copy with the library that owns it",
            )
        expected *= extent
    return size


def _check_writable(read_only: bool, name: str) -> None:
    if read_only:
        raise InvalidArgumentError(
            f"{ACTION}: the memory is read-only",
            where=name,
            found="its owner does not let others write to it",
            allowed="memory that commands may write to",
            next_step="copy it with the library that owns it",
        )


def _not_device_memory(name: str, device: tuple[int, int] | None) -> InvalidArgumentError:
    if device is None or device[0] in DLPACK_HOST_DEVICES:
        return InvalidArgumentError(
            f"{ACTION}: this is host memory",
            found=name,
            allowed="memory of this device",
            next_step="device.from_host(...) makes a buffer with a copy of it",
        )
    return InvalidArgumentError(
        f"{ACTION}: the memory is on another kind of device",
        found=f"{name} on {device_name(device[0])} {device[1]}",
        allowed="kDLROCM",
    )


def _has_buffer(source: Any) -> bool:
    try:
        memoryview(source)
    except (TypeError, ValueError, BufferError):
        return False
    return True
