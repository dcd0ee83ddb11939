"""A group of devices: GPUs of one process that use each other's memory and take part in one recording."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any

from hipgraph_cb.errors import FailedPreconditionError, HipGraphError, InvalidArgumentError, NoSuchIndexError
from hipgraph_cb.group.agreement import check_runs_on_all
from hipgraph_cb.group.executable import GroupExecutable
from hipgraph_cb.group.members import Members, member, members_of
from hipgraph_cb.group.stream import GroupStream
from hipgraph_cb.recording.validation import text
from hipgraph_cb.runtime.channel import Channel
from hipgraph_cb.runtime.device import check_program_arguments, code_object_bytes
from hipgraph_cb.runtime.options import ProgramOptions
from hipgraph_cb.runtime.resource import Resource

if TYPE_CHECKING:
    from hipgraph_cb.group.program import GroupProgram
    from hipgraph_cb.recording.command_buffer import CommandBuffer
    from hipgraph_cb.recording.dependencies import JoinPolicy
    from hipgraph_cb.recording.recording import Recording
    from hipgraph_cb.runtime.device import Device


class DeviceGroup(Resource, Sequence["Device"]):
    """Devices by number: `group[0]` is the first. Each is a device like any other; closing the group closes them all.

    Members reach each other's memory where the runtime has peer access between them (`Device.can_access`); then their
    recordings may name it. Executables are loaded for some members or all.

    Args:
        devices: of one backend, each another GPU; the group is their owner.
    """

    kind = "device group"

    def __init__(self, devices: Sequence[Device]) -> None:
        self._devices = tuple(devices)
        for device in self._devices:
            device._join([other for other in self._devices if other is not device])
        self._own_streams = GroupStream(self._devices, [None] * len(self._devices), None)
        self._lock = threading.Lock()
        self._replaying_thread = 0

    def __len__(self) -> int:
        return len(self._devices)

    def __iter__(self) -> Iterator[Device]:
        return iter(self._devices)

    def __getitem__(self, number: Any) -> Any:
        """One device by its number, or several by a slice.

        Raises:
            NoSuchIndexError: the group has no member with this number.
        """
        try:
            return self._devices[number]
        except IndexError:
            raise NoSuchIndexError(
                "group[...]: no such member", found=str(number), allowed=f"0 to {len(self) - 1}"
            ) from None
        except TypeError:
            raise InvalidArgumentError(
                "group[...]: not a number", found=type(number).__name__, allowed="a whole number or a slice"
            ) from None

    @property
    def backend(self) -> str:
        """ "hip" or "hsa"."""
        return self._devices[0].backend

    @property
    def is_virtual(self) -> bool:
        """Whether the kernels run on the CPU."""
        return self._devices[0].is_virtual

    def number_of(self, device: int | Device) -> int:
        """The number of a member, which may be given instead.

        Raises:
            InvalidArgumentError: a device that is no member.
            OutOfRangeError: a number that no member has.
        """
        for number, each in enumerate(self._devices):
            if each is device:
                return number
        if hasattr(device, "ordinal"):
            raise InvalidArgumentError("not a device of this group", found=repr(device), allowed=repr(self))
        return member(device, len(self), "device")

    def accepts(self, resource: Any) -> bool:
        """Whether a recording of the group may name a buffer, an executable or an event."""
        device = getattr(resource, "device", None)
        return any(device is each for each in self._devices)

    def load(
        self,
        source: str | os.PathLike[str] | bytes,
        devices: Members = None,
        label: str | None = None,
        **options: Any,
    ) -> GroupExecutable:
        """Verify a code object for some devices and load it on each; of a fat binary each gets what suits it best.

        Args:
            source: a path or the bytes.
            devices: a mask, bit i for member i, of which those that the group has count; or a list of numbers; None
                is every member.
            options: as `Device.load` takes them.

        Raises:
            IncompatibleError: it does not run on all of them: which, with what instruction set, and what differs.
                Nothing was loaded.
            InvalidArgumentError, OutOfRangeError: no such members.
            The errors of `Device.load`. What was loaded before one is released.
        """
        self._check_open("load")
        text(label)
        numbers = members_of(devices, len(self), "load: devices")
        data, label = code_object_bytes(source, label)
        check_runs_on_all(data, [(number, self._devices[number]) for number in numbers])
        with ExitStack() as loaded:
            executables = {
                number: loaded.enter_context(self._devices[number].load(data, label, **options)) for number in numbers
            }
            loaded.pop_all()
        return GroupExecutable(self, executables, label)

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
    ) -> CommandBuffer[GroupProgram]:
        """A recorder whose commands run on the devices of their code and memory; see `docs/devices.md`.

        Args:
            All of them are those of `Device.command_buffer`.
        """
        from hipgraph_cb.recording.command_buffer import CommandBuffer

        self._check_open("command_buffer")
        options = ProgramOptions.checked(join, update, fill)
        return CommandBuffer(
            label=label,
            binding_capacity=binding_capacity,
            validate=validate,
            owner=self,
            hazards=hazards,
            dependencies=dependencies,
            build=lambda recording: self._make_program(recording, None, options),
        )

    def program(
        self,
        recording: Recording,
        resources: Mapping[int | str, Any] | None = None,
        join: JoinPolicy | str | None = None,
        update: str = "exec",
        fill: str = "memset",
    ) -> GroupProgram:
        """Make a program of a recording for the group, whose numbers of devices mean its members.

        Arguments and errors are those of `Device.program`.
        """
        self._check_open("program")
        check_program_arguments(recording, resources)
        return self._make_program(recording, resources, ProgramOptions.checked(join, update, fill))

    def stream(self, label: str | None = None) -> GroupStream:
        """A new stream of every device. Raises what `Device.stream` raises."""
        self._check_open("stream")
        text(label)
        with ExitStack() as made:
            streams = [made.enter_context(device.stream(label)) for device in self._devices]
            made.pop_all()
        return GroupStream(self._devices, streams, label)

    def channel(self, ranks: Members = None, label: str | None = None) -> Channel:
        """Connect some devices for collectives (`CommandBuffer.collective`): rank 0 is the first of them.

        All ranks are in this process: one thread may record and replay for all, or each has a thread of its own. Ranks
        in several processes are not connected.

        Args:
            ranks: a mask or a list of numbers of members, as `load` takes them; None is every member.

        Raises:
            UnavailableError: on HIP RCCL is missing; on HSA there are no kernels for a device, or one does not reach
                the memory of another one.
            RcclError, HipError, HsaError: the runtime refused; nothing is left behind.
            InvalidArgumentError, OutOfRangeError: no such members.
        """
        self._check_open("channel")
        text(label)
        members = [self._devices[number] for number in members_of(ranks, len(self), "channel: ranks")]
        return Channel(members[0]._connect(members, label), label)

    def synchronize(self, timeout: float | None = None) -> None:
        """Wait until the work of every device is done. Raises what `Device.synchronize` raises, after all waits."""
        self._check_open("synchronize")
        failure: HipGraphError | None = None
        for device in self._devices:
            try:
                device.synchronize(timeout)
            except HipGraphError as error:
                failure = failure or error
        if failure is not None:
            raise failure

    def close(self) -> None:
        """Wait for all work, then close every device.

        Raises:
            DeadlineExceededError: work was not done in time; that device stays open, and so does the group.
            HipError, HsaError: work failed that no call had waited for; everything is closed nevertheless.
        """
        if self._closed:
            return
        failure: HipGraphError | None = None
        for device in self._devices:
            try:
                device.close()
            except HipGraphError as error:
                failure = failure or error
        if all(device.closed for device in self._devices):
            super().close()
        if failure is not None:
            raise failure

    def _release(self) -> None:
        """The devices are closed already."""

    def _make_program(
        self, recording: Recording, resources: Mapping[int | str, Any] | None, options: ProgramOptions
    ) -> GroupProgram:
        from hipgraph_cb.group.program import GroupProgram

        return GroupProgram(self, recording, resources, options)

    def _lanes(self, stream: Any) -> GroupStream:
        """The stream that a replay is on."""
        if stream is None:
            return self._own_streams
        if isinstance(stream, GroupStream) and stream.devices == self._devices:
            return stream
        raise InvalidArgumentError(
            "replay: not a stream of the group",
            found=type(stream).__name__,
            allowed="group.stream(), or None for the devices' own",
        )

    @contextmanager
    def _replaying(self, action: str) -> Iterator[None]:
        """For launching on several devices: no other replay of the group comes between.

        Raises:
            FailedPreconditionError: this very thread is in the middle of one.
        """
        if self._replaying_thread == get_ident():
            raise FailedPreconditionError(
                f"{action}: this thread is in the middle of a replay",
                where=self.describe(),
                found="a call by a finalizer or signal handler, which interrupts the one that it would wait for",
                next_step="let the finalizer or handler note what is to be done, and do it after the replay",
            )
        with self._lock:
            self._replaying_thread = get_ident()
            try:
                yield
            finally:
                self._replaying_thread = 0

    def describe(self) -> str:
        return f"device group of {len(self)} {self.backend} device{'' if len(self) == 1 else 's'}"

    def __repr__(self) -> str:
        return f"<{self.describe()}: {', '.join(str(device.target) for device in self._devices)}>"
