"""What a backend offers: devices, programs and streams here, buffers and executables in the modules beside this one.

The classes hold everything that is the same for every backend: checks of arguments, arithmetic of views, context
managers, closing. A backend subclasses them and fills in the hooks, whose names start with an underscore.

Closing is idempotent everywhere and legal in any order. A closed object refuses to be used, and its memory is released
when the last program that needs it is closed and its launches are done.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any

from hipgraph_cb.errors import (
    InvalidArgumentError,
    UnimplementedError,
)
from hipgraph_cb.files import file_path, read_file
from hipgraph_cb.foreign import dlpack_export
from hipgraph_cb.recording.validation import text
from hipgraph_cb.runtime.array_creation import ArrayCreation
from hipgraph_cb.runtime.buffer import Buffer, byte_count, host_bytes
from hipgraph_cb.runtime.calls import Calls
from hipgraph_cb.runtime.executable import Executable
from hipgraph_cb.runtime.host_buffer import HostBuffer
from hipgraph_cb.runtime.options import ProgramOptions

if TYPE_CHECKING:
    from hipgraph_cb.code_object.formats import Support
    from hipgraph_cb.code_object.limits import DeviceLimits
    from hipgraph_cb.code_object.target_id import TargetId
    from hipgraph_cb.code_object.verify import VerifiedExecutable
    from hipgraph_cb.foreign.memory import ForeignMemory
    from hipgraph_cb.recording.categories import CommandCategory
    from hipgraph_cb.recording.command_buffer import CommandBuffer
    from hipgraph_cb.recording.dependencies import JoinPolicy
    from hipgraph_cb.recording.recording import Recording
    from hipgraph_cb.runtime.channel import Rank
    from hipgraph_cb.runtime.event import Event
    from hipgraph_cb.runtime.executable import Export
    from hipgraph_cb.runtime.launch import Launch
    from hipgraph_cb.runtime.program import Program
    from hipgraph_cb.runtime.stream import Stream

DEFAULT_TIMEOUT = 120.0
"""Seconds that a wait may take unless the device or the call says otherwise (P4)."""


class Device(ArrayCreation):
    """A GPU: memory is allocated, code objects are loaded and programs are made here.

    Attributes:
        name, target, limits: what the runtime states.
        is_virtual: whether the kernels run on the CPU.
        timeout: seconds that a wait may take by default; None waits without an end.
        calls: those that make something.
        device_count: GPUs that the runtime shows to this process.
    """

    kind = "device"
    backend = ""
    name: str
    target: TargetId
    limits: DeviceLimits
    ordinal: int
    is_virtual: bool
    timeout: float | None = DEFAULT_TIMEOUT
    device_count = 1

    def __init__(self) -> None:
        self.calls = Calls()

    def allocate(self, size: int, label: str | None = None) -> Buffer:
        """Uninitialised memory of `size` bytes, at least 1.

        Raises:
            InvalidArgumentError: not a positive number of bytes.
            ResourceExhaustedError: the device does not have that much left.
        """
        self._check_open("allocate")
        text(label)
        size = byte_count(size, "allocate", "size")
        if size == 0:
            raise InvalidArgumentError("allocate: a buffer needs at least one byte", found="0", allowed="1 or more")
        dlpack_export.sweep()  # what others have released makes room
        with self._in_call("allocate"):
            return self._allocate(size, label)

    def host_buffer(self, size: int, label: str | None = None) -> HostBuffer:
        """Page-locked memory of the host of `size` bytes, at least 1, which the device reads and writes in place.

        Raises:
            InvalidArgumentError: not a positive number of bytes.
            ResourceExhaustedError: the host does not have that much left.
        """
        self._check_open("host_buffer")
        text(label)
        size = byte_count(size, "host_buffer", "size")
        if size == 0:
            raise InvalidArgumentError("host_buffer: a buffer needs at least one byte", found="0", allowed="1 or more")
        with self._in_call("host_buffer"):
            return self._host_buffer(size, label)

    def from_host(self, array: object, label: str | None = None) -> Buffer:
        """A new buffer with a copy of host data.

        Args:
            array: anything with the buffer protocol, of any shape and element type, contiguous in C order, at least one
                byte. The buffer has its `nbytes`; `asarray` keeps shape and type as well.

        Raises:
            InvalidArgumentError: not host data, not contiguous, or empty.
            ResourceExhaustedError: the device does not have that much left.
        """
        self._check_open("from_host")
        host = host_bytes(array, "from_host")
        buffer = self.allocate(host.nbytes, label)
        try:
            buffer._write(0, host)
        except BaseException:
            buffer.close()
            raise
        return buffer

    def import_buffer(self, memory: object, size: int | None = None, label: str | None = None) -> Buffer:
        """A buffer of device memory that another library owns. It keeps `memory` alive and frees nothing.

        What the producer says is enqueued before is waited for here, so that the data may be used on any stream.

        Args:
            memory: an object with `__dlpack__` on an AMD device or with `__cuda_array_interface__`, such as a tensor of
                PyTorch or an array of CuPy or hip-python; or the address of device memory.
            size: bytes; for an address only.

        Raises:
            InvalidArgumentError: not device memory, not contiguous, read-only, empty, or of another device.
            OutOfRangeError: more bytes than were allocated at an address.
            DeadlineExceededError: the producer's work took longer than the device's timeout.
        """
        return self._imported(memory, size, label)[0]

    def _imported(self, memory: object, size: int | None, label: str | None) -> tuple[Buffer, ForeignMemory]:
        self._check_open("import_buffer")
        text(label)
        if size is not None:
            size = byte_count(size, "import_buffer", "size")
        from hipgraph_cb.foreign.memory import foreign_memory

        foreign = foreign_memory(memory, size, self._import_stream())
        if foreign.device not in (None, self.ordinal):
            raise InvalidArgumentError(
                "import_buffer: the memory belongs to another device",
                where=foreign.name,
                found=f"device {foreign.device}",
                allowed=f"device {self.ordinal}",
            )
        with self._in_call("import_buffer"):
            return self._import(foreign, label), foreign

    @property
    def isas(self) -> frozenset[TargetId]:
        """The instruction sets that the runtime names, generic ones included. HIP names one."""
        return frozenset({self.target})

    def supports(self, source: str | os.PathLike[str] | bytes) -> Support:
        """Whether the device takes a format, and the reason where not; kernels are not looked at.

        Args:
            source: the name of a format, such as "gfx942:xnack-"; or the bytes of a file, or its path (a `Path`).

        Raises:
            InvalidArgumentError: text that begins as a target and is none.
            FileError: the file cannot be read.
        """
        from hipgraph_cb.code_object.formats import support

        return support(source, self.isas)

    def load(
        self,
        source: str | os.PathLike[str] | bytes,
        label: str | None = None,
        *,
        constants: Mapping[str, Any] | None = None,
    ) -> Executable:
        """Verify a code object for this device and load it.

        Args:
            source: a path or the bytes.
            constants: values for its variables, by name, which they have before the first launch. A number takes the
                variable's size; a symbol that the code object leaves undefined needs a value, of bytes or numpy's.

        Raises:
            MissingFileError: there is no such file.
            NotFoundError, InvalidArgumentError, FailedPreconditionError: a constant that the code object does not have,
                that has another size, or that is missing.
            HipGraphError: malformed, or not for this device; see `executable.verify.verify`.
        """
        self._check_open("load")
        text(label)
        data, label = code_object_bytes(source, label)
        from dataclasses import replace

        from hipgraph_cb.code_object.constants import with_constants
        from hipgraph_cb.code_object.verify import verify

        verified = with_constants(verify(data, target=self.target, limits=self.limits), constants)
        with self._in_call("load"):
            # What else the file holds is not kept.
            return self._load(replace(verified, container=None), label)

    def compile(
        self,
        source: str | os.PathLike[str],
        *,
        language: str | None = None,
        options: Sequence[str] = (),
        debug: bool = True,
        label: str | None = None,
        constants: Mapping[str, Any] | None = None,
    ) -> Executable:
        """Compile a kernel source for this device with the machine's compiler, and load it.

        Arguments and errors are those of `hipgraph_cb.compile` and of `load`.
        """
        from hipgraph_cb.compiler.compile import compile

        self._check_open("compile")
        data = compile(source, target=self.target, language=language, options=options, debug=debug)
        if label is None and not (language is not None and isinstance(source, str)):
            label = file_path(source, "compile").name
        return self.load(data, label, constants=constants)

    def command_buffer(
        self,
        label: str | None = None,
        binding_capacity: int = 0,
        join: JoinPolicy | str | None = None,
        validate: bool = True,
        hazards: str = "ignore",
        dependencies: str = "barriers",
        update: str = "exec",
        fill: str = "memset",
        one_shot: bool = False,
        categories: CommandCategory | str = "any",
    ) -> CommandBuffer[Program]:
        """A recorder whose `end()` also makes the program for this device.

        Args:
            label: the name that messages and exports show.
            binding_capacity: how many slots a replay may bind.
            join: what a barrier between two wide layers becomes ("edges", "empty", "kernel", "auto"); None takes what
                the environment variable HIPGRAPH_CB_JOIN says, else "auto".
            validate: check every command; the rules of the recorder's states stay in force without it.
            hazards: what `end` does about missing barriers: "ignore", "warn", or "raise" for those that are certain.
            dependencies: "barriers", or "inferred" from what the commands read and write.
            update: what a replay with other bindings does: "exec" changes the nodes of the executable graph that are
                concerned, "reinstantiate" makes the graph again. Both have the same effect; `exec` costs what changes.
                The HSA backend, which writes packets for each replay, makes no difference.
            fill: what a fill becomes on HIP: "memset", a node of the runtime, or "kernel", a launch of our own, for
                memory that the runtime does not fill. The HSA backend always uses kernels.
            one_shot: whether a program of the recording is replayed once at most; a second replay is refused.
            categories: what may be recorded: "transfer" (fills, updates, copies, discards), "dispatch" (kernels and
                events) or "any". Each call is checked.

        Raises:
            InvalidArgumentError: a policy or a category that does not exist, or a label that is not text.
            OutOfRangeError: more slots than 2^24 - 1.
        """
        from hipgraph_cb.recording.command_buffer import CommandBuffer

        self._check_open("command_buffer")
        options = ProgramOptions.checked(join, update, fill)
        return CommandBuffer(
            label=label,
            binding_capacity=binding_capacity,
            validate=validate,
            limits=self.limits,
            owner=self,
            hazards=hazards,
            dependencies=dependencies,
            one_shot=one_shot,
            categories=categories,
            build=lambda recording: self._make_program(recording, None, options),
        )

    def launch(
        self,
        kernel: Export,
        workgroup_count: int | Sequence[int],
        workgroup_size: int | Sequence[int] | None = None,
        args: Sequence[Any] = (),
        *,
        stream: Any = None,
        dynamic_lds: int = 0,
        label: str | None = None,
    ) -> Launch:
        """Launch one kernel now, without a recording; `kernel(count, size, *args)` is the same.

        Memory, and the code, are kept until it has ended. A command buffer costs less for what runs more than once.

        Args:
            kernel: an `Export` of an executable of this device.
            args: its arguments, in order.
            stream: as for `Program.replay`.
            workgroup_count, workgroup_size, dynamic_lds, label: as for `CommandBuffer.dispatch`.

        Raises:
            InvalidArgumentError, OutOfRangeError, FailedPreconditionError: as `CommandBuffer.dispatch` and `replay`.
        """
        with self.command_buffer(label=label) as recorder:
            recorder.dispatch(kernel, workgroup_count, workgroup_size, args=args, dynamic_lds=dynamic_lds, label=label)
        recorder.replay(stream=stream, mode="stream")
        return self._launched(stream, f"kernel {kernel.name}")

    def program(
        self,
        recording: Recording,
        resources: Mapping[int | str, Any] | None = None,
        join: JoinPolicy | str | None = None,
        update: str = "exec",
        fill: str = "memset",
    ) -> Program:
        """Make a program of a recording; programs of one recording are independent.

        Args:
            recording: from a command buffer or from a file.
            resources: buffers, views and executables by resource id or label, in place of those it was recorded with.
            join, update, fill: as for `command_buffer`.

        Raises:
            NotFoundError: a resource is missing.
            FailedPreconditionError: a resource is closed or belongs to another device.
        """
        self._check_open("program")
        check_program_arguments(recording, resources)
        return self._make_program(recording, resources, ProgramOptions.checked(join, update, fill))

    def event(self, label: str | None = None) -> Event:
        """A new event, not signalled. Recordings signal it, reset it and wait for it; see `CommandBuffer`.

        Raises:
            HipError, HsaError: the runtime refused.
        """
        self._check_open("event")
        text(label)
        with self._in_call("event"):
            return self._event(label)

    def stream(self, label: str | None = None) -> Stream:
        """A new stream.

        Raises:
            HipError, HsaError: the runtime refused.
        """
        self._check_open("stream")
        text(label)
        with self._in_call("stream"):
            return self._stream(label)

    def can_access(self, other: Device) -> bool:
        """Whether kernels of this device may use memory of another one: itself, or a device of the same `DeviceGroup`
        to which the runtime gives peer access."""
        return other is self

    def accepts(self, resource: Any) -> bool:
        """Whether a recording of this device may name a buffer, an executable or an event: its own, and of the others
        in its `DeviceGroup` the events, the host buffers, and the buffers that it can access."""
        return getattr(resource, "device", None) is self

    def _join(self, others: Sequence[Device]) -> None:
        """Become a member of a group with these devices, which are of the same backend."""

    def _connect(self, devices: Sequence[Any], label: str | None) -> Sequence[Rank]:
        """A rank on each of some devices of this backend, of which this is the first."""
        raise UnimplementedError(f"channel: the {self.backend} backend has no collectives")

    @abstractmethod
    def synchronize(self, timeout: float | None = None) -> None:
        """Wait until the work of every stream of this device is done. Raises what `Stream.synchronize` raises."""

    def fault_report(self) -> str | None:
        """The text of the last fault of a kernel, where the device knows it (a virtual one does); else None."""
        return None

    def __repr__(self) -> str:
        return f"<{self.backend} device {self.ordinal}: {self.name}, {self.target}>"

    def describe(self) -> str:
        """What messages call it: its backend and its ordinal."""
        return f"{self.backend} device {self.ordinal}"

    @contextmanager
    def _in_call(self, action: str) -> Iterator[None]:
        """For making something: closing the device waits until it is there."""
        self.calls.append(get_ident())
        try:
            self._check_open(action)
            yield
        finally:
            self.calls.remove(get_ident())

    def _make_program(
        self, recording: Recording, resources: Mapping[int | str, Any] | None, options: ProgramOptions
    ) -> Program:
        with self._in_call("program"):
            return self._program(recording, resources, options)

    @abstractmethod
    def _allocate(self, size: int, label: str | None) -> Buffer: ...

    def _host_buffer(self, size: int, label: str | None) -> HostBuffer:
        raise UnimplementedError(f"host_buffer: the {self.backend} backend has no page-locked memory")

    def _import_stream(self) -> int | None:
        """The stream that a DLPack producer gets, to order its work before it."""
        return None

    def _import(self, memory: ForeignMemory, label: str | None) -> Buffer:
        raise UnimplementedError(f"import_buffer: the {self.backend} backend takes no memory of others")

    @abstractmethod
    def _load(self, verified: VerifiedExecutable, label: str | None) -> Executable: ...

    @abstractmethod
    def _program(
        self, recording: Recording, resources: Mapping[int | str, Any] | None, options: ProgramOptions
    ) -> Program: ...

    def _event(self, label: str | None) -> Event:
        raise UnimplementedError(f"event: the {self.backend} backend has no events", where=self.describe())

    @abstractmethod
    def _launched(self, stream: Any, name: str) -> Launch:
        """What was enqueued on a stream just now."""

    @abstractmethod
    def _stream(self, label: str | None) -> Stream: ...


def code_object_bytes(source: object, label: str | None) -> tuple[bytes, str | None]:
    """The bytes that `load` is given as a path or as they are, and the label that they have then."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), label
    path = file_path(source, "load", "a path or bytes")
    return read_file(path, "load"), path.name if label is None else label


def check_program_arguments(recording: object, resources: object) -> None:
    """Refuse what no program can be made of."""
    from hipgraph_cb.recording.recording import Recording

    if not isinstance(recording, Recording):
        raise InvalidArgumentError(
            "program: not a recording",
            found=type(recording).__name__,
            allowed="a Recording",
            next_step="a command buffer that has ended has one: command_buffer.recording",
        )
    if resources is not None and not isinstance(resources, Mapping):
        raise InvalidArgumentError(
            "program: resources are not a mapping",
            found=type(resources).__name__,
            allowed="a dict of buffers and executables by resource id or label",
        )
