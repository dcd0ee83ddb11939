"""What changed between two recordings.

Commands are aligned by content, in two steps. First by what is left when resource ids are taken away, for an id counts
first uses and shifts with every new buffer. The commands that are the same then show which buffer of one recording is
which of the other, and whatever contradicts that is a change too. Labels never count.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from hipgraph_cb.capture.command_fields import NESTED, ComparedField, compared_fields, summary
from hipgraph_cb.recording.categories import names
from hipgraph_cb.recording.commands import type_of
from hipgraph_cb.recording.recording import Recording
from hipgraph_cb.recording.resources import ExecutableEntry

CAREFUL = 2000
"""Up to so many commands on a side the alignment takes no short cuts: its time grows with their square."""

NEAR = 32
RUN = 4
"""A change is over where `RUN` commands are the same again, at most `NEAR` commands further on."""

Pairs = list[tuple[int, int]]


@dataclass(frozen=True)
class Change:
    """A command that is not the same in both recordings.

    Attributes:
        kind: "added", "removed" or "changed".
        before, after: its index in the first and in the second recording.
        command: what it is, in one line.
        details: for a change, what changed, a line each.
    """

    kind: str
    before: int | None
    after: int | None
    command: str
    details: tuple[str, ...] = ()


@dataclass
class Comparison:
    """Everything that differs; empty for recordings that do the same work."""

    commands: list[Change] = field(default_factory=list)
    barriers: list[str] = field(default_factory=list)
    executables: list[str] = field(default_factory=list)
    resources: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs."""
        return not (self.commands or self.barriers or self.executables or self.resources)

    def lines(self) -> Iterator[str]:
        """The differences for people."""
        if self.commands:
            yield "commands"
        for change in self.commands:
            moved = f", was {change.before}" if change.kind == "changed" and change.before != change.after else ""
            index = change.before if change.after is None else change.after
            yield f"  {change.kind} {index}{moved}: {change.command}"
            yield from (f"    {detail}" for detail in change.details)
        for title, rows in (("barriers", self.barriers), ("code", self.executables), ("resources", self.resources)):
            if rows:
                yield title
            yield from (f"  {row}" for row in rows)


def compare(before: Recording, after: Recording) -> Comparison:
    """What a person has to know who knows the first recording."""
    return _Comparer(before, after).result


class _Side(NamedTuple):
    """One of the recordings, with the fields of its commands."""

    recording: Recording
    fields: list[list[ComparedField]]
    kinds: list[Hashable]
    keys: list[Hashable]

    @staticmethod
    def of(recording: Recording) -> _Side:
        rows = [compared_fields(recording, command) for command in recording]
        kinds: list[Hashable] = [(type(command), getattr(command, "export", None)) for command in recording]
        values = [tuple((field.value, field.resource is None) for field in row) for row in rows]
        keys: list[Hashable] = list(zip(kinds, values, strict=True))
        return _Side(recording, rows, kinds, keys)


class _Comparer:
    def __init__(self, before: Recording, after: Recording) -> None:
        self._before, self._after = _Side.of(before), _Side.of(after)
        self._pairs = _align(self._before, self._after)
        self._ids = self._mapped_ids()
        self._nested: dict[tuple[int, int], list[str]] = {}
        self.result = Comparison()
        self._compare_commands()
        self._compare_barriers()
        self._compare_executables()
        self._compare_resources()

    def _mapped_ids(self) -> dict[int, int]:
        """Which resource of the first recording is which of the second: what most pairs of commands say."""
        votes: Counter[tuple[int, int]] = Counter()
        for first, second in self._pairs:
            rows = zip(self._before.fields[first], self._after.fields[second], strict=False)
            for one, other in rows:
                if one.resource is not None and other.resource is not None:
                    votes[one.resource, other.resource] += 1
        ids: dict[int, int] = {}
        taken: set[int] = set()
        for (one_id, other_id), _ in votes.most_common():
            if one_id not in ids and other_id not in taken:
                ids[one_id] = other_id
                taken.add(other_id)
        return ids

    def _compare_commands(self) -> None:
        paired = dict(self._pairs)
        came_from = {second: first for first, second in self._pairs}
        gone = iter(sorted(set(range(len(self._before.keys))) - paired.keys()))
        removed = next(gone, None)
        for second in range(len(self._after.keys)):
            first = came_from.get(second)
            while removed is not None and first is not None and removed < first:
                self._lose(removed)
                removed = next(gone, None)
            if first is None:
                text = summary(self._after.recording, self._after.recording[second])
                self.result.commands.append(Change("added", None, second, text))
            else:
                self._compare_pair(first, second)
        while removed is not None:
            self._lose(removed)
            removed = next(gone, None)

    def _lose(self, index: int) -> None:
        text = summary(self._before.recording, self._before.recording[index])
        self.result.commands.append(Change("removed", index, None, text))

    def _compare_pair(self, first: int, second: int) -> None:
        details = tuple(self._details(self._before.fields[first], self._after.fields[second]))
        if details:
            text = summary(self._after.recording, self._after.recording[second])
            self.result.commands.append(Change("changed", first, second, text, details))

    def _details(self, before: Sequence[ComparedField], after: Sequence[ComparedField]) -> Iterator[str]:
        if len(before) != len(after):
            one, other = ([f"{field.what} = {field.text}" for field in side] for side in (before, after))
            yield from _changed_lines(one, other)
            return
        for first, second in zip(before, after, strict=True):
            if not self._same(first, second):
                yield f"{second.what}: {first.text} -> {second.text}"
            elif second.what == NESTED and first.resource is not None and second.resource is not None:
                yield from self._in_nested(first.resource, second.resource)

    def _same(self, one: ComparedField, other: ComparedField) -> bool:
        if one.value != other.value or (one.resource is None) != (other.resource is None):
            return False
        return one.resource is None or self._ids.get(one.resource) == other.resource

    def _in_nested(self, one: int, other: int) -> list[str]:
        if (one, other) not in self._nested:
            first, second = self._before.recording.resources, self._after.recording.resources
            inside = compare(first.recordings[one].recording, second.recordings[other].recording)
            self._nested[one, other] = list(inside.lines())
        return self._nested[one, other]

    def _compare_barriers(self) -> None:
        before, after = self._before.recording, self._after.recording
        if before.dependencies is None and after.dependencies is None:
            self._compare_layers()
        elif before.dependencies is None or after.dependencies is None:
            words = ["barriers" if side.dependencies is None else "dependencies" for side in (before, after)]
            self.result.barriers.append(f"ordered by {words[0]} -> ordered by {words[1]}")
        else:
            paired = dict(self._pairs)
            kept = set(paired.values())
            for first, second in self._pairs:
                waits = {paired[wait] for wait in before.dependencies[first] if wait in paired}
                now = kept.intersection(after.dependencies[second])
                if waits != now:
                    listing = f"{_listed(waits)} -> {_listed(now)}"
                    self.result.barriers.append(f"{self._after_name(second)} waits for {listing}")

    def _compare_layers(self) -> None:
        starts = [set(side.recording.layer_starts) for side in (self._before, self._after)]
        for (first, second), (next_first, next_second) in pairwise(self._pairs):
            had = not starts[0].isdisjoint(range(first + 1, next_first + 1))
            has = not starts[1].isdisjoint(range(second + 1, next_second + 1))
            if had != has:
                self.result.barriers.append(f"{'added' if has else 'removed'} before {self._after_name(next_second)}")

    def _after_name(self, index: int) -> str:
        return f"command {index}, {summary(self._after.recording, self._after.recording[index])}"

    def _compare_executables(self) -> None:
        before, after = self._before.recording.resources.executables, self._after.recording.resources.executables
        for one, entry in before.items():
            other = after.get(self._ids.get(one, -1))
            if other is not None and other.content_hash != entry.content_hash:
                self.result.executables += self._changed_code(entry, other)

    def _changed_code(self, before: ExecutableEntry, after: ExecutableEntry) -> Iterator[str]:
        old_values, new_values = before.verified.constants, after.verified.constants
        for name in sorted(old_values.keys() | new_values.keys()):
            values = [each[name].hex() if name in each else "none" for each in (old_values, new_values)]
            if values[0] != values[1]:
                yield f"{after.name}: constant {name}, {values[0]} -> {values[1]}"
        if before.verified.source_hash == after.verified.source_hash:
            return
        yield f"{after.name}: other code, {before.verified.source_hash[:16]} -> {after.verified.source_hash[:16]}"
        if before.verified.target != after.verified.target:
            yield f"  target: {before.verified.target} -> {after.verified.target}"
        for kernel in _kernels(self._before.recording, before.id):
            old, now = before.verified.export(kernel), after.verified.exports.get(kernel)
            if now is None:
                yield f"  {kernel}: not there any more"
                continue
            same = old.layout.takes_the_same(now.layout)
            yield f"  {kernel}: {'same' if same else 'other'} signature"
            if not same:
                lines = (layout.signature().splitlines() for layout in (old.layout, now.layout))
                yield from (f"    {line}" for line in _changed_lines(*lines))

    def _compare_resources(self) -> None:
        before, after = self._before.recording, self._after.recording
        if before.binding_capacity != after.binding_capacity:
            self.result.resources.append(f"binding_capacity: {before.binding_capacity} -> {after.binding_capacity}")
        if before.one_shot != after.one_shot:
            self.result.resources.append(f"one_shot: {before.one_shot} -> {after.one_shot}")
        if before.categories != after.categories:
            self.result.resources.append(f"categories: {names(before.categories)} -> {names(after.categories)}")
        for one, entry in before.resources.buffers.items():
            other = after.resources.buffers.get(self._ids.get(one, -1))
            if other is not None and other.size != entry.size:
                self.result.resources.append(f"{other.name}: {entry.size} -> {other.size} bytes")
            if other is not None and other.memory != entry.memory:
                self.result.resources.append(f"{other.name}: {entry.memory} -> {other.memory} memory")
            if other is not None and other.device != entry.device:
                self.result.resources.append(f"{other.name}: device {entry.device} -> {other.device}")


def _kernels(recording: Recording, executable: int) -> list[str]:
    """The kernels of an executable that are dispatched, in the order of their first dispatch."""
    found = {
        command.export: None  # type: ignore[union-attr]
        for command in recording
        if type_of(command).launches_kernel and command.executable == executable  # type: ignore[union-attr]
    }
    return list(found)


def _changed_lines(before: list[str], after: list[str]) -> Iterator[str]:
    return (line for line in difflib.ndiff(before, after) if line[:1] in "+-")


def _listed(indices: set[int]) -> str:
    return ", ".join(map(str, sorted(indices))) or "nothing"


def _align(before: _Side, after: _Side) -> Pairs:
    """Which command became which: those that are the same, then those of one kind between them."""
    last, other_last = len(before.keys), len(after.keys)
    tail: Pairs = []
    while min(last, other_last) > 0 and before.keys[last - 1] == after.keys[other_last - 1]:
        last, other_last = last - 1, other_last - 1
        tail.append((last, other_last))
    pairs: Pairs = []
    first = second = 0
    while True:
        while first < last and second < other_last and before.keys[first] == after.keys[second]:
            pairs.append((first, second))
            first, second = first + 1, second + 1
        same = _next_same(
            before.keys[first : min(first + NEAR + RUN, last)],
            after.keys[second : min(second + NEAR + RUN, other_last)],
        )
        if same is None:
            break
        pairs += _matched(before, after, range(first, first + same[0]), range(second, second + same[1]))
        first, second = first + same[0], second + same[1]
    pairs += _matched(before, after, range(first, last), range(second, other_last))
    return pairs + tail[::-1]


def _next_same(before: Sequence[Hashable], after: Sequence[Hashable]) -> tuple[int, int] | None:
    """Where two sequences that begin differently are the same again for a while: the least that is skipped, or None.

    Between two versions of a recording most changes are few commands long. Skipping them one by one takes time in
    proportion, where `difflib` takes time by how often commands are repeated, and takes one repetition for another.
    """
    for skipped in range(1, 2 * NEAR):
        for one in range(max(0, skipped - NEAR), min(skipped, NEAR) + 1):
            other = skipped - one
            run = before[one : one + RUN]
            if len(run) == RUN and run == after[other : other + RUN]:
                return one, other
    return None


def _matched(before: _Side, after: _Side, first: range, second: range) -> Pairs:
    pairs: Pairs = []
    for tag, start, stop, other_start, other_stop in _opcodes(before.keys, after.keys, first, second):
        if tag == "equal":
            pairs += zip(range(start, stop), range(other_start, other_stop), strict=True)
        elif tag == "replace":
            inside = _opcodes(before.kinds, after.kinds, range(start, stop), range(other_start, other_stop))
            for kind, one, one_stop, other, other_end in inside:
                if kind == "equal":
                    pairs += zip(range(one, one_stop), range(other, other_end), strict=True)
    return pairs


def _opcodes(
    before: Sequence[Hashable], after: Sequence[Hashable], first: range, second: range
) -> Iterator[tuple[str, int, int, int, int]]:
    """What `difflib` says of two stretches, by indices of the whole."""
    one, other = before[first.start : first.stop], after[second.start : second.stop]
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=max(len(one), len(other)) > CAREFUL)
    for tag, start, stop, other_start, other_stop in matcher.get_opcodes():
        yield tag, first.start + start, first.start + stop, second.start + other_start, second.start + other_stop
