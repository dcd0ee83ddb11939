"""The recorder: calls in, a `Recording` out.

States are INITIAL -> RECORDING -> FINAL or FAILED, and each call is legal in one of them (R1). A call that raises
leaves the recording as it was, so the caller may go on. A command buffer records once.

One thread records: the one that called `begin`. The order of commands is their meaning where barriers are concerned,
and two threads have none between them, so calls from another thread are refused. Replays come from any thread.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import get_ident
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from hipgraph_cb.errors import FailedPreconditionError, HipGraphError, InvalidArgumentError, OutOfRangeError
from hipgraph_cb.recording.categories import (
    CommandCategory,
    check_category,
    check_once,
    command_categories,
    refuse_dispatch,
)
from hipgraph_cb.recording.collective_verbs import CollectiveVerbs
from hipgraph_cb.recording.command_table import CommandTable
from hipgraph_cb.recording.commands import Command, ExecuteCommands
from hipgraph_cb.recording.commands.types import categories_of, category_of
from hipgraph_cb.recording.dispatches import DispatchMaker
from hipgraph_cb.recording.event_verbs import EventVerbs
from hipgraph_cb.recording.events import EventStates, refuse_unsignalled
from hipgraph_cb.recording.groups import GroupStack, check_color
from hipgraph_cb.recording.hazard_policy import HazardPolicy, hazard_policy
from hipgraph_cb.recording.host_verbs import HostVerbs
from hipgraph_cb.recording.inference import infer, is_inferred
from hipgraph_cb.recording.order import dependencies_of
from hipgraph_cb.recording.recording import Recording, command_place, with_dependencies
from hipgraph_cb.recording.resource_builder import ResourceBuilder
from hipgraph_cb.recording.row_verbs import RowVerbs
from hipgraph_cb.recording.stages import MemoryAccess, Stage, check_mask
from hipgraph_cb.recording.states import State, refusal
from hipgraph_cb.recording.transfers import Made, RefusedTransfers, TransferMaker
from hipgraph_cb.recording.validation import integer, text, truth

if TYPE_CHECKING:
    from typing_extensions import Self

    from hipgraph_cb.code_object.limits import DeviceLimits
    from hipgraph_cb.recording.binding_table import Bindings
    from hipgraph_cb.recording.resources import ExportLike, RangeLike, Slot
    from hipgraph_cb.recording.transient import Transient


class ProgramLike(Protocol):
    """What a backend makes of a recording."""

    def replay(self, stream: Any = None, bindings: Bindings | None = None, mode: str = "graph") -> None: ...


if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    ProgramType = TypeVarWithDefault("ProgramType", bound=ProgramLike, default=Any)
else:  # a default is for type checkers; `typing` has it from Python 3.13 on
    ProgramType = TypeVar("ProgramType")


class CommandBuffer(EventVerbs, RowVerbs, HostVerbs, CollectiveVerbs, Generic[ProgramType]):
    """Records fills, updates, copies and dispatches, and barriers between them.

    Commands between two barriers may run in any order. Offsets and lengths are bytes. Host data is copied at the
    call, and buffers and executables are kept alive by the recording (R5). With `validate=False` ranges, shapes and
    overlaps are taken on trust; what the arguments are and in which state the call comes is still checked.

    A call that records raises FailedPreconditionError outside `begin` and `end` and on another thread than that of
    `begin`, and when a buffer, view, executable or event is closed or of another device. A call that raises has
    recorded nothing.

    Attributes:
        label: the name that messages and exports show.
        failure: what made the state FAILED, or None.
    """

    def __init__(
        self,
        *,
        label: str | None = None,
        binding_capacity: int = 0,
        validate: bool = True,
        limits: DeviceLimits | None = None,
        owner: object = None,
        hazards: HazardPolicy | str = HazardPolicy.IGNORE,
        dependencies: str = "barriers",
        one_shot: bool = False,
        categories: CommandCategory | str = CommandCategory.ANY,
        build: Callable[[Recording], ProgramType] | None = None,
    ) -> None:
        """
        Args:
            label: a name for messages and exports.
            binding_capacity: entries of the binding table given at replay; slots must lie below it.
            validate: False leaves out the checks of values.
            limits: what the device can run; None checks against the kernel only.
            owner: the device; buffers and executables of another one are refused.
            hazards: what `end` does about missing barriers: "ignore"; "warn" of all of them; or "raise" for those that
                are certain, which is never so where the access of a kernel is not known.
            dependencies: "barriers": commands wait for what stands before a barrier; "inferred": also for every command
                before them that touches the same bytes, one of the two writing, so that no barrier is needed for
                memory that the arguments show. Slots are then to hold memory apart from each other's and from that
                of the other buffers, wherever one is written; a replay checks it.
            one_shot: whether a program of the recording is replayed once at most; a second replay is refused.
            categories: what may be recorded: "transfer", fills, updates, copies and discards; "dispatch", which
                is kernels and events; or "any". Barriers, debug groups and host calls are always taken, and a nested
                recording where what it runs is.
            build: makes a program of the recording at `end`.
        """
        text(label)
        self.label = label
        self.failure: BaseException | None = None
        self._state = State.INITIAL
        self._thread: int | None = None
        self._hazards = hazard_policy(hazards)
        self._inferred = is_inferred(dependencies)
        self._one_shot = truth(one_shot, "one_shot")
        self._categories = command_categories(categories)
        self._build = build
        self._recording: Recording | None = None
        self._program: ProgramType | None = None
        capacity = integer(binding_capacity, "binding_capacity", largest=(1 << 24) - 1)
        self._limits = limits
        self._table = CommandTable()
        self._resources = ResourceBuilder(
            self._table, owner=owner, binding_capacity=capacity, validate=validate, limits=limits
        )
        self._start_over()
        self._barrier_pending = True
        self._events = EventStates()
        self._groups = GroupStack()

    @property
    def state(self) -> State:
        """INITIAL, RECORDING, FINAL or FAILED."""
        return self._state

    @property
    def recording(self) -> Recording:
        """The value; FailedPreconditionError before `end` and after a failure."""
        if self._recording is None or self._state is not State.FINAL:
            raise self._refusal("recording", State.FINAL)
        return self._recording

    @property
    def program(self) -> ProgramType:
        """What `end` built; FailedPreconditionError before, after a failure, and without a device."""
        if self._state is not State.FINAL:
            raise self._refusal("program", State.FINAL)
        if self._program is None:
            raise FailedPreconditionError(
                "program: this command buffer belongs to no device",
                where=self._describe(),
                next_step="make a program with device.program(command_buffer.recording)",
            )
        return self._program

    def begin(self) -> Self:
        """Start recording. Once only: a second recording takes a second command buffer."""
        if self._state is not State.INITIAL:
            raise self._refusal("begin", State.INITIAL)
        self._state = State.RECORDING
        self._thread = get_ident()
        return self

    def end(self) -> None:
        """Finish: make the recording and, with a device, its program.

        Raises:
            FailedPreconditionError: nothing is being recorded; a debug group is open; or a barrier is missing and
                `hazards` is "raise".
            HipGraphError: the program could not be built; the state is FAILED then and `failure` keeps the reason.
        """
        self._require_recording("end")
        try:
            recording = self._make_recording()
            self._hazards.apply(recording)
            program = None if self._build is None else self._build(recording)
        except BaseException as error:
            self._finish(State.FAILED, error)
            raise
        self._recording, self._program = recording, program
        self._finish(State.FINAL, None)

    def __enter__(self) -> Self:
        return self.begin()

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._state is not State.RECORDING:
            return
        if error is None:
            self.end()
        else:
            self._finish(State.FAILED, error)

    def replay(
        self, stream: Any = None, bindings: Bindings | None = None, mode: str = "graph", check: Any = None
    ) -> None:
        """`program.replay(...)`: see `Program.replay`.

        Raises:
            FailedPreconditionError: recording has not ended, or failed, or no device made a program of it.
        """
        watched = {} if check is None else {"check": check}
        self.program.replay(stream=stream, bindings=bindings, mode=mode, **watched)

    def execution_barrier(
        self,
        *,
        source_stages: Stage | None = None,
        target_stages: Stage | None = None,
        source_access: MemoryAccess | None = None,
        target_access: MemoryAccess | None = None,
    ) -> None:
        """Everything recorded after waits for everything recorded before, and sees what it wrote.

        It costs nothing until a command follows (R2).

        Args:
            source_stages, target_stages, source_access, target_access: what would be enough. They are checked; the
                barrier orders all work and all memory whatever they say.

        Raises:
            InvalidArgumentError: a mask of the other kind, or no mask.
            OutOfRangeError: bits that mean nothing.
        """
        if self._thread != get_ident():
            raise self._refusal("execution_barrier", State.RECORDING)
        if not (source_stages is target_stages is None and source_access is target_access is None):
            check_mask(source_stages, Stage, "source_stages")
            check_mask(target_stages, Stage, "target_stages")
            check_mask(source_access, MemoryAccess, "source_access")
            check_mask(target_access, MemoryAccess, "target_access")
        self._barrier_pending = True

    def begin_debug_group(self, label: str, *, color: str | None = None, location: str | None = None) -> None:
        """Name the commands that follow, up to the matching `end_debug_group`; groups nest.

        Args:
            color: `#rrggbb`, for drawings.
            location: the place in a source that the commands are for, such as `layers.py:12`, for drawings and files.

        Raises:
            InvalidArgumentError: no label, a label or location that is no text, or no colour.
        """
        self._require_recording("begin_debug_group")
        if label is None:
            raise InvalidArgumentError("a debug group needs a label", where=self._describe(), allowed="a str")
        text(label)
        text(location)
        check_color(color)
        self._groups.begin(label, len(self._table), color, location)

    def end_debug_group(self) -> None:
        """Close the innermost debug group; FailedPreconditionError when none is open."""
        self._require_recording("end_debug_group")
        try:
            self._groups.end(len(self._table))
        except HipGraphError as error:
            raise error.located(self._describe()) from None

    @contextmanager
    def debug_group(self, label: str, *, color: str | None = None, location: str | None = None) -> Iterator[None]:
        """A debug group round the commands of a `with` block; see `begin_debug_group`."""
        self.begin_debug_group(label, color=color, location=location)
        try:
            yield
        finally:
            if self._state is State.RECORDING:
                self.end_debug_group()

    def push_constants(self, offset: int, values: Any) -> None:
        """Set constants for the dispatches that follow and give neither `args` nor `bindings` nor `constants`.

        Bytes that are not given stay as they were pushed before.

        Args:
            offset: bytes from the start of the 256-byte area.
            values: ints of 32 bits, or host data of any number of bytes.

        Raises:
            InvalidArgumentError: neither.
            OutOfRangeError: bytes beyond the area, or an int of more than 32 bits.
        """
        self._push("push_constants", self._dispatches.pushed_arguments.push_constants, offset, values)

    def push_descriptor_set(self, number: int, bindings: Any) -> None:
        """Set the bindings of one descriptor set for dispatches as `push_constants` does.

        Args:
            number: which set, 0 to 3; a dispatch takes the bindings of all sets in order, and refuses a set with a gap.
            bindings: the whole set, buffers, views, slots or None in order; or `{binding: buffer}`, beside which the
                others keep what was pushed before.

        Raises:
            InvalidArgumentError: neither.
            OutOfRangeError: another set.
            ResourceExhaustedError: more than 16 bindings.
        """
        self._push("push_descriptor_set", self._dispatches.pushed_arguments.push_set, number, bindings)

    def transient(self, size: int, label: str | None = None, device: Any = None) -> Transient:
        """Memory for this recording alone, of `size` bytes, at least 1: it holds what the commands of one replay write
        for each other, and nothing before and after.

        A program allocates all such memory at once. Two buffers share bytes where all commands that use the one are
        ordered behind all that use the other; `Recording.peak_transient_bytes` says how many it takes.

        Args:
            device: of a group, a member or its number; None is the first.

        Raises:
            InvalidArgumentError: not a number of bytes, or not a device of the command buffer.
            OutOfRangeError: less than 1.
        """
        self._require_recording("transient")
        text(label)
        count = integer(size, "size")
        if count == 0:
            raise OutOfRangeError("transient: a buffer needs at least one byte", found="0", allowed="1 or more")
        return self._resources.transient(count, label, self._number_of(device))

    def _number_of(self, device: Any) -> int:
        owner: Any = self._resources.owner
        if device is None or device is owner:
            return 0
        if not hasattr(owner, "number_of"):
            raise InvalidArgumentError(
                "device= names another device than that of the command buffer",
                where=self._describe(),
                found=repr(device),
                allowed="a device of the group whose command buffer it is",
            )
        return int(owner.number_of(device))

    def discard_buffer(self, target: RangeLike | Slot, *, offset: int = 0, length: int | None = None) -> None:
        """Say that these bytes are not needed any more. It is checked, and records nothing.

        Args:
            target: a buffer, a view or a slot.
            offset, length: bytes; None is all that is left.

        Raises:
            InvalidArgumentError: no memory.
            OutOfRangeError: a range outside the target.
        """
        self._record("discard_buffer", self._transfers.discard, None, target, offset, length)

    def fill_buffer(
        self,
        target: RangeLike | Slot,
        pattern: Any,
        *,
        pattern_length: int = 4,
        offset: int = 0,
        length: int | None = None,
        label: str | None = None,
    ) -> None:
        """Write a pattern over and over.

        Args:
            target: a buffer, a view or a slot.
            pattern: an int, which takes `pattern_length` bytes, or bytes, or a NumPy scalar; of 1, 2, 4, 8 or
                16 bytes; or a slot with a type of up to 4 bytes. 8 and 16 that do not repeat a shorter pattern are kept
                as data and limited to 64 MiB.
            offset: where to start in the target; with the target's own offset a multiple of the pattern's length.
            length: bytes, a multiple of the pattern's length; None fills to the end. Zero records nothing.

        Raises:
            InvalidArgumentError: no memory, no pattern, or a range that is not made of whole aligned patterns.
            OutOfRangeError: a range outside the target, or a pattern that does not fit its length.
        """
        if self._thread != get_ident():
            raise self._refusal("fill_buffer", State.RECORDING)
        try:
            made = self._transfers.fill(target, pattern, pattern_length, offset, length, label)
        except BaseException as error:
            self._abandon(label, error)
            raise
        self._append(made, label)

    def update_buffer(self, target: RangeLike | Slot, data: Any, *, offset: int = 0, label: str | None = None) -> None:
        """Write host bytes, which are copied now. No data records nothing.

        Args:
            target: a buffer, a view or a slot.
            data: an object with the buffer protocol; arrays that are not contiguous are put in C order.
            offset: where to start in the target.

        Raises:
            InvalidArgumentError: no memory, or no host data.
            OutOfRangeError: more data than the target has room for.
        """
        self._record("update_buffer", self._transfers.update, label, target, data, offset)

    def copy_buffer(
        self,
        source: RangeLike | Slot,
        target: RangeLike | Slot,
        *,
        source_offset: int = 0,
        target_offset: int = 0,
        length: int | None = None,
        label: str | None = None,
    ) -> None:
        """Copy bytes on the device. A length of zero records nothing.

        Args:
            length: bytes; None takes all of both ranges, which must then be of one length.

        Raises:
            InvalidArgumentError: no memory, different lengths, or ranges of one buffer that overlap.
            OutOfRangeError: a range outside its buffer.
        """
        if self._thread != get_ident():
            raise self._refusal("copy_buffer", State.RECORDING)
        try:
            made = self._transfers.copy(source, target, source_offset, target_offset, length, label)
        except BaseException as error:
            self._abandon(label, error)
            raise
        self._append(made, label)

    def dispatch(
        self,
        export: ExportLike,
        workgroup_count: int | Slot | Sequence[int | Slot],
        workgroup_size: int | Sequence[int] | None = None,
        *,
        args: Sequence[Any] | None = None,
        bindings: Sequence[Any] | None = None,
        constants: Sequence[int | Slot] | None = None,
        dynamic_lds: int | Slot = 0,
        reads: Sequence[RangeLike | Slot] | None = None,
        writes: Sequence[RangeLike | Slot] | None = None,
        cooperative: bool = False,
        priority: int = 0,
        label: str | None = None,
    ) -> None:
        """Launch a kernel. A count of zero in any dimension records nothing, whatever the arguments are.

        Numbers may be slots with a type: counts, arguments by value, constants, the amount of LDS. They are given at
        replay, where a count of zero launches nothing.

        Args:
            export: the kernel.
            workgroup_count: workgroups, an int or up to three.
            workgroup_size: work-items per workgroup, an int or up to three; None takes what the code object requires.
            args: the kernel's own arguments, in order; memory as buffers, views or slots.
            bindings: instead of `args`: what the kernel's pointers are, in order.
            constants: with `bindings`: the 32-bit words of its values, in order. Without any of the three, what was
                pushed is taken.
            dynamic_lds: bytes of LDS beyond what the kernel declares.
            reads, writes: memory that the kernel reads and writes, for `Recording.hazards`: arguments whose access the
                metadata does not state, and memory that is reached by other ways than an argument.
            cooperative: all workgroups are resident at once, so that they may wait for each other. A program refuses
                more of them than fit; the HSA backend refuses it altogether.
            priority: a hint where several kernels are ready: lower numbers go first, as HIP counts. On HSA, where
                queues have priorities and packets have none, it changes nothing.

        Raises:
            InvalidArgumentError: no kernel, arguments that its metadata does not describe, a size it does not take.
            OutOfRangeError: a workgroup, a grid or an amount of LDS beyond the kernel's or the device's limits.
        """
        if self._thread != get_ident():
            raise self._refusal("dispatch", State.RECORDING)
        try:
            made = self._make_dispatch(
                export,
                workgroup_count,
                workgroup_size,
                args,
                bindings,
                constants,
                dynamic_lds,
                reads,
                writes,
                label,
            )
            if made is not None and (cooperative is not False or priority != 0):
                made = self._dispatches.with_options(made, cooperative, priority)
        except BaseException as error:
            self._abandon(label, error)
            raise
        if made is None:
            self._resources.rollback()
            return
        # What `_append` does, without the call: dispatches come by the thousand.
        if self._barrier_pending:
            self._layer_starts.append(len(self._rows))
            self._barrier_pending = False
        if label is not None:
            self._table.labels[len(self._rows)] = label
        self._rows.append(made[0])
        self._arena += made[1]

    def dispatch_indirect(
        self,
        export: ExportLike,
        workgroup_count: RangeLike | Slot,
        workgroup_size: int | Sequence[int] | None = None,
        *,
        args: Sequence[Any] | None = None,
        bindings: Sequence[Any] | None = None,
        constants: Sequence[int | Slot] | None = None,
        dynamic_lds: int | Slot = 0,
        reads: Sequence[RangeLike | Slot] | None = None,
        writes: Sequence[RangeLike | Slot] | None = None,
        label: str | None = None,
    ) -> None:
        """Launch a kernel in as many workgroups as device memory says when its turn comes.

        Args:
            workgroup_count: memory whose first 12 bytes are the counts in x, y, z as 32-bit numbers. They are read
                after everything that this command waits for; with a zero among them nothing is launched.

        The other arguments are those of `dispatch`.

        Raises:
            InvalidArgumentError: as `dispatch`; counts at an offset that is no multiple of 4.
            OutOfRangeError: as `dispatch`; fewer than 12 bytes. The counts themselves are checked at replay.
        """
        self._record_whole(
            "dispatch_indirect",
            label,
            self._dispatches.make_indirect,
            export,
            workgroup_count,
            workgroup_size,
            args,
            bindings,
            constants,
            dynamic_lds,
            reads,
            writes,
        )

    def _push(self, verb: str, push: Callable[[Any, Any], None], where: Any, values: Any) -> None:
        """Change what is pushed, all of it or, after an error, nothing."""
        self._require_recording(verb)
        try:
            push(where, values)
        except HipGraphError as error:
            raise error.located(f"{verb} before {self._next_place(None)}") from None

    def _record(self, verb: str, make: Callable[..., Made | None], label: str | None, *arguments: object) -> None:
        """Make a command from the arguments, and add it."""
        if self._thread != get_ident():
            raise self._refusal(verb, State.RECORDING)
        try:
            made = make(*arguments, label)
        except BaseException as error:
            self._abandon(label, error)
            raise
        self._append(made, label)

    def _record_whole(
        self, verb: str, label: str | None, make: Callable[..., Command | None], *arguments: object
    ) -> Command | None:
        """As `_record`, for a command that is made as a value; returns it."""
        self._require_recording(verb)
        try:
            check_category(verb, category_of(verb), self._categories)
            command = make(*arguments, label)
            made = None if command is None else self._table.split(command)
        except BaseException as error:
            self._abandon(label, error)
            raise
        self._append(made, label)
        return command

    def _record_value(
        self, verb: str, label: str | None, make: Callable[..., Command | None], *arguments: object
    ) -> None:
        """As `_record_whole`, for what is made from resources."""
        self._record_whole(verb, label, make, self._resources, *arguments)

    def _record_event(
        self, verb: str, label: str | None, make: Callable[..., Command | None], *arguments: object
    ) -> None:
        """As `_record_whole`, for commands that signal, reset or wait, themselves or within a nested recording."""
        resources = self._resources
        nested: list[Recording | None] = [None]

        def checked() -> Command | None:
            command = make(resources, *arguments, label)
            if isinstance(command, ExecuteCommands):
                nested[0] = resources.nested(command.recording)
            if nested[0] is not None:
                self._check_nested(nested[0], verb)
            if command is not None:
                refuse_unsignalled(resources, self._events.unsignalled(command, nested[0]), verb)
            return command

        command = self._record_whole(verb, label, lambda _label: checked())
        if command is not None:
            self._events.enter(command, nested[0])

    def _check_nested(self, nested: Recording, verb: str) -> None:
        """Refuse a recording that holds what this one does not, or runs once where this one runs several times."""
        if self._categories is not CommandCategory.ANY:
            check_category(verb, categories_of(nested), self._categories)
        check_once(nested, self._one_shot, verb)

    def _abandon(self, label: str | None, error: BaseException) -> None:
        """Leave no trace of a call that raised (R1), and say in the error which command it was."""
        self._resources.rollback()
        if isinstance(error, HipGraphError):
            error.located(self._next_place(label))

    def _next_place(self, label: str | None) -> str:
        return command_place(len(self._table), label, self._groups.path, self.label)

    def _append(self, made: Made | None, label: str | None) -> None:
        """Add a command; one that does nothing leaves no trace either (R4)."""
        if made is None:
            self._resources.rollback()
            return
        if self._barrier_pending:
            self._layer_starts.append(len(self._rows))
            self._barrier_pending = False
        if label is not None:
            self._table.labels[len(self._rows)] = label
        form, block = made
        self._rows.append(form)
        self._arena += block

    def _make_recording(self) -> Recording:
        recording = Recording(
            self._table,
            layer_starts=self._layer_starts,
            resources=self._resources.table(),
            binding_capacity=self._resources.binding_capacity,
            label=self.label,
            groups=self._groups.finish(),
            slot_names=self._resources.slots.names,
            one_shot=self._one_shot,
            categories=self._categories,
        )
        if self._inferred:
            return with_dependencies(recording, infer(recording))
        if recording.resources.events:
            return with_dependencies(recording, dependencies_of(recording, None))
        return recording

    def _finish(self, state: State, failure: BaseException | None) -> None:
        self._state, self.failure = state, failure
        self._thread = None
        self._table = CommandTable()
        self._resources = ResourceBuilder(self._table)
        self._start_over()
        self._events = EventStates()

    def _start_over(self) -> None:
        """With a table that is empty."""
        self._layer_starts: array[int] = array("Q")
        self._rows, self._arena = self._table.rows, self._table.arena
        self._dispatches = DispatchMaker(self._resources, self._table, self._limits)
        self._make_dispatch: Callable[..., Made | None] = self._dispatches.make
        self._transfers = TransferMaker(self._resources, self._table)
        # Those that are not taken are refused by makers of their own, so that nothing is asked for each command.
        if not self._categories & CommandCategory.DISPATCH:
            self._make_dispatch = refuse_dispatch
        if not self._categories & CommandCategory.TRANSFER:
            self._transfers = RefusedTransfers(self._resources, self._table)

    def _require_recording(self, verb: str) -> None:
        if self._thread != get_ident():
            raise self._refusal(verb, State.RECORDING)

    def _refusal(self, verb: str, wanted: State) -> FailedPreconditionError:
        return refusal(verb, self._state, wanted, self.failure, self._describe())

    def __repr__(self) -> str:
        count = len(self._table if self._recording is None else self._recording)
        return f"<{self._describe()}: {self._state.name}, {count} commands>"

    def _describe(self) -> str:
        return "a command buffer" if self.label is None else f"command buffer {self.label!r}"
