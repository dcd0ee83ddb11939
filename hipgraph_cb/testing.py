"""The pytest plugin: fixtures for testing your own kernels. It does nothing until a test asks for one of them.

    @pytest.mark.hipgraph_target("gfx942")
    def test_saxpy(run_kernel):
        y, x = run_kernel("saxpy.gfx942.hsaco", "saxpy", y, x, 2.0, 1024, workgroup_count=4, workgroup_size=256)

Kernels run on the virtual GPU of the marker's target, or of `--hipgraph-target`. With `--hipgraph-device=real` the same
tests run on the machine's own GPU. One process sees either virtual or real GPUs, never both, because hip-python keeps
the library that it opened first.

With `--hipgraph-schedule=random` the seed chooses the order of waves and workgroups of virtual GPUs: a second run that
finds kernels which are right in one lucky order only.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hipgraph_cb.recording.recording import Recording
    from hipgraph_cb.runtime.device import Device
    from hipgraph_cb.virtual.settings import VirtualSettings

MARKER = "hipgraph_target"
DEFAULT_TARGET = "gfx942"


class _Session:
    """The devices that the tests of this process have opened, by target; each is opened once.

    Args:
        targets: every target that a collected test may use: a process names its virtual GPUs once.
        schedule: the order of waves on virtual GPUs; None leaves it to the environment.
    """

    def __init__(self, kind: str, targets: Sequence[str], schedule: str | None) -> None:
        self.kind = kind
        self._schedule = schedule
        self._targets = targets
        self._devices: dict[str, Device] = {}

    def virtual(self, target: str) -> Device:
        from hipgraph_cb.opening import VIRTUAL_VARIABLE, open_device, process_choice

        refusal = _refusal_of(target)
        if refusal is not None:
            pytest.fail(refusal, pytrace=False)
        executed = [each for each in self._targets if _refusal_of(each) is None]
        os.environ.setdefault(VIRTUAL_VARIABLE, ",".join(executed))
        seen = process_choice().virtual_targets
        if target not in seen:
            pytest.fail(
                f"this process sees {', '.join(seen) or 'real GPUs'}, and the test wants {target}: "
                f"unset {VIRTUAL_VARIABLE}, or add {target} to it"
            )
        if target not in self._devices:
            self._devices[target] = open_device(device=seen.index(target), virtual=self._settings())
        return self._devices[target]

    def _settings(self) -> VirtualSettings | None:
        from hipgraph_cb.virtual.settings import VirtualSettings

        return None if self._schedule is None else VirtualSettings(schedule=self._schedule)

    def real(self) -> Device:
        from hipgraph_cb.opening import open_device, process_choice

        choice = process_choice()
        if choice.is_virtual:
            pytest.skip(f"the test wants a real AMD GPU: {choice.reason}")
        if "" not in self._devices:
            self._devices[""] = open_device()
        return self._devices[""]

    def close(self) -> None:
        while self._devices:
            self._devices.popitem()[1].close()


def _refusal_of(target: str) -> str | None:
    """Why there is no virtual GPU for a target, or None where there is one."""
    from hipgraph_cb.errors import HipGraphError
    from hipgraph_cb.virtual.machine import gpu_model

    try:
        gpu_model(target)
    except HipGraphError as error:
        return str(error)
    return None


class KernelRunner:
    """What the fixture `run_kernel` gives.

    Attributes:
        device: where the kernels run.
        recordings: of the calls so far; a test that fails prints them.
    """

    def __init__(self, device: Device, folder: Path) -> None:
        self.device = device
        self.recordings: list[Recording] = []
        self._folder = folder

    def __call__(
        self,
        code_object: str | os.PathLike[str] | bytes,
        kernel: str,
        *args: Any,
        workgroup_count: int | Sequence[int],
        workgroup_size: int | Sequence[int] | None = None,
        dynamic_lds: int = 0,
    ) -> list[NDArray[Any]]:
        """Run one kernel once and wait for it.

        Args:
            code_object: bytes, or a path; a relative one is looked for beside the test's file.
            kernel: its name.
            args: the kernel's arguments in order. A NumPy array with dimensions goes to a buffer of its own.
            workgroup_count, workgroup_size, dynamic_lds: as for `CommandBuffer.dispatch`.

        Returns:
            For each array among `args` the contents of its buffer afterwards, in its shape and type.

        Raises:
            HipGraphError: the code object does not load, the arguments do not fit, or the kernel faulted.
        """
        import numpy as np

        source = code_object if isinstance(code_object, bytes) else self._folder / code_object
        arrays = {index: value for index, value in enumerate(args) if isinstance(value, np.ndarray) and value.ndim}
        with ExitStack() as opened:
            export = opened.enter_context(self.device.load(source))[kernel]
            buffers = {
                index: opened.enter_context(self.device.from_host(array, label=f"args[{index}]"))
                for index, array in arrays.items()
            }
            values = [buffers.get(index, value) for index, value in enumerate(args)]
            with self.device.command_buffer(label=kernel) as cb:
                cb.dispatch(export, workgroup_count, workgroup_size, args=values, dynamic_lds=dynamic_lds)
            self.recordings.append(cb.recording)
            with cb.program as program:
                program.replay()
                results = [buffers[index].to_host(array.dtype).reshape(array.shape) for index, array in arrays.items()]
        return results


_SESSION = pytest.StashKey[_Session]()
_RUNNER = pytest.StashKey[KernelRunner]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("hipgraph_cb", "kernels on a virtual or a real AMD GPU")
    group.addoption("--hipgraph-target", default=DEFAULT_TARGET, help="the virtual GPU of tests without a marker")
    group.addoption(
        "--hipgraph-device", choices=("virtual", "real"), default="virtual", help="where run_kernel runs kernels"
    )
    group.addoption(
        "--hipgraph-schedule",
        choices=("in-step", "random"),
        help="the order of waves on virtual GPUs; random finds missing barriers and waits, by HIPGRAPH_CB_VIRTUAL_SEED",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARKER}(name): run on the virtual GPU `name`, such as gfx942")


def pytest_collection_finish(session: pytest.Session) -> None:
    targets = {session.config.getoption("--hipgraph-target"), *map(_target_of, session.items)}
    kind = session.config.getoption("--hipgraph-device")
    session.config.stash[_SESSION] = _Session(kind, sorted(targets), session.config.getoption("--hipgraph-schedule"))


def pytest_unconfigure(config: pytest.Config) -> None:
    if _SESSION in config.stash:
        config.stash[_SESSION].close()


def _target_of(item: pytest.Item) -> str:
    marker = item.get_closest_marker(MARKER)
    if marker is None:
        return str(item.config.getoption("--hipgraph-target"))
    if len(marker.args) != 1 or marker.kwargs or not isinstance(marker.args[0], str):
        raise pytest.UsageError(f"{item.nodeid}: write @pytest.mark.{MARKER}(name) with one name, such as 'gfx942'")
    return marker.args[0]


@pytest.fixture
def virtual_gpu(request: pytest.FixtureRequest) -> Device:
    """The virtual GPU of the test's `hipgraph_target` marker, or of `--hipgraph-target`; one for the whole session."""
    return request.config.stash[_SESSION].virtual(_target_of(request.node))


@pytest.fixture
def hip_device(request: pytest.FixtureRequest) -> Device:
    """The machine's own AMD GPU. The test is skipped, with the reason, where the process runs on virtual ones."""
    return request.config.stash[_SESSION].real()


@pytest.fixture
def run_kernel(request: pytest.FixtureRequest) -> Iterator[Callable[..., list[NDArray[Any]]]]:
    """Runs one kernel on NumPy arrays; see `KernelRunner.__call__`. Prints the recordings when the test fails."""
    kind = request.config.stash[_SESSION].kind
    device = request.getfixturevalue("virtual_gpu" if kind == "virtual" else "hip_device")
    runner = KernelRunner(device, request.path.parent)
    request.node.stash[_RUNNER] = runner
    yield runner


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    runner = item.stash.get(_RUNNER, None)
    if report.failed and runner is not None:
        from hipgraph_cb.export.text import to_text

        for recording in runner.recordings:
            report.sections.append(("hipgraph_cb recording", to_text(recording)))
    return report
