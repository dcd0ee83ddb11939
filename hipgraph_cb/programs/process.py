"""Start a program, pass signals on to it, and end as it ended."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

from hipgraph_cb.errors import FileError, FilePermissionError, MissingFileError

_ENDING = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)
_PASSED_ON = (*_ENDING, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGWINCH)
_AWAITED = {signal.SIGCHLD, *_PASSED_ON}
_FROM_KERNEL = 0x80  # si_code SI_KERNEL: of a terminal, which sends to the program as well
_KINDS = {errno.ENOENT: MissingFileError, errno.EACCES: FilePermissionError}


@contextmanager
def held_signals() -> Iterator[set[int]]:
    """Hold off the signals that are passed on, and yield which were held off before.

    A thread that another library starts takes them as the thread has them that starts it, so this comes first.
    """
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    try:
        yield {int(number) for number in previous}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


def run_to_its_end(command: Sequence[str], environment: Mapping[str, str], held: Collection[int]) -> int:
    """Run a program, found as a shell finds it, within `held_signals`; returns its wait status.

    Args:
        held: the signals that the program has held off.

    Raises:
        FileError: it cannot be started.
    """
    if ended := signal.sigpending() & set(_ENDING):
        return int(min(ended))  # the wait status of a program that this signal has ended
    try:
        child = os.posix_spawnp(command[0], list(command), environment, setsigmask=held)
    except OSError as error:
        kind = _KINDS.get(error.errno or 0, FileError)
        raise kind("the program cannot be started", error, command[0]) from error
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return status
        received = signal.sigwaitinfo(_AWAITED)
        if received.si_signo != signal.SIGCHLD and received.si_code != _FROM_KERNEL:
            os.kill(child, received.si_signo)


def end_as(status: int) -> int:
    """The exit status of a wait status; where the program was ended by a signal, so is this process."""
    if not os.WIFSIGNALED(status):
        return os.waitstatus_to_exitcode(status)
    number = os.WTERMSIG(status)
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    return 128 + number
