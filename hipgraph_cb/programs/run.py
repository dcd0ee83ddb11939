"""What a program needs to run with the virtual GPUs: a folder with the libraries, and an environment."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from hipgraph_cb.files import refused
from hipgraph_cb.journal.process import JOURNAL_VARIABLE, STRETCH_VARIABLE
from hipgraph_cb.journal.stretch import Stretch
from hipgraph_cb.opening import DEFAULT_VIRTUAL_TARGET, VIRTUAL_VARIABLE, parse_targets
from hipgraph_cb.programs.inside import START_LIBRARY
from hipgraph_cb.programs.interpreter import this_interpreter
from hipgraph_cb.programs.places import write_run_folder
from hipgraph_cb.virtual.install import FOLDER_VARIABLE
from hipgraph_cb.virtual.settings import PREFIX, SCHEDULE_VARIABLE, Settings

TRACE_VARIABLE = "HIPGRAPH_CB_TRACE"
_OLD_GLIBC = (2, 34)


@dataclass(frozen=True)
class RunOptions:
    """What the program's virtual GPUs are; what is left out comes from the environment.

    Attributes:
        targets: processors, separated by commas.
        seed: chooses the order in which independent work runs.
        trace: a file for a line about each dispatch.
        schedule: the order of a kernel's waves: "in-step" or "random".
        journal: a folder in which each process notes what it does.
        stretch: what it notes of that.
    """

    targets: str | None = None
    seed: int | None = None
    trace: Path | None = None
    schedule: str | None = None
    journal: Path | None = None
    stretch: Stretch | None = None

    def variables(self) -> dict[str, str]:
        """The variables that the program's processes read."""
        targets = self.targets or os.environ.get(VIRTUAL_VARIABLE, DEFAULT_VIRTUAL_TARGET)
        variables = {VIRTUAL_VARIABLE: ",".join(parse_targets(targets))}
        if self.seed is not None:
            variables[PREFIX + "SEED"] = str(self.seed)
        if self.schedule is not None:
            variables[SCHEDULE_VARIABLE] = self.schedule
        if self.trace is not None:
            variables[TRACE_VARIABLE] = str(self.trace.absolute())
        if self.journal is not None:
            variables[JOURNAL_VARIABLE] = str(self.journal)
        if self.stretch is not None:
            variables[STRETCH_VARIABLE] = str(self.stretch)
        return variables


@contextmanager
def prepared(options: RunOptions) -> Iterator[dict[str, str]]:
    """The environment in which programs see the virtual GPUs, as long as the context is open.

    Raises:
        UnavailableError: this Python cannot be started in other programs.
        InvalidArgumentError: there is no such virtual GPU, or a variable cannot be understood.
        FileError: the folder for the libraries cannot be written.
    """
    variables = options.variables()
    settings = Settings.from_environment({**os.environ, **variables})
    interpreter = this_interpreter()
    with _folder() as folder:
        try:
            write_run_folder(folder, interpreter, variables[VIRTUAL_VARIABLE].split(","), settings.profile)
        except OSError as error:
            raise refused(error, folder, "the libraries for the program cannot be written") from error
        yield environment(os.environ, folder) | variables


@contextmanager
def _folder() -> Iterator[Path]:
    try:
        folder = Path(tempfile.mkdtemp(prefix="hipgraph_cb-run-"))
    except OSError as error:
        place = Path(tempfile.gettempdir())
        raise refused(error, place, "the folder for the program's libraries cannot be made") from error
    try:
        yield folder
    finally:
        with suppress(OSError):  # what is left over is no fault of the program that has ended
            shutil.rmtree(folder)


def environment(given: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The environment in which programs find the libraries and files of `folder`."""
    start = [str(folder / "lib" / START_LIBRARY)]
    if _glibc() < _OLD_GLIBC:
        start.append("libdl.so.2")  # has dlsym there
    return {
        **given,
        "LD_LIBRARY_PATH": _path(str(folder / "lib"), given.get("LD_LIBRARY_PATH")),
        "PATH": _path(str(folder / "bin"), given.get("PATH", os.defpath)),
        "LD_PRELOAD": _path(given.get("LD_PRELOAD"), *start),
        "ROCM_PATH": str(folder),
        "HIP_PATH": str(folder),
        FOLDER_VARIABLE: str(folder / "lib"),
    }


def _path(*parts: str | None) -> str:
    return ":".join(part for part in parts if part)


def _glibc() -> tuple[int, ...]:
    """The version of the C library, such as "glibc 2.36"."""
    name = os.confstr("CS_GNU_LIBC_VERSION") or "glibc 0"
    return tuple(int(part) for part in name.split()[-1].split("."))
