"""Start a program, pass signals on to it, and end as it ended."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterable, Mapping, Sequence

from hipgraph_cb.errors import FileError, FilePermissionError, MissingFileError

_PASSED_ON = (
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGALRM,
    signal.SIGWINCH,
)
_FROM_KERNEL = 0x80  # si_code SI_KERNEL: of a terminal, which sends to the program as well
_KINDS = {errno.ENOENT: MissingFileError, errno.EACCES: FilePermissionError}


def run_to_its_end(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a program, found as a shell finds it; returns its wait status.

    Raises:
        FileError: it cannot be started.
    """
    awaited = {signal.SIGCHLD, *_PASSED_ON}
    former = signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    try:
        try:
            child = os.posix_spawnp(command[0], list(command), environment, setsigmask=former)
        except OSError as error:
            kind = _KINDS.get(error.errno or 0, FileError)
            raise kind("the program cannot be started", error, command[0]) from error
        return _wait(child, awaited)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)


def _wait(child: int, awaited: Iterable[signal.Signals]) -> int:
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return status
        received = signal.sigwaitinfo(awaited)
        if received.si_signo != signal.SIGCHLD and received.si_code != _FROM_KERNEL:
            os.kill(child, received.si_signo)


def end_as(status: int) -> int:
    """The exit status of a wait status; where the program was ended by a signal, so is this process."""
    if not os.WIFSIGNALED(status):
        return os.waitstatus_to_exitcode(status)
    number = os.WTERMSIG(status)
    signal.signal(number, signal.SIG_DFL) if number not in (signal.SIGKILL, signal.SIGSTOP) else None
    os.kill(os.getpid(), number)
    return 128 + number
