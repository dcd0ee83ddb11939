"""The states of a recorder, and what a call in the wrong one raises (R1)."""

from __future__ import annotations

from enum import Enum

from hipgraph_cb.errors import FailedPreconditionError


class State(Enum):
    INITIAL = "initial"
    RECORDING = "recording"
    FINAL = "final"
    FAILED = "failed"


def refusal(
    verb: str, state: State, wanted: State, failure: BaseException | None, where: str
) -> FailedPreconditionError:
    """What `verb`, which is legal in the state `wanted`, raises in another one.

    Where both are RECORDING, it was called on another thread than that of `begin`.

    Args:
        failure: what made the state FAILED, or None.
        where: the command buffer, as messages call it.
    """
    if state is State.RECORDING is wanted:
        return FailedPreconditionError(
            f"{verb}: another thread records this command buffer",
            where=where,
            next_step="record in the thread that called begin, or give each thread a command buffer of its own",
        )
    return FailedPreconditionError(
        f"{verb}: the command buffer is in state {state.name}",
        where=where,
        found=state.name if failure is None else f"{state.name}, because: {failure}",
        allowed=wanted.name,
        next_step=_NEXT_STEPS.get((state, wanted)),
    )


_NEXT_STEPS = {
    (State.INITIAL, State.RECORDING): "call begin() first, or use the command buffer in a `with` statement",
    (State.INITIAL, State.FINAL): "record first: begin(), the commands, end()",
    (State.RECORDING, State.INITIAL): "it has begun already: go on recording",
    (State.RECORDING, State.FINAL): "call end() first",
    (State.FINAL, State.INITIAL): "a command buffer records once: make another one",
    (State.FINAL, State.RECORDING): "a command buffer records once: make another one",
    (State.FAILED, State.INITIAL): "make another command buffer",
    (State.FAILED, State.RECORDING): "make another command buffer",
    (State.FAILED, State.FINAL): "make another command buffer",
}
