"""How long things live: an object of a runtime and the call that releases it, and what launches still use (R5).

A program that is closed or collected while it runs is put into the backlog together with the tickets of its launches,
and so is memory that it was bound to before. Each sweep releases what is done. Nothing here waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from hipgraph_cb.backend.collected import finalizer, release_when_safe
from hipgraph_cb.recording.binding_table import memory_in

if TYPE_CHECKING:
    from hipgraph_cb.backend.absence import Absence
    from hipgraph_cb.backend.queue import LaunchQueue
    from hipgraph_cb.recording.binding_table import Table
    from hipgraph_cb.runtime.calls import Calls


class Releasing(Protocol):
    """The functions of a library that release things."""

    def release(self, name: str, handle: Any) -> None:
        """Call the function `name` for `handle`. It raises nothing: a failure is logged and counts as released."""


class ReleasingApi(Releasing, Protocol):
    """Those of a runtime.

    Attributes:
        absence: why nothing can be released any more, or None.
    """

    absence: Absence | None


class Handle:
    """Owns one object of the runtime, and releases it once: by `release()`, or when its last owner is gone.

    Args:
        native: the object or address, as the function that releases it takes it.
        release_function: the name of that function.
        keep: something in host memory that the runtime may read until the object is released.
    """

    __slots__ = ("__weakref__", "_finalizer", "native")

    def __init__(self, api: Releasing, native: Any, release_function: str, keep: object = None) -> None:
        self.native = native
        self._finalizer = finalizer(self, _release, api, release_function, native, keep)

    @property
    def is_alive(self) -> bool:
        """Whether it was not released yet."""
        return self._finalizer.alive

    def release(self) -> None:
        self._finalizer()


def _release(api: Releasing, function: str, native: Any, _keep: object) -> None:
    api.release(function, native)


class Borrowed(Handle):
    """Keeps memory of another library alive, and releases nothing."""

    __slots__ = ("_keep",)

    def __init__(self, owner: object) -> None:
        self._keep: object = owner

    @property
    def is_alive(self) -> bool:
        return True

    def release(self) -> None:
        self._keep = None


FIRST_SWEEP = 64


class Releasable(Protocol):
    """Something to be released once."""

    def release(self) -> None: ...


class Retired(Protocol):
    """Something that no new call will use, but launches and calls in progress may."""

    @property
    def calls(self) -> Calls | None: ...

    @property
    def tickets(self) -> dict[LaunchQueue, int]: ...

    def release(self) -> None: ...


class Needs(Retired, Protocol):
    """What the launches of a program need.

    Attributes:
        calls: those that use it.
        is_retired: whether the program was closed or collected.
    """

    is_retired: bool

    @property
    def calls(self) -> Calls: ...


class Backlog:
    """The retired things of one device. Safe to enter from a finalizer at any moment: it takes no lock."""

    def __init__(self) -> None:
        self._waiting: deque[Retired] = deque()
        self._next_sweep = FIRST_SWEEP

    def __len__(self) -> int:
        return len(self._waiting)

    def retire_needs(self, needs: Needs) -> None:
        """Retire what a program needs, when it is closed or collected. From then on no call may begin to use it."""
        needs.is_retired = True
        release_when_safe(self.retire, needs)

    def retire(self, retired: Retired) -> None:
        """Release `retired` now if its launches are done, else at a later sweep.

        A sweep follows when the backlog has doubled, so that retiring costs the same however much is waiting.
        """
        for queue in tuple(retired.tickets):
            queue.refresh()
        if _is_done(retired):
            retired.release()
            return
        self._waiting.append(retired)
        if len(self._waiting) >= self._next_sweep:
            self.sweep()
            self._next_sweep = max(FIRST_SWEEP, 2 * len(self._waiting))

    def sweep(self) -> None:
        """Release everything that is done."""
        for queue in {queue for retired in tuple(self._waiting) for queue in tuple(retired.tickets)}:
            queue.refresh()
        for _ in range(len(self._waiting)):
            try:
                retired = self._waiting.popleft()  # no other thread has it now
            except IndexError:  # other threads sweep too
                return
            if _is_done(retired):
                retired.release()
            else:
                self._waiting.append(retired)


def forget_done(tickets: dict[LaunchQueue, int]) -> None:
    """Forget the queues on which all is done: streams are made and closed while a program stays."""
    for queue, ticket in tuple(tickets.items()):
        if queue.is_done(ticket):
            tickets.pop(queue, None)


def _is_done(retired: Retired) -> bool:
    if retired.calls:  # before the tickets: a call that is over has its ticket
        return False
    return all(queue.is_done(ticket) for queue, ticket in tuple(retired.tickets.items()))


class RetiredHandles:
    """Memory that a program does not use any more, but its launches may.

    Attributes:
        tickets: the last launch on each queue that used it.
    """

    calls = None

    def __init__(self, tickets: dict[LaunchQueue, int], handles: list[Handle]) -> None:
        self.tickets = tickets
        self._handles = handles

    def release(self) -> None:
        self._handles.clear()


class Superseded:
    """What a program used before an update, or before it was bound to other memory.

    Args:
        needs: of the launches.
        references: what must stay as long.
        owned: what is released then.
        is_locked: whether no other thread makes a launch of the program now; else those that are being made count too.
    """

    def __init__(
        self, needs: Needs, references: list[Any], owned: Sequence[Releasable] = (), is_locked: bool = False
    ) -> None:
        self.calls = None if is_locked else needs.calls
        self.tickets = dict(needs.tickets) if is_locked else needs.tickets
        self._references = references
        self._owned = owned

    def release(self) -> None:
        for each in self._owned:
            each.release()
        self._references.clear()


def handles_of(table: Table) -> list[Handle]:
    """What keeps the memory of a table alive. Raises FailedPreconditionError where a buffer was closed just now."""
    return [bound.buffer.held("replay") for bound in memory_in(table).values()]
