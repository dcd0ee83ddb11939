"""What a barrier may say about itself: which stages of work it stands between, and which accesses it makes visible.

A barrier here orders everything before it with everything after it and makes all memory visible, whatever it says: no
runtime below takes less. The masks are checked, so that a recording written for a finer model is taken as it is.
"""

from __future__ import annotations

from enum import IntFlag

from hipgraph_cb.errors import InvalidArgumentError, OutOfRangeError


class Stage(IntFlag):
    """Stages of work, to be combined with `|`."""

    ISSUE = 1
    PROCESS = 2
    DISPATCH = 4
    TRANSFER = 8
    RETIRE = 16
    HOST = 32


class MemoryAccess(IntFlag):
    """Accesses to memory, to be combined with `|`."""

    INDIRECT_COMMAND_READ = 1
    CONSTANT_READ = 2
    DISPATCH_READ = 4
    DISPATCH_WRITE = 8
    TRANSFER_READ = 16
    TRANSFER_WRITE = 32
    HOST_READ = 64
    HOST_WRITE = 128
    MEMORY_READ = 256
    MEMORY_WRITE = 512


def check_mask(value: object, kind: type[IntFlag], name: str) -> None:
    """Refuse what is no combination of `kind`; None says nothing and is fine.

    Raises:
        InvalidArgumentError: not a number.
        OutOfRangeError: bits that mean nothing.
    """
    if value is None:
        return
    is_other_mask = isinstance(value, IntFlag) and not isinstance(value, kind)
    if not isinstance(value, int) or isinstance(value, bool) or is_other_mask:
        raise InvalidArgumentError(
            f"{name} is no mask", found=f"{value!r} ({type(value).__name__})", allowed=f"values of {kind.__name__}"
        )
    known = sum(int(bit) for bit in kind)
    if not 0 <= value <= known:
        raise OutOfRangeError(f"{name} has unknown bits", found=hex(value), allowed=f"bits of {hex(known)}")
