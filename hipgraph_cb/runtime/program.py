"""Programs: recordings made ready for one device."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hipgraph_cb.errors import NoSuchIndexError, OutOfRangeError, UnimplementedError
from hipgraph_cb.recording.profile import Profile
from hipgraph_cb.recording.validation import integer
from hipgraph_cb.runtime.program_command import ProgramCommand
from hipgraph_cb.runtime.resource import Resource

if TYPE_CHECKING:
    from hipgraph_cb.recording.binding_table import Bindings
    from hipgraph_cb.recording.outputs import Check
    from hipgraph_cb.recording.profile import Span
    from hipgraph_cb.recording.recording import Recording
    from hipgraph_cb.runtime.device import Device


class Program(Resource):
    """A recording made ready for one device; replaying it costs one launch."""

    kind = "program"

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.label = recording.label

    @property
    def recording(self) -> Recording:
        """What it was made of, bound to the buffers and executables that it uses."""
        return self._recording

    @property
    @abstractmethod
    def device(self) -> Device:
        """The device that it was made for."""

    @abstractmethod
    def replay(
        self,
        stream: Any = None,
        bindings: Bindings | None = None,
        mode: str = "graph",
        check: Check | None = None,
    ) -> None:
        """Enqueue all commands once.

        Args:
            stream: a Stream of this device, a stream object or address of the runtime, or None for the device's own.
            bindings: what the slots hold: memory, or a number for a slot with a type. A list has one entry for each
                slot. A mapping from indices or names may leave out what stays as in the replay before. None keeps all.
            mode: "graph" launches what was prepared; "stream" launches the same commands call by call, in the order of
                the recording, for comparing.
            check: run layer by layer, wait for each, and look at what its commands wrote: "nan" finds NaN where the
                parameter points to a floating-point type, a callable gets every `recording.outputs.Output` and returns
                None or True for good, False or a text for bad. Slots need `bindings` then.
                "stream" replays, then launches the same commands call by call from the same bytes, and compares what
                the two left: it finds what a rebind did not change, and barriers that are missing.

        Raises:
            CheckFailedError: an output fails the check; the message names the command, and no later layer was run. For
                "stream" the message names the first command whose bytes differ, and the memory is as the calls left it.
        """

    @abstractmethod
    def update(self, recording: Recording) -> None:
        """Let replays from now on run another recording of the same structure; those in flight run what they ran.

        It has as many commands of the same types in the same layers. What is other in them (buffers, numbers, kernels,
        launch shapes, host bytes) is changed in the graph where that can be, else there is a new graph. Slots keep what
        they hold where the new commands can use it, and commands that are switched off stay so.
        `replay(check="stream")` compares the next replay with the same commands launched call by call.

        Raises:
            InvalidArgumentError: another structure, or resources of another device or backend.
            NotFoundError: a recording without live objects, as one that was loaded from a file.
            HipError, HsaError: the runtime refused; the program runs what it ran before.
        """

    def __getitem__(self, index: int) -> ProgramCommand:
        """One command, to be given other arguments or switched off.

        Raises:
            NoSuchIndexError: there is none.
            InvalidArgumentError: not an index.
        """
        self._check_open("program[...]")
        number = index if type(index) is int else integer(index, "index of a command")
        try:
            return ProgramCommand(self, range(len(self._recording))[number])
        except IndexError:
            raise NoSuchIndexError(
                "program[...]: no such command", found=str(number), allowed=f"0 to {len(self._recording) - 1}"
            ) from None

    @abstractmethod
    def _update_command(self, index: int, changes: Mapping[str, Any]) -> None:
        """See `ProgramCommand.update`."""

    @abstractmethod
    def _is_enabled(self, index: int) -> bool:
        """See `ProgramCommand.enabled`."""

    @abstractmethod
    def _set_enabled(self, index: int, value: bool) -> None:
        """See `ProgramCommand.enabled`."""

    def runtime_dot(self) -> str:
        """What the runtime makes of the recording, drawn by the runtime itself; beside `recording.to_dot()`.

        On HIP this is the output of hipGraphDebugDotPrint, a drawing for each graph. With slots in use, replay before.

        Raises:
            UnimplementedError: the backend has no graphs.
            FailedPreconditionError: slots that nothing was bound to yet.
            HipError: the runtime refused.
        """
        raise UnimplementedError(
            "runtime_dot: this backend has no graphs of the runtime",
            where=self.describe(),
            next_step="open the device with backend='hip'",
        )

    def profile(self, repeats: int = 10, bindings: Bindings | None = None) -> Profile:
        """Replay with every command timed, `repeats` times and once before, and wait.

        On HIP the commands are launched call by call with events between them, so those of one layer run one after the
        other; on HSA the times are those of the packets.

        Args:
            bindings: as for `replay`.

        Raises:
            OutOfRangeError: fewer than one repeat.
            HipError, HsaError: the work failed.
        """
        self._check_open("profile")
        count = integer(repeats, "repeats")
        if count == 0:
            raise OutOfRangeError("profile: there is nothing to measure", found="0 repeats", allowed="1 or more")
        self._time_commands(bindings)
        return Profile.of_runs(self._recording, [self._time_commands(None) for _ in range(count)])

    @abstractmethod
    def _time_commands(self, bindings: Bindings | None) -> list[Span]:
        """Replay once, wait, and give for each command when it ran."""

    def __repr__(self) -> str:
        return f"<{self.describe()}: {len(self._recording)} commands{', closed' if self._closed else ''}>"
