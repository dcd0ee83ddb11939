"""Twice as many commands take twice the work, counted in calls, and twice the memory: from the recorder to every file
and picture."""

import random
import sys
import tracemalloc
from typing import NamedTuple

import pytest
from support.fakes import FakeBuffer
from support.kernels import clang_kernels

from hipgraph_cb import Recording
from hipgraph_cb.capture.diff import compare
from hipgraph_cb.recording.command_buffer import CommandBuffer

FEW = 60
MANY = 200_000


class Material(NamedTuple):
    """What random dispatches are recorded with."""

    kernel: object
    buffers: list[FakeBuffer]


@pytest.fixture(scope="module")
def material():
    return Material(clang_kernels()["saxpy"], [FakeBuffer(4096) for _ in range(30)])


def recorded(material, count, dependencies="barriers"):
    """Layers of one to six dispatches in which everything varies."""
    rng = random.Random(7)
    with CommandBuffer(dependencies=dependencies) as cb:
        for index in range(count):
            if not rng.randrange(3):
                cb.execution_barrier()
            target, source = rng.sample(material.buffers, 2)
            args = [source, target, rng.random(), rng.randrange(1 << 20)]
            cb.dispatch(material.kernel, rng.randint(1, 64), rng.choice((64, 128, 256)), args=args)
            if not index % 7:
                cb.fill_buffer(target, index)
    return cb.recording


def saved(recording, path):
    recording.save(path)
    return Recording.load(path)


STEPS = {
    "record": lambda material, count, _path: recorded(material, count),
    "infer": lambda material, count, _path: recorded(material, count, "inferred"),
    "save and load": lambda material, count, path: saved(recorded(material, count), path),
    "compare": lambda material, count, _path: compare(recorded(material, count), recorded(material, count)),
    "hazards": lambda material, count, _path: recorded(material, count).hazards(),
    **{
        format: lambda material, count, _path, format=format: recorded(material, count).export(format)
        for format in ("dot", "mermaid", "html", "json")
    },
}


def calls_of(action):
    """How many functions are called, those in C too."""
    count = 0

    def note(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


def peak_of(action):
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(("measure", "most"), [(calls_of, 2.3), (peak_of, 3.0)])  # dicts and lists grow by steps
def test_twice_as_many_commands_take_twice_as_much(material, tmp_path, step, measure, most):
    """With the square of their number the second difference would be four times the first one."""

    def take(count):
        return lambda: STEPS[step](material, count, tmp_path / "capture")

    take(FEW)()  # what is remembered at the first one does not count
    one, two, four = (measure(take(count)) for count in (FEW, 2 * FEW, 4 * FEW))
    assert four - two <= most * (two - one)


@pytest.mark.long
def test_200_000_commands_go_the_whole_way(material, tmp_path):
    recording = recorded(material, MANY)
    path = tmp_path / "capture"
    again = saved(recording, path)
    assert path.stat().st_size > 1 << 26
    assert compare(recording, again).is_empty
    assert len(recording.hazards()) > 0
    for format in ("dot", "mermaid", "html", "json"):
        assert len(again.export(format)) > 100 * MANY
