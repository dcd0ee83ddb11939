"""Which code object of a container to load on a device, and why not the others."""

from __future__ import annotations

from dataclasses import dataclass, field

from hipgraph_cb.code_object.container import STATED, Container, Entry, read_container
from hipgraph_cb.code_object.target_id import TargetId
from hipgraph_cb.errors import IncompatibleError, InvalidArgumentError, NotFoundError


@dataclass(frozen=True)
class Choice:
    """The code object to load, and why each other entry was passed over."""

    container: Container
    entry: Entry
    passed_over: tuple[tuple[Entry, str], ...] = field(default=())


def choose(data: bytes, agent: TargetId | None = None) -> Choice:
    """The code object in `data` that suits `agent` best, or the only one when no agent is given.

    Of several that run, an exact processor goes before a generic one, then one that states its features before one
    that leaves them open, then the first.

    Raises:
        IncompatibleError: none runs on the agent; every entry is listed with its reasons.
        InvalidArgumentError: several code objects and no agent to choose by.
        The errors of `read_container`.
    """
    return choose_from(read_container(data), agent)


def choose_from(container: Container, agent: TargetId | None = None) -> Choice:
    """The same for a container that was read. Raises as `choose`."""
    found = container.code_objects()
    if len(container.entries) == 1 and container.entries[0].problem is not None:
        raise container.entries[0].problem
    if not found:
        raise NotFoundError(f"the {container.kind} holds no AMD GPU code object", detail=_listing(container))
    if agent is None:
        return _only(container, found)
    fitting = [entry for entry in found if entry.why_not(agent) is None]
    if not fitting:
        # A single code object is left to `verify`, which says the same about every form of file.
        if len(found) == 1:
            return Choice(container, found[0])
        raise IncompatibleError(
            f"no code object in the {container.kind} runs on the device",
            found=", ".join(str(entry.target) for entry in found),
            allowed=f"code that runs on {agent}",
            next_step=f"compile with --offload-arch={agent}",
            detail=_listing(container, agent),
        )
    best = max(fitting, key=_rank)
    passed_over = [
        (entry, entry.why_not(agent) or f"{best.target} fits better")
        for entry in container.entries
        if entry is not best
    ]
    return Choice(container, best, tuple(passed_over))


def _only(container: Container, found: tuple[Entry, ...]) -> Choice:
    if len(found) == 1:
        return Choice(container, found[0])
    raise InvalidArgumentError(
        f"the {container.kind} holds several code objects",
        found=", ".join(str(entry.target) for entry in found),
        allowed="one, or a target to choose by",
        next_step="name the target",
        detail=_listing(container),
    )


def _rank(entry: Entry) -> tuple[bool, int]:
    """`max` keeps the first of equals."""
    target = entry.target
    if target is None:
        return False, 0
    return not target.is_generic, (target.sramecc in STATED) + (target.xnack in STATED)


def _listing(container: Container, agent: TargetId | None = None) -> str:
    def state(entry: Entry) -> str:
        return entry.state if agent is None else entry.why_not(agent) or "runs"

    return "\n".join(f"  {entry.path}: {state(entry)}" for entry in container.entries)
