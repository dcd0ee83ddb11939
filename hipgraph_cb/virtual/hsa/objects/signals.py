"""Signals in memory, and who waits for them."""

from __future__ import annotations

import ctypes
import operator
from collections import deque
from collections.abc import Callable
from itertools import islice

from hipgraph_cb.abi.hsa.status import Status
from hipgraph_cb.abi.hsa.structures import SIGNAL_USER, AmdSignal
from hipgraph_cb.virtual.callbacks import CallError
from hipgraph_cb.virtual.hsa.objects.atomics import SIGNAL_VALUE, atomic
from hipgraph_cb.virtual.memory import Memory, OutOfMemory

CONDITIONS: tuple[Callable[[int, int], bool], ...] = (operator.eq, operator.ne, operator.lt, operator.ge)
"""By hsa_signal_condition_t."""

_SLAB = 64
_SIZE = ctypes.sizeof(AmdSignal)


class Signals:
    """All live signals. They are in device memory, in slabs, so kernels can reach them; a slot is reused late."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._live: set[int] = set()
        self._free: deque[int] = deque()
        self._slabs: list[int] = []
        self._decrement = atomic("add")

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, handle: int) -> bool:
        return handle in self._live

    def create(self, value: int, kind: int = SIGNAL_USER, queue: int = 0) -> int:
        if not self._free:
            try:
                slab = self._memory.allocate(_SLAB * _SIZE, alignment=4096, label="HSA signals")
            except OutOfMemory as error:
                raise CallError(Status.OUT_OF_RESOURCES, str(error)) from error
            self._slabs.append(slab)
            self._free.extend(range(slab, slab + _SLAB * _SIZE, _SIZE))
        handle = self._free.popleft()
        signal = AmdSignal(kind=kind, value=value, queue_ptr=queue)
        ctypes.memmove(handle, ctypes.addressof(signal), _SIZE)
        self._live.add(handle)
        return handle

    def destroy(self, handle: int) -> None:
        self.check(handle)
        self._live.discard(handle)
        ctypes.memset(handle, 0xDD, _SIZE)
        ctypes.c_int64.from_address(handle).value = 0  # AMD_SIGNAL_KIND_INVALID
        self._free.append(handle)

    def release_all(self) -> None:
        """Release all memory."""
        for slab in self._slabs:
            self._memory.free(slab)
        self._live.clear()
        self._free.clear()
        self._slabs.clear()

    def check(self, handle: int) -> int:
        """`handle`, if it is a live signal."""
        if handle not in self._live:
            raise CallError(Status.INVALID_SIGNAL, f"{handle:#x} is not a live signal")
        return handle

    def at(self, handle: int) -> AmdSignal:
        return AmdSignal.from_address(self.check(handle))

    def load(self, handle: int) -> int:
        """The value, which any thread may change at any time."""
        return ctypes.c_int64.from_address(self.check(handle) + SIGNAL_VALUE).value

    def decrement(self, handle: int) -> None:
        """What a finished packet does to its completion signal."""
        self._decrement(self.check(handle) + SIGNAL_VALUE, -1)

    def holds(self, handle: int, condition: int, compare: int) -> bool:
        """Whether the signal's value meets the condition now."""
        return CONDITIONS[condition](self.load(handle), compare)


class Pending:
    """Work that waits for signals without a waiting call: `start` once `awaited` is None.

    Attributes:
        awaited: asks which signal does not have the value yet that the work waits for.
    """

    def __init__(self, awaited: Callable[[], int | None], start: Callable[[], None]) -> None:
        self.awaited = awaited
        self.start = start


class PendingWork:
    """All work that waits, each by one signal that it waits for: a store concerns what is there by its signal."""

    def __init__(self) -> None:
        self._by_signal: dict[int, list[Pending]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_signal)

    def add(self, pending: Pending) -> None:
        """Start it, or have it wait for the first signal that it needs still."""
        signal = pending.awaited()
        if signal is None:
            pending.start()
        else:
            self._by_signal.setdefault(signal, []).append(pending)

    def look_at(self, signal: int) -> None:
        """Start what waited for nothing but this signal, which may have another value or be gone."""
        for pending in self._by_signal.pop(signal, ()):
            self.add(pending)

    def look_at_some(self, most: int) -> None:
        """Look at so many signals, those first that were not looked at for longest."""
        for signal in list(islice(self._by_signal, most)):
            self.look_at(signal)

    def clear(self) -> None:
        """Nothing waits any longer."""
        self._by_signal.clear()
