"""What a backend offers: devices, buffers, views, executables, exports, programs and streams.

The classes here hold everything that is the same for every backend: checks of arguments, arithmetic of views,
context managers, closing. A backend subclasses them and fills in the hooks, whose names start with an underscore.

Closing is idempotent everywhere and legal in any order. A closed thing refuses to be used, and its memory goes back
when the last program that needs it is closed and its launches are done.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from hipgraph_cb.errors import (
    FailedPreconditionError,
    HipGraphError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
)

if TYPE_CHECKING:
    import os

    import numpy as np
    from numpy.typing import DTypeLike, NDArray
    from typing_extensions import Self

    from hipgraph_cb.executable.kernel_args import KernargLayout, Parameter
    from hipgraph_cb.executable.limits import DeviceLimits
    from hipgraph_cb.executable.target_id import TargetId
    from hipgraph_cb.executable.verify import VerifiedExecutable, VerifiedExport
    from hipgraph_cb.recording.command_buffer import CommandBuffer
    from hipgraph_cb.recording.dependencies import JoinPolicy
    from hipgraph_cb.recording.recording import Recording

logger = logging.getLogger("hipgraph_cb")

DEFAULT_TIMEOUT = 120.0
"""Seconds that a wait may take unless the device or the call says otherwise (P4)."""


class Resource(ABC):
    """Something that is closed once: by `close()`, by leaving `with`, or when the last reference to it goes."""

    kind = "resource"
    label: str | None = None
    _closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        """Give the resource back; calling it again does nothing."""
        if not self._closed:
            self._closed = True
            self._release()

    def __enter__(self) -> Self:
        self.check_open("with")
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        try:
            self.close()
        except HipGraphError as failure:  # must not hide the error that is on its way
            logger.warning("while another error was on its way: %s", failure)

    def check_open(self, action: str) -> None:
        """Raise FailedPreconditionError, naming `action`, if this was closed."""
        if self._closed:
            raise self.closed_error(action)

    def closed_error(self, action: str) -> FailedPreconditionError:
        """What `action` raises when this is closed."""
        return FailedPreconditionError(
            f"{action}: {self.describe()} is closed",
            next_step=f"use the {self.kind} before its close(), or make another one",
        )

    def describe(self) -> str:
        return self.kind if self.label is None else f"{self.kind} `{self.label}`"

    @abstractmethod
    def _release(self) -> None:
        """Called once."""


class _Range(ABC):
    """What buffers and views share: a range of bytes that can be narrowed, written and read."""

    __slots__ = ()

    @property
    @abstractmethod
    def buffer(self) -> Buffer: ...

    @property
    @abstractmethod
    def offset(self) -> int: ...

    @property
    @abstractmethod
    def length(self) -> int: ...

    @property
    def device(self) -> Device:
        return self.buffer.device

    @property
    def address(self) -> int:
        """The device address of the first byte."""
        return self.buffer.address + self.offset

    def view(self, offset: int = 0, length: int | None = None) -> BufferView:
        """A part of this range: `length` bytes from byte `offset` on; without a length, all that is left.

        Raises:
            InvalidArgumentError: an offset or a length that is not a number of bytes.
            OutOfRangeError: the part does not lie within this range.
        """
        self.buffer.check_open("view")
        offset = byte_count(offset, "view", "offset")
        rest = self.length - offset
        length = rest if length is None else byte_count(length, "view", "length")
        if rest < 0 or length > rest:
            raise OutOfRangeError(
                "view: the range lies outside",
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
        self.buffer.check_open("write")
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

    def to_host(self, dtype: DTypeLike = "uint8") -> NDArray[Any]:
        """A one-dimensional host copy, made after the work that was enqueued before.

        Raises:
            InvalidArgumentError: the range is not a whole number of `dtype` elements.
            HipError: work that was enqueued before failed.
            DeadlineExceededError: that work took longer than the device's timeout.
        """
        import numpy

        self.buffer.check_open("to_host")
        element = numpy.dtype(dtype)
        if element.hasobject or element.itemsize == 0 or self.length % element.itemsize:
            raise InvalidArgumentError(
                f"to_host: the range is not a whole number of {element.name} elements",
                where=self._describe_range(),
                found=f"{self.length} bytes",
                allowed=f"a multiple of {element.itemsize} bytes",
                next_step="read a part with .view(offset, length).to_host(...)",
            )
        host = numpy.empty(self.length // element.itemsize, element)
        if self.length:
            self.buffer._read(self.offset, host.view(numpy.uint8))
        return host

    def _describe_range(self) -> str:
        whole = self.offset == 0 and self.length == self.buffer.size
        whole_buffer = self.buffer.describe()
        return whole_buffer if whole else f"bytes {self.offset} to {self.offset + self.length} of {whole_buffer}"


class Buffer(Resource, _Range):
    """Device memory. It is its own whole range, so it stands wherever a view does.

    Attributes:
        size: bytes.
        label: the name that messages and exports show, or None.
    """

    kind = "buffer"

    def __init__(self, device: Device, size: int, address: int, label: str | None = None) -> None:
        self._device = device
        self._size = size
        self._address = address
        self.label = label

    @property
    def device(self) -> Device:
        return self._device

    @property
    def size(self) -> int:
        return self._size

    @property
    def buffer(self) -> Buffer:
        return self

    @property
    def offset(self) -> int:
        return 0

    @property
    def length(self) -> int:
        return self._size

    @property
    def address(self) -> int:
        self.check_open("address")
        return self._address

    def describe(self) -> str:
        return f"{super().describe()} of {self._size} bytes"

    def __repr__(self) -> str:
        return f"<{self.describe()} on {self._device.name}{', closed' if self._closed else ''}>"

    @abstractmethod
    def _write(self, offset: int, host: NDArray[np.uint8]) -> None:
        """Copy `host` to the bytes from `offset` on; the range was checked."""

    @abstractmethod
    def _read(self, offset: int, host: NDArray[np.uint8]) -> None:
        """Fill `host` from the bytes from `offset` on; the range was checked."""


class BufferView(_Range):
    """A part of a buffer; it keeps the buffer alive. Made by `.view()` and `Executable.global_()`."""

    __slots__ = ("_buffer", "_length", "_offset")

    def __init__(self, buffer: Buffer, offset: int, length: int) -> None:
        self._buffer = buffer
        self._offset = offset
        self._length = length

    @property
    def buffer(self) -> Buffer:
        return self._buffer

    @property
    def offset(self) -> int:
        return self._offset

    @property
    def length(self) -> int:
        return self._length

    @property
    def size(self) -> int:
        return self._length

    @property
    def label(self) -> str | None:
        return self._buffer.label

    def __repr__(self) -> str:
        return f"<bytes {self._offset} to {self._offset + self._length} of {self._buffer.describe()}>"


class Export:
    """One kernel of a loaded executable."""

    __slots__ = ("executable", "name", "verified")

    def __init__(self, executable: Executable, verified: VerifiedExport) -> None:
        self.executable = executable
        self.verified = verified
        self.name: str = verified.name

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.verified.parameters

    @property
    def layout(self) -> KernargLayout:
        return self.verified.layout

    @property
    def workgroup_size(self) -> tuple[int, int, int] | None:
        """The size that the code object requires, or None if the dispatch chooses."""
        return self.verified.required_workgroup_size

    def __repr__(self) -> str:
        return f"<kernel {self.name} of {self.executable.describe()}>"


class Executable(Resource):
    """A verified code object, loaded on a device: `executable[name]` is a kernel, iterating gives the names."""

    kind = "executable"

    def __init__(self, device: Device, verified: VerifiedExecutable, label: str | None = None) -> None:
        self._device = device
        self._verified = verified
        self.label = label
        self._exports: dict[str, Export] = {}

    @property
    def device(self) -> Device:
        return self._device

    @property
    def verified(self) -> VerifiedExecutable:
        return self._verified

    @property
    def target(self) -> TargetId:
        return self._verified.target

    def __getitem__(self, name: str) -> Export:
        """The kernel called `name`.

        Raises:
            NotFoundError: there is none, or verification refused this one (the reason is in the message).
        """
        export = self._exports.get(name)
        if export is None:
            export = self._exports[name] = Export(self, self._find(name))
        return export

    def __iter__(self) -> Iterator[str]:
        return iter(self._verified.exports)

    def __len__(self) -> int:
        return len(self._verified.exports)

    def __contains__(self, name: object) -> bool:
        return name in self._verified.exports

    def global_(self, name: str) -> BufferView:
        """The global variable called `name`, as a view of device memory that keeps the executable alive.

        Raises:
            NotFoundError: the code object has no such variable.
        """
        self.check_open("global_")
        buffer = self._global(name)
        return BufferView(buffer, 0, buffer.size)

    def _find(self, name: str) -> VerifiedExport:
        self.check_open("executable[...]")
        verified = self._verified.exports.get(name)
        if verified is not None:
            return verified
        reason = self._verified.refused.get(name)
        if reason is not None:
            raise NotFoundError(
                f"executable[...]: the kernel {name!r} was refused at load",
                where=self.describe(),
                found=str(reason),
                allowed=self._listed(),
            )
        raise NotFoundError(
            "executable[...]: no such kernel", where=self.describe(), found=repr(name), allowed=self._listed()
        )

    def _listed(self) -> str:
        return ", ".join(sorted(self._verified.exports)) or "nothing: no kernel of this code object was accepted"

    @abstractmethod
    def _global(self, name: str) -> Buffer: ...

    def __repr__(self) -> str:
        return f"<{self.describe()} with {len(self)} kernels on {self._device.name}>"


class Stream(Resource):
    """Work in order. Work on different streams has no order between it."""

    kind = "stream"

    @property
    @abstractmethod
    def device(self) -> Device: ...

    @abstractmethod
    def synchronize(self, timeout: float | None = None) -> None:
        """Wait until all work of this stream is done.

        Args:
            timeout: seconds; None takes the device's `timeout`.

        Raises:
            DeadlineExceededError: it was not done in time; the message says what was waited for.
            HipError: the work failed.
        """


class Program(Resource):
    """A recording made ready for one device; replaying it costs one launch."""

    kind = "program"

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.label = recording.label

    @property
    def recording(self) -> Recording:
        return self._recording

    @abstractmethod
    def replay(self, stream: Any = None, bindings: Sequence[Any] | None = None) -> None:
        """Enqueue all commands once.

        Args:
            stream: a Stream of this device, a stream object or address of the runtime, or None for the device's own.
            bindings: what stands in for the slots, one entry for each; None keeps those of the replay before.
        """

    def __repr__(self) -> str:
        return f"<{self.describe()}: {len(self._recording)} commands{', closed' if self._closed else ''}>"


class Device(Resource):
    """A GPU that memory, code objects and recordings are brought to.

    Attributes:
        name, target, limits: what the runtime states.
        is_virtual: whether the kernels run on the CPU.
        timeout: seconds that a wait may take by default; None waits for ever.
    """

    kind = "device"
    backend = ""
    name: str
    target: TargetId
    limits: DeviceLimits
    ordinal: int
    is_virtual: bool
    timeout: float | None = DEFAULT_TIMEOUT

    def allocate(self, size: int, label: str | None = None) -> Buffer:
        """Uninitialised memory of `size` bytes, at least 1.

        Raises:
            InvalidArgumentError: not a positive number of bytes.
            ResourceExhaustedError: the device has not that much left.
        """
        self.check_open("allocate")
        size = byte_count(size, "allocate", "size")
        if size == 0:
            raise InvalidArgumentError("allocate: a buffer needs at least one byte", found="0", allowed="1 or more")
        return self._allocate(size, label)

    def from_host(self, array: object, label: str | None = None) -> Buffer:
        """A new buffer with a copy of host data: anything with the buffer protocol, contiguous in C order."""
        self.check_open("from_host")
        host = host_bytes(array, "from_host")
        buffer = self.allocate(host.nbytes, label)
        try:
            buffer._write(0, host)
        except BaseException:
            buffer.close()
            raise
        return buffer

    def load(self, source: str | os.PathLike[str] | bytes, label: str | None = None) -> Executable:
        """Verify a code object for this device and load it. `source` is a path or the bytes.

        Raises:
            NotFoundError: there is no such file.
            HipGraphError: malformed, or not for this device; see `executable.verify.verify`.
        """
        self.check_open("load")
        data, label = _code_object_bytes(source, label)
        from hipgraph_cb.executable.verify import verify

        return self._load(verify(data, target=self.target, limits=self.limits), label)

    def command_buffer(
        self,
        label: str | None = None,
        binding_capacity: int = 0,
        join: JoinPolicy | str | None = None,
        validate: bool = True,
        hazards: str = "ignore",
    ) -> CommandBuffer:
        """A recorder whose `end()` also makes the program for this device.

        Args:
            label: the name that messages and exports show.
            binding_capacity: how many slots a replay may bind.
            join: what a barrier between two wide layers becomes ("edges", "empty", "kernel", "auto").
            validate: check every command; the rules of the recorder's states stay in force without it.
            hazards: what `end` does about missing barriers: "ignore", "warn", or "raise" for those that are certain.
        """
        from hipgraph_cb.recording.command_buffer import CommandBuffer

        self.check_open("command_buffer")
        policy = self._join_policy(join)
        return CommandBuffer(
            label=label,
            binding_capacity=binding_capacity,
            validate=validate,
            limits=self.limits,
            owner=self,
            hazards=hazards,
            build=lambda recording: self._program(recording, None, policy),
        )

    def program(
        self,
        recording: Recording,
        resources: Mapping[int | str, Any] | None = None,
        join: JoinPolicy | str | None = None,
    ) -> Program:
        """Make a program of a recording; programs of one recording are independent.

        Args:
            recording: from a command buffer or from a file.
            resources: buffers, views and executables by resource id or label, in place of those it was recorded with.
            join: as for `command_buffer`.

        Raises:
            NotFoundError: a resource is missing.
            FailedPreconditionError: a resource is closed or belongs to another device.
        """
        self.check_open("program")
        return self._program(recording, resources, self._join_policy(join))

    def stream(self, label: str | None = None) -> Stream:
        """A new stream."""
        self.check_open("stream")
        return self._stream(label)

    @abstractmethod
    def synchronize(self, timeout: float | None = None) -> None:
        """Wait until the work of every stream of this device is done. Raises what `Stream.synchronize` raises."""

    def fault_report(self) -> str | None:
        """The text of the last fault of a kernel, where the device can tell (a virtual one); else None."""
        return None

    @staticmethod
    def _join_policy(join: JoinPolicy | str | None) -> JoinPolicy:
        from hipgraph_cb.recording.dependencies import JoinPolicy

        if join is None:
            return JoinPolicy.AUTO
        try:
            return JoinPolicy(join)
        except ValueError:
            raise InvalidArgumentError(
                "unknown join policy", found=repr(join), allowed=", ".join(repr(policy.value) for policy in JoinPolicy)
            ) from None

    def __repr__(self) -> str:
        return f"<{self.backend} device {self.ordinal}: {self.name}, {self.target}>"

    def describe(self) -> str:
        return f"{self.backend} device {self.ordinal}"

    @abstractmethod
    def _allocate(self, size: int, label: str | None) -> Buffer: ...

    @abstractmethod
    def _load(self, verified: VerifiedExecutable, label: str | None) -> Executable: ...

    @abstractmethod
    def _program(
        self, recording: Recording, resources: Mapping[int | str, Any] | None, policy: JoinPolicy
    ) -> Program: ...

    @abstractmethod
    def _stream(self, label: str | None) -> Stream: ...


def byte_count(value: object, action: str, name: str) -> int:
    """`value` as a number of bytes.

    Raises:
        InvalidArgumentError: not an integer, or negative.
    """
    if isinstance(value, bool) or not hasattr(value, "__index__") or value.__index__() < 0:
        raise InvalidArgumentError(f"{action}: bad {name}", found=repr(value), allowed="a number of bytes, 0 or more")
    return int(value.__index__())


def host_bytes(array: object, action: str) -> NDArray[np.uint8]:
    """The bytes of host data, without a copy.

    Raises:
        InvalidArgumentError: no buffer protocol, Python objects inside, or not contiguous in C order.
    """
    import numpy

    try:
        data = memoryview(array)  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError):
        raise InvalidArgumentError(
            f"{action}: not host data",
            found=type(array).__name__,
            allowed="bytes, a numpy array, or anything else with the buffer protocol",
            next_step="numpy.asarray(data, dtype=...) makes an array of a list",
        ) from None
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


def _code_object_bytes(source: object, label: str | None) -> tuple[bytes, str | None]:
    from pathlib import Path

    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), label
    try:
        path = Path(source)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidArgumentError(
            "load: not a code object", found=type(source).__name__, allowed="a path or bytes"
        ) from None
    try:
        return path.read_bytes(), path.name if label is None else label
    except FileNotFoundError:
        raise NotFoundError("load: no such file", found=str(path)) from None
    except OSError as error:
        raise NotFoundError("load: the file cannot be read", found=f"{path}: {error.strerror}") from error
