"""pytest plugin: hip-python runs on AMD's own libamdhip64, which runs on the virtual libhsa-runtime64.

The runner (`support.amd_suite`) starts the process again until every test has run: a crash of AMD's library costs one
test. What happened is in a file, a line for each start and each outcome.
"""

from __future__ import annotations

import ctypes
import faulthandler
import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from support import devices
from support.amd_runtime import install

from hipgraph_cb.virtual import install as installing

LOG = "HIPGRAPH_CB_AMD_LOG"
SECONDS_OF_A_TEST = 300
"""A test that takes longer hangs: the process ends with the stacks of its threads."""
BROKEN = 70
"""How a process ends whose device a fault has broken, as 7.2.4 does."""

devices.VIRTUAL_GPUS = tuple(
    os.environ["HIPGRAPH_CB_VIRTUAL"].split(",")
)  # before the suite's own conftest.py reads them
installing.install = install
_log = Path(os.environ[LOG]).open("a", buffering=1)  # noqa: SIM115 - open as long as the process lives
_runtime = install(devices.VIRTUAL_GPUS)


def write(*entry: object) -> None:
    _log.write(json.dumps(entry) + "\n")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what ran before, and the backend that is not AMD's."""
    lines = Path(os.environ[LOG]).read_text().splitlines()
    started = {entry[1] for entry in map(json.loads, lines)}
    items[:] = [item for item in items if item.nodeid not in started and "[hsa-" not in item.nodeid]


def pytest_runtest_logstart(nodeid: str, location: Sequence[object]) -> None:
    write("start", nodeid)
    faulthandler.dump_traceback_later(SECONDS_OF_A_TEST, exit=True)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" or report.outcome != "passed":
        write(report.outcome, report.nodeid, str(report.longrepr)[-3000:] if report.failed else "")


def pytest_runtest_logfinish(nodeid: str, location: Sequence[object]) -> None:
    faulthandler.cancel_dump_traceback_later()
    if _is_broken():
        os._exit(BROKEN)


def _is_broken() -> bool:
    """Every call repeats the code of a fault."""
    address = ctypes.c_size_t()
    if _runtime.amd.hipMalloc(ctypes.byref(address), ctypes.c_size_t(64)):
        return True
    return bool(_runtime.amd.hipFree(address))
