"""What the slots of a command buffer hold, and what they are called, as the calls say it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.recording.validation import check_slot
from hipgraph_cb.visible import visible

if TYPE_CHECKING:
    from hipgraph_cb.recording.recording import Recording
    from hipgraph_cb.recording.resources import Slot


class Declared(NamedTuple):
    """What is known of a slot: the type of its number, None for memory; and its name."""

    type: str | None
    name: str | None


class SlotTable:
    """Slots by index. Every slot is for one thing and has one name.

    Args:
        capacity: slots are below it.
    """

    __slots__ = ("_before", "_declared", "_names", "capacity")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._declared: dict[int, Declared] = {}
        self._names: dict[str, int] = {}
        self._before: list[tuple[int, Declared | None]] = []

    @classmethod
    def of(cls, recording: Recording) -> SlotTable:
        """What a recording says of its slots."""
        slots = cls(recording.binding_capacity)
        used = {index for index, use in enumerate(recording.slots) if use.commands}
        for index in sorted(used | {*recording.slot_names}):
            type = recording.slots[index].type if index in used else None
            slots._declared[index] = Declared(type, recording.slot_names.get(index))
        slots._names = {name: index for index, name in recording.slot_names.items()}
        return slots

    @property
    def names(self) -> dict[int, str]:
        """The names by index, of the slots that have one."""
        return {index: slot.name for index, slot in sorted(self._declared.items()) if slot.name is not None}

    def __len__(self) -> int:
        """How many changes there were, for `truncate`."""
        return len(self._before)

    def enter(self, slot: Slot) -> None:
        """Take what a call says of a slot.

        Raises:
            OutOfRangeError: a slot beyond the binding table.
            InvalidArgumentError: it contradicts an earlier call.
        """
        check_slot(slot.index, self.capacity)
        known = self._declared.get(slot.index)
        self._check(slot, known)
        declared = Declared(slot.type, slot.name or (None if known is None else known.name))
        if declared != known:
            self._before.append((slot.index, known))
            self._declared[slot.index] = declared
            if slot.name is not None:
                self._names[slot.name] = slot.index

    def truncate(self, count: int) -> None:
        """Forget all changes but the first `count`."""
        while len(self._before) > count:
            index, known = self._before.pop()
            name = self._declared.pop(index).name
            if name is not None and (known is None or known.name is None):
                del self._names[name]
            if known is not None:
                self._declared[index] = known

    def _check(self, slot: Slot, known: Declared | None) -> None:
        if known is not None and known.type != slot.type:
            raise InvalidArgumentError(
                f"slot {slot.index} is for two things",
                found=f"{_content(slot.type)}, and before {_content(known.type)}",
                next_step="use a slot for each",
            )
        if slot.name is None:
            return
        if known is not None and known.name not in (None, slot.name):
            raise InvalidArgumentError(
                f"slot {slot.index} has two names",
                found=f"`{visible(slot.name)}`, and before `{visible(known.name or '')}`",
            )
        other = self._names.get(slot.name, slot.index)
        if other != slot.index:
            raise InvalidArgumentError(
                f"two slots are called `{visible(slot.name)}`", found=f"slot {slot.index}, and before slot {other}"
            )


def _content(type: str | None) -> str:
    return "memory" if type is None else f"a number of type {type}"
