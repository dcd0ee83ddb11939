"""Every public method with every wrong kind of argument: a result or an error of ours, nothing else."""

import inspect

import numpy as np
import pytest

from hipgraph_cb import HipGraphError, Slot, VirtualSettings, open_device
from hipgraph_cb.runtime.buffer import Buffer
from hipgraph_cb.runtime.stream import Stream

VALUES = [
    None,
    True,
    -1,
    1 << 70,
    0.5,
    float("nan"),
    "",
    "x\0",
    "\ud800",
    b"abc",
    memoryview(b"abcd"),
    (),
    [None],
    (1, -1, 1),
    {"x": 1},
    {1},
    slice("a", None),
    range(0, 9, 2),
    object(),
    int,
    np.float16,
    np.arange(8.0),
    np.array(["a"]),
    np.datetime64("2020-01-01"),
    Slot(0),
]
ENDING = {"close", "begin", "end", "release"}
# What `collections.abc.Sequence` gives every sequence.
INHERITED = {"index", "count"}
SKIPPED = ENDING | INHERITED
SPECIAL = {"__getitem__", "__contains__", "__eq__"}


class OddDevice:
    """A DLPack producer that does not know its device."""

    def __dlpack__(self, **_):
        return None

    def __dlpack_device__(self):
        return "x"


def public_methods(value):
    """Those that `dir` shows, and some that Python calls."""
    for name in sorted({*dir(value), *(SPECIAL & set(dir(type(value))))}):
        if not hasattr(type(value), name):
            continue
        attribute = inspect.getattr_static(type(value), name)
        if (name in SPECIAL or name[0] != "_") and name not in SKIPPED and not isinstance(attribute, property):
            method = getattr(value, name)
            if callable(method):
                yield method


def calls(method):
    """Every wrong value for all that must be given, then for each that may be."""
    parameters = inspect.signature(method).parameters.values()
    needed = [each for each in parameters if each.default is each.empty and each.kind is not each.VAR_KEYWORD]
    names = [each.name for each in needed if each.kind is each.KEYWORD_ONLY]
    for value in [*VALUES, OddDevice()]:
        positional, named = [value] * (len(needed) - len(names)), dict.fromkeys(names, value)
        yield positional, named
        for each in parameters:
            is_judge = each.name == "check" and callable(value)  # whose own errors are the caller's
            if each.default is not each.empty and not is_judge:
                yield positional, {**named, each.name: value}


def objects(device, kernels):
    x = device.from_host(np.arange(64, dtype=np.float32), "x")
    with device.command_buffer(label="done") as done:
        done.fill_buffer(x, 0)
    recording = device.command_buffer(binding_capacity=1).begin()
    program = device.program(done.recording)
    held = [device, x, x.view(0, 16), kernels, kernels["twice"], device.stream(), device.event(), done, recording]
    return [*held, program, done.recording, device.asarray(np.zeros((2, 3)))]


def test_wrong_arguments_are_refused_in_the_family(device, kernels):
    leaks = []
    for value in objects(device, kernels):
        for method in public_methods(value):
            for positional, named in calls(method):
                try:
                    made = method(*positional, **named)
                except HipGraphError as error:
                    str(error)
                except Exception as error:  # noqa: BLE001
                    leaks.append(f"{type(value).__name__}.{method.__name__}{positional}{named}: {error!r}")
                else:
                    if isinstance(made, (Buffer, Stream)) and made is not value:
                        made.close()
    device.synchronize()
    assert not leaks, "\n".join(leaks)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_wrong_arguments_of_functions_are_refused_in_the_family(value):
    for call in (
        lambda: open_device(value, device=value),
        lambda: open_device("hip", device=value),
        lambda: Slot(value, value, value),
        lambda: VirtualSettings(memory=value, seed=value, profile=value, watchdog=value).resolve({}),
    ):
        try:
            call()
        except HipGraphError as error:
            assert str(error)
