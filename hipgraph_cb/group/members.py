"""Which members of a group a caller means: a mask, as queue affinities are, or a list of numbers."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraph_cb.errors import InvalidArgumentError, OutOfRangeError
from hipgraph_cb.recording.validation import check_list, integer

Members = int | Sequence[int] | None
"""A mask with bit i for member i, of which those that the group has count; numbers of members; None for all."""

ANY = (1 << 64) - 1
"""The mask that means every member."""


def members_of(given: Members, count: int, name: str) -> tuple[int, ...]:
    """The numbers of the members that are meant, in the order of the group.

    Args:
        count: members of the group.
        name: what messages call the argument.

    Raises:
        InvalidArgumentError: neither a mask nor a list, none that the group has, or one twice.
        OutOfRangeError: a number that no member has, or a mask of more than 64 bits.
    """
    if given is None:
        return tuple(range(count))
    if isinstance(given, Sequence):
        check_list(given, name, "numbers of members")
        chosen = [integer(number, f"{name}[{position}]", largest=count - 1) for position, number in enumerate(given)]
    else:
        mask = integer(given, name, largest=ANY)
        chosen = [number for number in range(count) if mask >> number & 1]
    if not chosen or len(set(chosen)) != len(chosen):
        raise InvalidArgumentError(
            f"{name} names no member of the group, or one twice",
            found=repr(given)[:80] if isinstance(given, Sequence) else f"mask {given:#x}",
            allowed=f"a mask of bits 0 to {count - 1}, or a list of numbers from 0 to {count - 1}",
        )
    return tuple(sorted(chosen))


def member(number: object, count: int, name: str) -> int:
    """The number of one member. Raises InvalidArgumentError, OutOfRangeError."""
    index = integer(number, name)
    if index >= count:
        raise OutOfRangeError(f"{name}: no such member of the group", found=str(index), allowed=f"0 to {count - 1}")
    return index
