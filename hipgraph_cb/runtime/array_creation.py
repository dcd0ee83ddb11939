"""How arrays are made: what `Device` offers beside plain buffers."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.runtime.array import Array, checked_shape
from hipgraph_cb.runtime.buffer import Buffer, element_type
from hipgraph_cb.runtime.resource import Resource

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

    from hipgraph_cb.foreign.memory import ForeignMemory


class ArrayCreation(Resource):
    """Arrays of a device. Each has a buffer of its own, which is released when the last part of it is dropped."""

    @abstractmethod
    def allocate(self, size: int, label: str | None = None) -> Buffer:
        """Uninitialised memory of `size` bytes."""

    @abstractmethod
    def from_host(self, array: object, label: str | None = None) -> Buffer:
        """A new buffer with a copy of host data."""

    @abstractmethod
    def _imported(self, memory: object, size: int | None, label: str | None) -> tuple[Buffer, ForeignMemory]:
        """A buffer of memory that another library owns, and what that library says of it."""

    def empty(self, shape: Any, dtype: DTypeLike = "float32", label: str | None = None) -> Array:
        """An array of uninitialised memory.

        Args:
            shape: its extents, a number or a sequence of numbers; together at least one element.
            dtype: the element type, as numpy.dtype takes it; those of `ml_dtypes` as well.
            label: the name that messages and exports show.

        Raises:
            InvalidArgumentError: no shape, no element type, or no elements.
            ResourceExhaustedError: the device does not have that much left.
        """
        self._check_open("empty")
        extents, element = checked_shape(shape, "empty"), element_type(dtype, "empty")
        size = math.prod(extents) * element.itemsize
        if size == 0:
            raise InvalidArgumentError(
                "empty: an array needs at least one element", found=f"shape {extents}", allowed="extents of 1 or more"
            )
        return Array(self.allocate(size, label), 0, element, extents)

    def zeros(self, shape: Any, dtype: DTypeLike = "float32", label: str | None = None) -> Array:
        """An array of zeros. Arguments and errors as for `empty`."""
        return self.full(shape, 0, dtype, label)

    def ones(self, shape: Any, dtype: DTypeLike = "float32", label: str | None = None) -> Array:
        """An array of ones. Arguments and errors as for `empty`."""
        return self.full(shape, 1, dtype, label)

    def full(self, shape: Any, value: ArrayLike, dtype: DTypeLike = "float32", label: str | None = None) -> Array:
        """An array of one value, or of values that broadcast to the shape. Arguments and errors as for `empty`.

        Raises:
            InvalidArgumentError: the value does not fit the shape and the element type, or as `empty` says.
        """
        array = self.empty(shape, dtype, label)
        try:
            array.write(value)
        except BaseException:
            array.buffer.close()
            raise
        return array

    def empty_like(self, other: Any, label: str | None = None) -> Array:
        """An array of uninitialised memory, of the shape and element type of another array, of any library.

        Raises:
            InvalidArgumentError: the other has no shape or element type, or as `empty` says.
        """
        try:
            shape, dtype = other.shape, other.dtype
        except AttributeError:
            raise InvalidArgumentError(
                "empty_like: not an array", found=type(other).__name__, allowed="anything with a shape and a dtype"
            ) from None
        return self.empty(shape, dtype, label)

    def asarray(self, values: Any, dtype: DTypeLike | None = None, label: str | None = None) -> Array:
        """An array of this device: the one given, memory of another library as it is, or a copy of host data.

        Args:
            values: an array of this device, device memory of another library (see `import_buffer`), or anything that
                numpy makes an array of.
            dtype: the element type; host data is converted, device memory must have it already.

        Raises:
            InvalidArgumentError: device memory of another type, Python objects, no elements, or what `import_buffer`
                refuses.
            ResourceExhaustedError: the device does not have that much left.
        """
        from hipgraph_cb.foreign.host import is_device_memory

        self._check_open("asarray")
        if isinstance(values, Array) and values.device is self:
            return _of_type(values, dtype)
        if is_device_memory(values):
            return _of_type(self._imported_array(values, label), dtype)
        return self._copied_array(values, dtype, label)

    def _imported_array(self, values: Any, label: str | None) -> Array:
        buffer, memory = self._imported(values, None, label)
        element = None if memory.element is None else element_type(memory.element, "asarray")
        if element is None or memory.shape is None:
            raise InvalidArgumentError(
                "asarray: numpy has no such element type",
                where=memory.name,
                found=f"{memory.size} bytes, shape {memory.shape}",
                next_step="import_buffer takes the bytes as they are",
            )
        return Array(buffer, 0, element, memory.shape)

    def _copied_array(self, values: Any, dtype: DTypeLike | None, label: str | None) -> Array:
        import numpy

        element = None if dtype is None else element_type(dtype, "asarray")
        try:
            host = numpy.asarray(values, element, order="C")
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(
                "asarray: numpy makes no array of this", found=f"{type(values).__name__}: {error}"
            ) from error
        element_type(host.dtype, "asarray")
        buffer: Buffer = self.from_host(host, label)
        return Array(buffer, 0, host.dtype, host.shape)


def _of_type(array: Array, dtype: DTypeLike | None) -> Array:
    if dtype is not None and element_type(dtype, "asarray") != array.dtype:
        raise InvalidArgumentError(
            "asarray: device memory is not converted",
            where=repr(array),
            found=f"{array.dtype.name} elements",
            allowed=f"{element_type(dtype, 'asarray').name} elements",
            next_step="view(dtype) takes the bytes as another type; a copy by way of the host converts",
        )
    return array
