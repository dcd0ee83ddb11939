"""Makes a recording of a journal: the same commands, with what each waited for, over buffers for the memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hipgraph_cb.code_object.kernel_args import ParameterKind
from hipgraph_cb.code_object.verify import VerifiedExecutable, VerifiedExport, inspect
from hipgraph_cb.errors import FailedPreconditionError, HipGraphError, UnimplementedError
from hipgraph_cb.journal import notes
from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.recording import Recording, with_dependencies

if TYPE_CHECKING:
    from hipgraph_cb.code_object.kernel_args import Parameter

MOST_REASONS = 5
"""How many things that are lost an error names."""


@dataclass(eq=False)
class NotedBuffer:
    """Memory of the program, as the recorder takes a buffer."""

    size: int
    label: str
    kind: str = field(default="buffer", init=False)
    closed: bool = field(default=False, init=False)
    offset: int = field(default=0, init=False)

    @property
    def buffer(self) -> NotedBuffer:
        return self

    @property
    def length(self) -> int:
        return self.size


@dataclass
class NotedRange:
    """A part of such memory."""

    buffer: NotedBuffer
    offset: int
    length: int


@dataclass(eq=False)
class NotedExecutable:
    """A code object of the program."""

    verified: VerifiedExecutable
    label: str
    kind: str = field(default="executable", init=False)
    closed: bool = field(default=False, init=False)


@dataclass(frozen=True)
class NotedExport:
    """A kernel of it."""

    executable: NotedExecutable
    verified: VerifiedExport
    name: str


class Assembly:
    """A recording and the contents of its buffers, from notes.

    Attributes:
        recording: the commands.
        contents, expected: bytes by resource id, as `Recording.save` takes them.
    """

    def __init__(self, found: Iterable[notes.Note], label: str) -> None:
        self._memory: dict[int, NotedBuffer] = {}
        self._codes: dict[int, NotedExecutable] = {}
        self._exports: dict[tuple[int, str], NotedExport] = {}
        self._contents: list[tuple[NotedBuffer, bytes]] = []
        self._expected: list[tuple[NotedBuffer, bytes]] = []
        self._waits: list[notes.Waits] = []
        self._reads = 0
        self._ranges: tuple[str, ...] = ()
        self._buffer: CommandBuffer[Any] = CommandBuffer(label=label)
        self._buffer.begin()
        lost = [why for note in found if (why := self._take(note)) is not None]
        if lost:
            raise _lost(lost)
        if not self._waits:
            raise FailedPreconditionError(
                "record: the program has launched, copied and filled nothing", next_step="run it with a GPU in use"
            )
        self._enter(())
        self._buffer.end()
        self.recording: Recording = with_dependencies(self._buffer.recording, tuple(self._waits))
        ids = {id(value): number for number, value in self.recording.resources.bound.items()}
        self.contents = {ids[id(buffer)]: data for buffer, data in self._contents if id(buffer) in ids}
        self.expected = {ids[id(buffer)]: data for buffer, data in self._expected if id(buffer) in ids}

    def save(self, path: Path) -> None:
        """Write a capture file. Raises what `Recording.save` raises."""
        self.recording.save(path, contents=self.contents, expected=self.expected)

    def _take(self, note: Any) -> str | None:
        """Record a note; returns why it is lost, if it is."""
        if isinstance(note, notes.Lost):
            return note.what
        if isinstance(note, notes.Memory):
            buffer = self._memory[note.number] = NotedBuffer(note.size, note.label)
            if note.contents is not None:
                self._contents.append((buffer, note.contents))
        elif isinstance(note, notes.Code):
            self._codes[note.number] = NotedExecutable(inspect(note.data), f"code object {note.number}")
        elif isinstance(note, notes.Ranges):
            self._enter(note.labels)
        elif isinstance(note, notes.Final):
            self._expected.append((self._memory[note.memory], note.contents))
        else:
            try:
                self._record(note)
            except HipGraphError as error:
                return f"command {len(self._waits)}: {error}".replace("\n", "; ")
            finally:
                self._waits.append(note.waits)
        return None

    def _enter(self, labels: tuple[str, ...]) -> None:
        """Let ranges be debug groups: close those that ended, and open those that began."""
        kept = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(self._ranges, labels, strict=False)))
        for _ in self._ranges[kept:]:
            self._buffer.end_debug_group()
        for label in labels[kept:]:
            self._buffer.begin_debug_group(label)
        self._ranges = labels

    def _record(self, note: notes.Dispatch | notes.Update | notes.Copy | notes.Fill | notes.Read) -> None:
        if isinstance(note, notes.Dispatch):
            self._dispatch(note)
        elif isinstance(note, notes.Update):
            self._buffer.update_buffer(self._memory[note.memory], note.data, offset=note.offset)
        elif isinstance(note, notes.Copy):
            self._copy(note)
        elif isinstance(note, notes.Fill):
            self._fill(note)
        else:
            self._read(note)

    def _dispatch(self, note: notes.Dispatch) -> None:
        export = self._export(note)
        arguments = [self._argument(each, note) for each in export.verified.layout.parameters]
        self._buffer.dispatch(export, note.workgroups, note.size, args=arguments, dynamic_lds=note.dynamic_lds)

    def _export(self, note: notes.Dispatch) -> NotedExport:
        key = note.code, note.kernel
        if key not in self._exports:
            executable = self._codes[note.code]
            self._exports[key] = NotedExport(executable, executable.verified.exports[note.kernel], note.kernel)
        return self._exports[key]

    def _argument(self, parameter: Parameter, note: notes.Dispatch) -> Any:
        if parameter.offset in note.pointers:
            memory, offset = note.pointers[parameter.offset]
            buffer = self._memory[memory]
            return NotedRange(buffer, offset, buffer.size - offset)
        data = note.block[parameter.offset : parameter.offset + parameter.size]
        if parameter.kind is ParameterKind.POINTER:
            return None
        return int.from_bytes(data, "little") if parameter.kind is ParameterKind.DYNAMIC_LDS else data

    def _copy(self, note: notes.Copy) -> None:
        source, target = self._memory[note.source], self._memory[note.target]
        if note.height == 1:
            self._buffer.copy_buffer(
                source,
                target,
                source_offset=note.source_offset,
                target_offset=note.target_offset,
                length=note.width,
            )
            return
        self._buffer.copy_buffer_2d(
            source,
            target,
            width=note.width,
            height=note.height,
            source_pitch=note.source_pitch,
            target_pitch=note.target_pitch,
            source_offset=note.source_offset,
            target_offset=note.target_offset,
        )

    def _fill(self, note: notes.Fill) -> None:
        target, length = self._memory[note.memory], len(note.pattern)
        if note.height == 1:
            self._buffer.fill_buffer(target, note.pattern, pattern_length=length, offset=note.offset, length=note.width)
            return
        self._buffer.fill_buffer_2d(
            target,
            note.pattern,
            pattern_length=length,
            width=note.width,
            height=note.height,
            pitch=note.pitch,
            offset=note.offset,
        )

    def _read(self, note: notes.Read) -> None:
        """What the program has read becomes a buffer of its own, and its bytes what a replay should leave there."""
        self._reads += 1
        target = NotedBuffer(len(note.data), f"read {self._reads}")
        self._buffer.copy_buffer(self._memory[note.memory], target, source_offset=note.offset, length=len(note.data))
        self._expected.append((target, note.data))


def _lost(lost: list[str]) -> UnimplementedError:
    more = len(lost) - MOST_REASONS
    shown = [*lost[:MOST_REASONS], *([f"and {more} more"] if more > 0 else [])]
    return UnimplementedError(
        "record: the program does what a recording cannot keep",
        found=f"{len(lost)} thing{'' if len(lost) == 1 else 's'}",
        next_step="record another stretch of it: --from and --count",
        detail="\n".join(f"  {each}" for each in shown),
    )
