"""Opaque handles: numbers that C code holds, and the objects behind them. A number is never used twice."""

from __future__ import annotations

from itertools import count
from typing import Generic, TypeVar

from hipgraph_cb.virtual.callbacks import CallError

Thing = TypeVar("Thing")

_numbers = count(0x1000_0000, 0x10)


class HandleTable(Generic[Thing]):
    """The live handles of one kind; an unknown one is answered with `invalid`; `kind` is for the message."""

    def __init__(self, invalid: int, kind: str = "handle") -> None:
        self._invalid = int(invalid)
        self._kind = kind
        self._things: dict[int, Thing] = {}

    def add(self, thing: Thing) -> int:
        handle = next(_numbers)
        self._things[handle] = thing
        return handle

    def __getitem__(self, handle: int) -> Thing:
        thing = self._things.get(handle)
        if thing is None:
            raise self._unknown(handle)
        return thing

    def __contains__(self, handle: int) -> bool:
        return handle in self._things

    def __len__(self) -> int:
        return len(self._things)

    def get(self, handle: int) -> Thing | None:
        return self._things.get(handle)

    def pop(self, handle: int) -> Thing:
        thing = self._things.pop(handle, None)
        if thing is None:
            raise self._unknown(handle)
        return thing

    def _unknown(self, handle: int) -> CallError:
        return CallError(self._invalid, f"{handle:#x} is not a {self._kind}, or was destroyed")

    def values(self) -> list[Thing]:
        return list(self._things.values())

    def clear(self) -> None:
        self._things.clear()
