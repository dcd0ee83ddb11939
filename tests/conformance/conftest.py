"""One suite for every backend and every virtual device, each opened once for the session."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hipgraph_cb import open_device
from hipgraph_cb.opening import BACKENDS, process_choice
from hipgraph_cb.recording.dependencies import JoinPolicy

OF_KERNELS = {
    "test_addresses_by_value",
    "test_arguments",
    "test_basics",
    "test_dispatches",
    "test_faults",
    "test_fills_by_kernels",
    "test_indirect_counts",
    "test_launch_options",
    "test_number_slots",
    "test_refusals",
    "test_updates",
}
"""Where the processor matters most: these run on the second device every time. The rest runs there in the long tests,
and so does everything on further devices."""
HERE = Path(__file__).parent
FIXTURES = HERE.parent / "fixtures" / "conformance"


def pytest_generate_tests(metafunc):
    if "device" in metafunc.fixturenames:
        always = 2 if metafunc.module.__name__.rpartition(".")[2] in OF_KERNELS else 1
        devices = [
            pytest.param((backend, ordinal), id=f"{backend}-{target}", marks=[pytest.mark.long] * (ordinal >= always))
            for ordinal, target in enumerate(process_choice().virtual_targets or ("real",))
            for backend in BACKENDS
        ]
        metafunc.parametrize("device", devices, indirect=True, scope="session")


def pytest_collection_modifyitems(config, items):
    """On HSA a barrier is a bit of a packet whatever the join policy, and a fill is a kernel: once is enough there.

    Sweeps that are long by themselves are about calls and threads, and run on the first device only.
    """
    kept, dropped = [], []
    for item in items:
        if HERE not in item.path.parents:
            kept.append(item)
            continue
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        join = parameters.get("join", parameters.get("policy", "auto"))
        is_usual = join in ("auto", JoinPolicy.AUTO) and parameters.get("fill", "memset") == "memset"
        is_repetition = parameters.get("device", ("hip", 0))[0] == "hsa" and not is_usual
        is_sweep_elsewhere = len(list(item.iter_markers("long"))) > 1
        (dropped if is_repetition or is_sweep_elsewhere else kept).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=dropped)


@pytest.fixture(scope="session")
def device(request):
    backend, ordinal = request.param
    with open_device(backend, device=ordinal) as device:
        yield device


@pytest.fixture(scope="session")
def conformance_kernels():
    """Loads the suite's kernels on a device."""
    return lambda device: device.load(FIXTURES / f"conformance.{device.target.processor}.hsaco")


@pytest.fixture(scope="session")
def kernels(device, conformance_kernels):
    return conformance_kernels(device)


@pytest.fixture(params=["direct", "slots"])
def run(request, device):
    """Record one command buffer and replay it once: with the buffers themselves, or through a binding table."""
    return Direct(device) if request.param == "direct" else Slots(device)


class Direct:
    """Commands name the buffers."""

    def __init__(self, device):
        self.device = device
        self.options = {}

    def __call__(self, record, *places, mode="graph"):
        with self.device.command_buffer(**self.options) as cb:
            record(cb, *places)
        cb.replay(mode=mode)


class Slots:
    """Commands name slots; the buffers are given at replay."""

    def __init__(self, device):
        self.device = device
        self.options = {}

    def __call__(self, record, *places, mode="graph"):
        from hipgraph_cb import Slot

        with self.device.command_buffer(binding_capacity=len(places), **self.options) as cb:
            record(cb, *(Slot(index) for index in range(len(places))))
        cb.replay(bindings=places, mode=mode)


@pytest.fixture
def zeros(device):
    """Makes a buffer of zero bytes."""
    return lambda size, label=None: device.from_host(np.zeros(size, np.uint8), label=label)


@pytest.fixture(scope="session")
def corpus():
    """The path of a real code object of the corpus, for the processor of a device."""
    folder = Path(__file__).parent.parent / "fixtures" / "corpus"
    return lambda name, device: folder / f"{name}.{device.target.processor}.hsaco"
