"""Calls and work that a test holds back until it lets them go on, so that nothing depends on how fast anything is."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).parent.parent / "fixtures" / "virtual"
HANGING = 600
"""Seconds after which a test that waits in vain fails; nothing else depends on them."""


class HeldWork:
    """A kernel that keeps a stream busy until `finish()`."""

    def __init__(self, device: Any) -> None:
        flag = device.from_host(bytes(4))
        self._flag = ctypes.c_int.from_address(flag.address)
        with device.command_buffer(label="held") as self._cb:
            code_object = device.load(FIXTURES / f"endless.{device.target.processor}.hsaco")
            self._cb.dispatch(code_object["endless"], 1, 64, args=[flag])

    def start(self, stream: Any = None) -> None:
        self._flag.value = 0
        self._cb.replay(stream=stream)

    def finish(self) -> None:
        self._flag.value = 1


@contextmanager
def held_work(device: Any, stream: Any = None) -> Iterator[HeldWork]:
    """Work on a stream that is not done before `finish()`, or the end of the block."""
    work = HeldWork(device)
    work.start(stream)
    try:
        yield work
    finally:
        work.finish()


class HeldLock:
    """In place of a lock: the first thread that takes it by `with` waits until it is let in."""

    def __init__(self, lock: Any) -> None:
        self.acquire, self.release, self.locked = lock.acquire, lock.release, lock.locked
        self._lock = lock
        self.reached, self.open = threading.Event(), threading.Event()

    def __enter__(self) -> None:
        if not self.reached.is_set():
            self.reached.set()
            assert self.open.wait(HANGING)
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class Held:
    """A function, whose first call with `name` as its first argument waits until it is allowed to go on."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.reached, self.open = threading.Event(), threading.Event()
        self._function, self._name = function, name

    def __call__(self, name: str, *arguments: Any, **options: Any) -> Any:
        if name == self._name and not self.reached.is_set():
            self.reached.set()
            assert self.open.wait(HANGING)
        return self._function(name, *arguments, **options)


class Caller(threading.Thread):
    """A thread that makes one call; `result()` waits for it, and returns or raises what it did."""

    def __init__(self, call: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._call = call
        self._value: Any = None
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._value = self._call()
        except BaseException as error:  # noqa: BLE001 - the test gets it
            self._error = error

    def result(self) -> Any:
        self.join(HANGING)
        assert not self.is_alive()
        if self._error is not None:
            raise self._error
        return self._value
