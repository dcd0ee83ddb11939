"""Two replays side by side: the first command after which memory differs, in a wide layer or a nested recording too."""

from pathlib import Path

import numpy as np
import pytest
from support.patched import ended_at_once

from hipgraph_cb import HipGraphError, Slot
from hipgraph_cb.capture.capture import Capture
from hipgraph_cb.capture.divergence import first_divergence
from hipgraph_cb.capture.hgcb import load
from hipgraph_cb.capture.replacement import with_kernel
from hipgraph_cb.capture.session import Session
from hipgraph_cb.code_object.verify import verify

KERNELS = Path(__file__).parent.parent / "fixtures" / "conformance" / "conformance.gfx942.hsaco"


@pytest.fixture(scope="module")
def broken():
    return verify(ended_at_once(KERNELS.read_bytes(), "twice"))


def compare(path, device, broken, kernel="twice"):
    capture = load(path)
    recording, _ = with_kernel(capture.recording, kernel, broken)
    changed = Capture(recording, capture.contents, capture.expected)
    with Session(changed, device) as first, Session(capture, device) as second:
        return first_divergence(first, second)


@pytest.fixture
def ints(device):
    return lambda name, first=1: device.from_host(np.arange(first, first + 4, dtype=np.int32), label=name)


def test_one_command_of_a_wide_layer_is_found(device, kernels, ints, broken, tmp_path):
    a, b, c, d = (ints(name, 10 * index) for index, name in enumerate("abcd"))
    with device.command_buffer(label="wide") as cb:
        cb.dispatch(kernels["negate"], 1, args=[a, b], label="fine")
        cb.fill_buffer(d, 5)
        cb.dispatch(kernels["twice"], 1, args=[a, c], label="wrong")
    cb.recording.save(tmp_path / "wide", contents=True)
    found = compare(tmp_path / "wide", device, broken)
    assert (found.command, found.where, found.what) == (2, "command 2 'wrong' in 'wide'", "dispatch twice")
    assert (found.buffer, found.difference.offset) == ("`c`", 0)
    assert (found.difference.found, found.difference.expected, found.difference.count) == ("20", "0", 4)


def test_equal_results_are_no_divergence_whatever_the_code(device, kernels, ints, broken, tmp_path):
    a, b = ints("a"), device.from_host(np.zeros(4, np.int32), label="b")
    with device.command_buffer() as cb:
        cb.dispatch(kernels["twice"], 1, args=[b, b])
        cb.fill_buffer(a, 0)
    cb.recording.save(tmp_path / "same", contents=True)
    assert compare(tmp_path / "same", device, broken) is None


def test_a_command_within_nested_recordings_is_found(device, kernels, ints, broken, tmp_path):
    a, b, c = ints("a"), ints("b", 50), ints("c", 90)
    with device.command_buffer(label="inner", binding_capacity=2) as inner:
        inner.fill_buffer(Slot(0, 12, 4), 7)
        inner.execution_barrier()
        inner.dispatch(kernels["twice"], 1, args=[Slot(0), Slot(1)], label="wrong")
    with device.command_buffer(label="middle", binding_capacity=1) as middle:
        middle.fill_buffer(c, 1)
        middle.execute_commands(inner, bindings=[Slot(0), b])
    with device.command_buffer(label="outer") as cb:
        cb.dispatch(kernels["negate"], 1, args=[a, c])
        cb.execution_barrier()
        cb.execute_commands(middle, bindings=[a], label="run")
    cb.recording.save(tmp_path / "nested", contents=True)
    found = compare(tmp_path / "nested", device, broken)
    assert found.where == ("command 1 'run' in 'outer', command 1 in 'middle', command 1 'wrong' in 'inner'")
    assert (found.what, found.buffer, found.difference.found, found.difference.expected) == (
        "dispatch twice",
        "`b`",
        "50",
        "2",
    )


def test_a_command_that_fails_in_one_of_them_is_named(device, kernels, ints, tmp_path):
    a, b = ints("a"), ints("b")
    with device.command_buffer(label="fails") as cb:
        cb.fill_buffer(b, 0)
        cb.execution_barrier()
        cb.dispatch(kernels["twice"], 1, args=[a, None], label="null")
    cb.recording.save(tmp_path / "fails", contents=True)
    capture = load(tmp_path / "fails")
    with (
        pytest.raises(HipGraphError) as raised,
        Session(capture, device) as first,
        Session(capture, device) as second,
    ):
        first_divergence(first, second)
    assert raised.value.where.startswith("command 1 'null' in 'fails', in the first replay")
