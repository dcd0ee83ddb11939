"""Arrays: device memory with a shape and an element type."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from hipgraph_cb.errors import InvalidArgumentError, NoSuchIndexError
from hipgraph_cb.runtime.buffer import Buffer, BufferView, MemoryRange, element_type, host_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from hipgraph_cb.runtime.stream import Stream

Shape = tuple[int, ...]


class Array(MemoryRange):
    """A range of a buffer, in C order, with a shape and an element type; it keeps the buffer alive.

    Made by `device.empty`, `zeros`, `ones`, `full`, `empty_like`, `asarray`. It is taken wherever a buffer is. A kernel
    whose metadata names the type that a pointer leads to takes elements of that size and kind only; `view(dtype)`
    says that another type is meant.
    """

    __slots__ = ("_buffer", "_bytes", "_offset", "dtype", "shape")
    __hash__ = None  # type: ignore[assignment]  # as numpy's

    dtype: np.dtype[Any]
    shape: Shape

    def __init__(self, buffer: Buffer, offset: int, dtype: np.dtype[Any], shape: Shape) -> None:
        self._buffer = buffer
        self._offset = offset
        self.dtype = dtype
        self.shape = shape
        self._bytes = BufferView(buffer, offset, self.nbytes)

    @property
    def buffer(self) -> Buffer:
        """The buffer that the array is in."""
        return self._buffer

    @property
    def offset(self) -> int:
        """Bytes from the start of the buffer to the first element."""
        return self._offset

    @property
    def length(self) -> int:
        """Bytes; the same as `nbytes`."""
        return self.nbytes

    @property
    def nbytes(self) -> int:
        """Bytes."""
        return self.size * self.dtype.itemsize

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def label(self) -> str | None:
        """The label of the buffer."""
        return self._buffer.label

    @property
    def bytes(self) -> BufferView:
        """The same memory as bytes."""
        return self._bytes

    def __len__(self) -> int:
        """The extent of the first axis."""
        if not self.shape:
            raise TypeError("an array without axes has no length")
        return self.shape[0]

    def __getitem__(self, key: int | slice) -> Array:
        """The same memory without the first axis (an index), or a part of the first axis (a slice of step 1).

        Raises:
            InvalidArgumentError: another kind of key, a slice with another step, or an array without axes.
            NoSuchIndexError: an index outside the first axis.
        """
        if not self.shape or isinstance(key, bool):
            raise self._bad_key(key)
        extent, rest = self.shape[0], self.shape[1:]
        row = math.prod(rest) * self.dtype.itemsize
        try:
            if isinstance(key, slice):
                start, stop, step = key.indices(extent)
            else:
                index = operator.index(key)
        except (TypeError, ValueError):
            raise self._bad_key(key) from None
        if isinstance(key, slice):
            if step != 1:
                raise self._bad_key(key)
            return Array(self._buffer, self._offset + start * row, self.dtype, (max(stop - start, 0), *rest))
        if not -extent <= index < extent:
            raise NoSuchIndexError(
                "array: the index is outside the first axis",
                where=repr(self),
                found=str(index),
                allowed=f"{-extent} to {extent - 1}" if extent else "none: the axis is empty",
            )
        return Array(self._buffer, self._offset + index % extent * row, self.dtype, rest)

    def __iter__(self) -> Iterator[Array]:
        """The parts along the first axis."""
        return (self[index] for index in range(len(self)))

    def view(self, dtype: DTypeLike) -> Array:
        """The same bytes as elements of another type; where its size differs, the last axis changes its extent.

        Raises:
            InvalidArgumentError: the last axis is not a whole number of such elements.
        """
        element = element_type(dtype, "view")
        if element.itemsize == self.dtype.itemsize:
            return Array(self._buffer, self._offset, element, self.shape)
        last = (self.shape or (1,))[-1] * self.dtype.itemsize
        if last % element.itemsize or not self.shape:
            raise InvalidArgumentError(
                f"view: the last axis is not a whole number of {element.name} elements",
                where=repr(self),
                found=f"{last} bytes",
                allowed=f"a multiple of {element.itemsize} bytes, in an array with axes",
            )
        return Array(self._buffer, self._offset, element, (*self.shape[:-1], last // element.itemsize))

    def reshape(self, *shape: int | tuple[int, ...]) -> Array:
        """The same elements in another shape; one extent may be -1, which means as many as there are.

        Raises:
            InvalidArgumentError: another number of elements, or no extents.
        """
        given = shape[0] if len(shape) == 1 and not hasattr(shape[0], "__index__") else shape
        wanted = checked_shape(given, "reshape", smallest=-1)
        known = math.prod(extent for extent in wanted if extent != -1)
        if wanted.count(-1) == 1 and known and self.size % known == 0:
            wanted = tuple(self.size // known if extent == -1 else extent for extent in wanted)
        if -1 in wanted or math.prod(wanted) != self.size:
            raise InvalidArgumentError(
                "reshape: another number of elements",
                where=repr(self),
                found=f"shape {given}",
                allowed=f"{self.size} elements",
            )
        return Array(self._buffer, self._offset, self.dtype, wanted)

    def write(self, values: ArrayLike) -> None:
        """Copy host values to the array, after the work that was enqueued before; returns when they are there.

        Args:
            values: a number or anything that numpy makes an array of, of this shape or one that broadcasts to it.
                Elements of arrays are converted where that keeps their kind (numpy's "same_kind"), and numbers of
                Python where they fit.

        Raises:
            InvalidArgumentError: another shape, or elements of another kind.
        """
        import numpy

        self._buffer._check_open("write")
        host = numpy.empty(self.shape, self.dtype)
        try:
            numpy.copyto(host, self._converted(values), casting="same_kind")
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidArgumentError(
                "write: the values do not fit the array",
                where=repr(self),
                found=_described(values),
                allowed=f"{self.dtype.name} elements, shape {self.shape}",
                next_step="convert them with numpy.asarray(values, dtype=...)",
            ) from error
        if host.nbytes:
            self._buffer._write(self._offset, host_bytes(host, "write"))

    def to_host(self, out: NDArray[Any] | None = None, stream: Stream | None = None) -> NDArray[Any]:
        """A host copy of this shape and element type.

        Args:
            out: where to copy to, an array of this shape and type in C order; None makes a new one.
            stream: wait for the work of this stream only; None waits for all work that was enqueued before.

        Returns:
            `out`, or the new array.

        Raises:
            InvalidArgumentError: `out` does not fit.
            HipError: work that was enqueued before failed.
            DeadlineExceededError: that work took longer than the device's timeout.
        """
        import numpy

        self._buffer._check_open("to_host")
        host = numpy.empty(self.shape, self.dtype) if out is None else self._checked_target(out)
        if host.nbytes:
            flat = host.reshape(-1).view(numpy.uint8)
            self._buffer._read(self._offset, flat, stream)
        return host

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """A host copy, for numpy. There is no other way to look at device memory, so `copy=False` is refused."""
        if copy is False:
            raise ValueError("device memory has to be copied to become a numpy array")
        host = self.to_host()
        return host if dtype is None else host.astype(dtype, copy=False)

    def _array_interface(self) -> tuple[Shape, np.dtype[Any]]:
        return self.shape, self.dtype

    def _converted(self, values: ArrayLike) -> NDArray[Any]:
        """Values as numpy takes them; whole numbers of Python have the type of this array, or do not fit it."""
        import numpy

        given = numpy.asarray(values)
        is_plain = not hasattr(values, "dtype") and given.dtype.kind in "iu" and self.dtype.kind in "iu"
        return numpy.asarray(values, self.dtype) if is_plain else given

    def _checked_target(self, out: NDArray[Any]) -> NDArray[Any]:
        import numpy

        fits = isinstance(out, numpy.ndarray) and out.dtype == self.dtype and out.shape == self.shape
        if not (fits and out.flags.c_contiguous and out.flags.writeable):
            raise InvalidArgumentError(
                "to_host: out does not fit",
                where=repr(self),
                found=_described(out),
                allowed=f"a writable numpy array of {self.dtype.name} elements, shape {self.shape}, in C order",
            )
        return out

    def _bad_key(self, key: object) -> InvalidArgumentError:
        return InvalidArgumentError(
            "array: this part is not one range of memory",
            where=repr(self),
            found=repr(key),
            allowed="an index or a slice with step 1 along the first axis"
            if self.shape
            else "nothing: the array has no axes",
            next_step="make a copy with .to_host() and index that",
        )

    def __repr__(self) -> str:
        return f"<array of {self.dtype.name}, shape {self.shape}, in {self._describe_range()}>"


def checked_shape(shape: Any, action: str, smallest: int = 0) -> Shape:
    """A number or a sequence of numbers as a shape.

    Raises:
        InvalidArgumentError: anything else, or an extent below `smallest`.
    """
    given = (shape,) if hasattr(shape, "__index__") else shape
    try:
        extents = tuple(operator.index(extent) for extent in given)
    except TypeError:
        extents = (smallest - 1,)
    if isinstance(shape, bool) or any(extent < smallest for extent in extents):
        raise InvalidArgumentError(
            f"{action}: bad shape", found=repr(shape), allowed=f"whole numbers, {smallest} or more"
        )
    return extents


def _described(value: object) -> str:
    import numpy

    if isinstance(value, numpy.ndarray):
        return f"{value.dtype.name} elements, shape {value.shape}"
    return type(value).__name__
