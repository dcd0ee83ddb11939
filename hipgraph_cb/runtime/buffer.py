"""Buffers and views: device memory, whole or in part, and copies of host data to and from it."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from hipgraph_cb.errors import InvalidArgumentError, OutOfRangeError
from hipgraph_cb.foreign.dlpack import ROCM
from hipgraph_cb.foreign.host import host_array, is_device_memory
from hipgraph_cb.recording.validation import LARGEST
from hipgraph_cb.runtime.resource import Resource

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike, NDArray

    from hipgraph_cb.runtime.device import Device
    from hipgraph_cb.runtime.stream import Stream


class MemoryRange(ABC):
    """What buffers, views and arrays share: a range of bytes on a device."""

    __slots__ = ()

    @property
    @abstractmethod
    def buffer(self) -> Buffer:
        """The buffer that the range is in."""

    @property
    @abstractmethod
    def offset(self) -> int:
        """Bytes from the start of the buffer to the first byte of the range."""

    @property
    @abstractmethod
    def length(self) -> int:
        """Bytes."""

    @property
    def device(self) -> Device:
        """The device whose memory it is."""
        return self.buffer.device

    @property
    def address(self) -> int:
        """The device address of the first byte."""
        return self.buffer.address + self.offset

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """This range, for PyTorch, CuPy and others on the same GPU: an array with its shape and type, else bytes.

        Reading it waits for the work that was enqueued before, so a consumer has no stream to wait for.
        A user of the memory keeps this object, and must not use it after `close()`.
        """
        self.buffer._check_open("__cuda_array_interface__")
        self.buffer._settle()
        shape, element = self._array_interface()
        return {
            "shape": shape,
            "typestr": element.str,
            "data": (self.address, False),
            "strides": None,
            "stream": None,
            "version": 3,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        """The kind of the device, kDLROCM, and its ordinal."""
        return ROCM, self.device.ordinal

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule of the same memory, which lives until its consumer has released it.

        Args:
            stream: the consumer's stream; the work that was enqueued before is waited for here, so that it may use any.
                -1 waits for nothing.
            max_version: the newest version of DLPack that the consumer reads.
            dl_device: where the consumer wants the data: this device, or (1, 0) for a copy in host memory.
            copy: True gives a copy, on the host only; False refuses one.

        Raises:
            BufferError: another device, a copy on this device, or elements that DLPack has no name for.
            FailedPreconditionError: the buffer is closed.
        """
        from hipgraph_cb.foreign.dlpack_export import export

        self.buffer._check_open("__dlpack__")
        return export(self, stream, max_version, dl_device, copy)

    def _array_interface(self) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Shape and element type for other libraries."""
        import numpy

        return (self.length,), numpy.dtype(numpy.uint8)

    def _describe_range(self) -> str:
        whole = self.offset == 0 and self.length == self.buffer._size
        whole_buffer = self.buffer.describe()
        return whole_buffer if whole else f"bytes {self.offset} to {self.offset + self.length} of {whole_buffer}"


class ByteRange(MemoryRange):
    """What buffers and views share: bytes that can be narrowed, written and read."""

    __slots__ = ()

    def view(self, offset: int = 0, length: int | None = None) -> BufferView:
        """A part of this range, which keeps the buffer alive.

        Args:
            offset: bytes from the start of this range.
            length: bytes; None is all that is left.

        Raises:
            InvalidArgumentError: an offset or a length that is not a number of bytes.
            OutOfRangeError: the part is not within this range.
        """
        self.buffer._check_open("view")
        offset = byte_count(offset, "view", "offset")
        rest = self.length - offset
        length = rest if length is None else byte_count(length, "view", "length")
        if rest < 0 or length > rest:
            raise OutOfRangeError(
                "view: the range is outside",
                where=self._describe_range(),
                found=f"offset {offset}, length {max(length, 0)}: bytes {offset} to {offset + max(length, 0)}",
                allowed=f"bytes 0 to {self.length}",
            )
        return BufferView(self.buffer, self.offset + offset, length)

    def write(self, array: object) -> None:
        """Copy host data to exactly this range, after the work that was enqueued before; returns when it is there.

        Args:
            array: anything with the buffer protocol, contiguous in C order, of exactly `length` bytes.

        Raises:
            InvalidArgumentError: not host data, not contiguous, or of another size.
        """
        self.buffer._check_open("write")
        host = host_bytes(array, "write")
        if host.nbytes != self.length:
            raise InvalidArgumentError(
                "write: the data has another size than the range",
                where=self._describe_range(),
                found=f"{host.nbytes} bytes",
                allowed=f"{self.length} bytes",
                next_step="write to a part with .view(offset, length).write(...)",
            )
        if self.length:
            self.buffer._write(self.offset, host)

    def to_host(self, dtype: DTypeLike = "uint8", stream: Stream | None = None) -> NDArray[Any]:
        """A host copy, made after the work that was enqueued before.

        Args:
            dtype: the element type, as numpy.dtype takes it.
            stream: wait for the work of this stream only; None waits for all work that was enqueued before.

        Returns:
            A new array of shape (length / itemsize,).

        Raises:
            InvalidArgumentError: the range is not a whole number of `dtype` elements.
            HipError: work that was enqueued before failed.
            DeadlineExceededError: that work took longer than the device's timeout.
        """
        import numpy

        self.buffer._check_open("to_host")
        element = element_type(dtype, "to_host")
        if self.length % element.itemsize:
            raise InvalidArgumentError(
                f"to_host: the range is not a whole number of {element.name} elements",
                where=self._describe_range(),
                found=f"{self.length} bytes",
                allowed=f"a multiple of {element.itemsize} bytes",
                next_step="read a part with .view(offset, length).to_host(...)",
            )
        host = numpy.empty(self.length // element.itemsize, element)
        if self.length:
            self.buffer._read(self.offset, host.view(numpy.uint8), stream)
        return host


class Buffer(Resource, ByteRange):
    """Device memory. It is its own whole range, so it can be given where a view can.

    Attributes:
        size: bytes.
        label: the name that messages and exports show, or None.
        is_imported: whether another library owns the memory.
        is_host: whether it is page-locked memory of the host.
        is_global: whether it is a global variable of an executable.
    """

    kind = "buffer"
    is_imported = False
    is_host = False
    is_global = False

    def __init__(self, device: Device, size: int, address: int, label: str | None = None) -> None:
        self._device = device
        self._size = size
        self._address = address
        self.label = label

    @property
    def device(self) -> Device:
        """The device whose memory it is."""
        return self._device

    @property
    def size(self) -> int:
        """Bytes."""
        return self._size

    @property
    def buffer(self) -> Buffer:
        """Itself."""
        return self

    @property
    def offset(self) -> int:
        """0."""
        return 0

    @property
    def length(self) -> int:
        """Bytes; the same as `size`."""
        return self._size

    @property
    def address(self) -> int:
        """The device address of the first byte.

        Raises:
            FailedPreconditionError: the buffer is closed.
        """
        self._check_open("address")
        return self._address

    def describe(self) -> str:
        """What messages call it: its label, and its size in bytes."""
        return f"{super().describe()} of {self._size} bytes"

    def __repr__(self) -> str:
        return f"<{self.describe()} on {self._device.name}{', closed' if self._closed else ''}>"

    @abstractmethod
    def _keep(self, action: str) -> object:
        """What keeps the memory, also when the buffer is closed. Raises FailedPreconditionError where it is."""

    @abstractmethod
    def _settle(self, stream: Stream | None = None) -> None:
        """Wait for the work that was enqueued before, of one stream or of all, ahead of a use by the host or others."""

    @abstractmethod
    def _write(self, offset: int, host: NDArray[np.uint8]) -> None:
        """Copy `host` to the bytes from `offset` on; the range was checked."""

    @abstractmethod
    def _read(self, offset: int, host: NDArray[np.uint8], stream: Stream | None = None) -> None:
        """Fill `host` from the bytes from `offset` on; the range was checked."""


class BufferView(ByteRange):
    """A part of a buffer; it keeps the buffer alive. Made by `.view()` and `Executable.global_()`."""

    __slots__ = ("_buffer", "_length", "_offset")

    def __init__(self, buffer: Buffer, offset: int, length: int) -> None:
        self._buffer = buffer
        self._offset = offset
        self._length = length

    @property
    def buffer(self) -> Buffer:
        """The buffer that the view is in."""
        return self._buffer

    @property
    def offset(self) -> int:
        """Bytes from the start of the buffer to the first byte of the view."""
        return self._offset

    @property
    def length(self) -> int:
        """Bytes."""
        return self._length

    @property
    def size(self) -> int:
        """Bytes; the same as `length`."""
        return self._length

    @property
    def label(self) -> str | None:
        """The label of the buffer."""
        return self._buffer.label

    def __repr__(self) -> str:
        return f"<bytes {self._offset} to {self._offset + self._length} of {self._buffer.describe()}>"


def _index(value: Any) -> int | None:
    """`value` as an int; None if it is not a whole number."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def byte_count(value: object, action: str, name: str) -> int:
    """`value` as a number of bytes.

    Raises:
        InvalidArgumentError: not an integer, or negative.
        OutOfRangeError: more than 64 bits hold.
    """
    count = _index(value)
    if count is None or count < 0:
        raise InvalidArgumentError(f"{action}: bad {name}", found=repr(value), allowed="a number of bytes, 0 or more")
    if count > LARGEST:
        raise OutOfRangeError(f"{action}: {name} is out of range", found=str(count), allowed=f"0 to {LARGEST}")
    return count


def element_type(dtype: DTypeLike, action: str) -> np.dtype[Any]:
    """`dtype` as an element type of whole bytes without Python objects.

    Raises:
        InvalidArgumentError: numpy knows no such type, or it is none for device memory.
    """
    import numpy

    try:
        element = numpy.dtype(dtype)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"{action}: numpy has no such element type", found=repr(dtype), allowed="what numpy.dtype(...) takes"
        ) from error
    if element.hasobject or element.itemsize == 0:
        raise InvalidArgumentError(
            f"{action}: no element type for device memory",
            found=str(element),
            allowed="numbers, records of them, and other types of at least one byte",
        )
    return element


def host_bytes(array: object, action: str) -> NDArray[np.uint8]:
    """The bytes of host data, without a copy.

    Raises:
        InvalidArgumentError: no buffer protocol, Python objects inside, or not contiguous in C order.
    """
    import numpy

    data = _view(array)
    if data is None:
        on_device = is_device_memory(array)
        raise InvalidArgumentError(
            f"{action}: not host data",
            found=f"{type(array).__name__}, which is device memory" if on_device else type(array).__name__,
            allowed="bytes, a numpy array, or anything else with the buffer protocol",
            next_step="device.import_buffer(...) makes a buffer of it, to copy from in a command buffer"
            if on_device
            else "numpy.asarray(data, dtype=...) makes an array of a list",
        )
    if "O" in data.format:
        raise InvalidArgumentError(f"{action}: the array holds Python objects", allowed="numbers")
    if not data.c_contiguous:
        raise InvalidArgumentError(
            f"{action}: the array is not contiguous",
            found=f"shape {data.shape}, strides {data.strides}",
            allowed="elements one after the other, last axis fastest",
            next_step="numpy.ascontiguousarray(array) makes a contiguous copy",
        )
    return numpy.frombuffer(data, numpy.uint8) if data.nbytes else numpy.empty(0, numpy.uint8)


def _view(array: object) -> memoryview | None:
    """The memory of host data; None where the object offers none."""
    for source in (lambda: array, lambda: host_array(array), lambda: _bytes_of(array)):
        try:
            return memoryview(source())  # type: ignore[arg-type]
        except (TypeError, ValueError, BufferError):
            continue
    return None


def _bytes_of(array: object) -> object:
    """The bytes of a numpy array whose element type the buffer protocol has no name for, such as bfloat16."""
    import numpy

    if not isinstance(array, numpy.ndarray) or array.dtype.hasobject:
        raise TypeError
    return array.reshape(-1).view(numpy.uint8) if array.flags.c_contiguous else array.view(f"V{array.itemsize}")
