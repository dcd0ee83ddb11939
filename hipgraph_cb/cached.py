"""A property that is computed once, without a lock.

Below Python 3.12 the one of `functools` holds a lock of all instances while it computes. A garbage collection in there
runs the program's finalizers, which may call a runtime; and a thread inside the runtime may wait for that lock.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, TypeVar, overload

if TYPE_CHECKING:
    from typing_extensions import Self

Value = TypeVar("Value")


class cached_property(functools.cached_property[Value]):  # noqa: N801  # named as the one of `functools`
    """Of threads that ask for the first time, each may compute; all get what the first one to end has found."""

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Value: ...

    def __get__(self, instance: object, owner: type | None = None) -> Self | Value:
        if instance is None:
            return self
        value: Value = instance.__dict__.setdefault(self.func.__name__, self.func(instance))
        return value
