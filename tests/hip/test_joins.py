"""The join kernel: which code object, loaded when, released when; and what `auto` takes."""

import io
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from hipgraph_cb.code_object.target_id import TargetId
from hipgraph_cb.code_object.verify import verify
from hipgraph_cb.errors import HipError, InvalidArgumentError, UnavailableError
from hipgraph_cb.hip.device import HipDevice
from hipgraph_cb.hip.joins import KERNELS, auto_join, code_for
from hipgraph_cb.recording.dependencies import AutoJoin, JoinPolicy


def wide(device, width=9, join="kernel"):
    x = device.allocate(4 * width)
    with device.command_buffer(join=join) as cb:
        for value in range(3):
            for index in range(width):
                cb.fill_buffer(x, value, offset=4 * index, length=4)
            cb.execution_barrier()
    return cb


def test_one_kernel_stands_between_two_layers_and_is_loaded_once_for_a_device(counting, device):
    wide(device)
    assert counting.calls.count("hipGraphAddKernelNode") == 2
    assert counting.calls.count("hipGraphAddEmptyNode") == 1  # the root in front of the first layer
    wide(device)
    assert counting.calls.count("hipModuleLoadData") == 1
    assert counting.calls.count("hipModuleGetFunction") == 1


def test_a_device_that_never_joins_by_a_kernel_does_not_load_it(counting, device):
    for join in ("edges", "empty", "auto"):
        wide(device, join=join)
    assert "hipModuleLoadData" not in counting.calls


def test_the_kernel_goes_with_the_device(counting):
    with HipDevice() as device:
        cb = wide(device)
        cb.replay()
        assert counting.kinds["module"] == 1
    assert counting.kinds["module"] == 0


def test_a_join_that_fails_says_that_it_is_one(counting, device):
    x = device.allocate(16)
    counting.calls.clear()
    counting.failing = 6
    with pytest.raises(HipError) as caught, device.command_buffer(join="kernel") as cb:
        cb.fill_buffer(x, 0, length=4)
        cb.fill_buffer(x, 0, offset=4, length=4)
        cb.execution_barrier()
        cb.fill_buffer(x, 0, offset=8, length=4)
    assert counting.calls[4:7] == ["hipModuleLoadData", "hipModuleGetFunction", "hipGraphAddKernelNode"]
    assert str(caught.value) == ("hipGraphAddKernelNode returned 999 (hipErrorUnknown)\n  where: a join of 2 commands")


@pytest.mark.parametrize(
    ("limit", "width", "empty"), [("up to 4 x 4 edges", 4, 1), ("beyond that an empty node", 5, 3)]
)
def test_auto_on_amd_s_runtime(counting, device, limit, width, empty):
    wide(device, width, join="auto")
    assert counting.calls.count("hipGraphAddEmptyNode") == empty
    assert counting.calls.count("hipGraphAddKernelNode") == 0


def test_only_several_commands_that_wait_for_nothing_get_a_root_in_front(counting, device, monkeypatch):
    """AMD's 7.2.4 loses the order of the stream in front of every root of a graph but the first."""
    waits = []
    for name in ("hipGraphAddMemsetNode", "hipGraphAddEmptyNode"):
        add = counting[name]
        monkeypatch.setitem(
            counting, name, lambda g, d, count, *more, add=add: (waits.append(count), add(g, d, count, *more))[1]
        )
    x = device.allocate(64)
    with device.command_buffer(dependencies="inferred") as cb:
        cb.fill_buffer(x, 1, length=4)
        cb.fill_buffer(x, 2, length=4)
        cb.execution_barrier()
        cb.fill_buffer(x, 3, length=4)
    assert waits == [0, 1, 1]
    waits.clear()
    wide(device, width=2, join="edges")
    assert waits == [0, 1, 1, 2, 2, 2, 2]
    waits.clear()
    with device.command_buffer(dependencies="inferred") as cb:
        cb.fill_buffer(x, 1, length=4)
        cb.fill_buffer(x, 2, offset=4, length=4)
    assert waits == [0, 1, 1]


class Runtime:
    """A HIP library, as far as one of AMD's own functions is concerned."""

    def __init__(self, failure):
        self.failure = failure

    def call(self, name):
        assert name == "hipExtGetLastError"
        if self.failure is not None:
            raise self.failure


@pytest.mark.parametrize("failure", [None, HipError("hipExtGetLastError", 1, "hipErrorInvalidValue")])
def test_a_runtime_with_amd_s_own_functions_is_amd_s_whatever_they_answer(failure):
    assert auto_join(Runtime(failure)) == AutoJoin(16, JoinPolicy.EMPTY)


def test_a_runtime_without_amd_s_own_functions_forwards_to_another_driver():
    missing = UnavailableError("the HIP library has no function hipExtGetLastError")
    assert auto_join(Runtime(missing)) == AutoJoin(64, JoinPolicy.KERNEL)


def test_the_environment_sets_the_default(counting, device, monkeypatch):
    monkeypatch.setenv("HIPGRAPH_CB_JOIN", "kernel")
    wide(device, join=None)
    assert counting.calls.count("hipGraphAddKernelNode") == 2
    wide(device, join="empty")
    assert counting.calls.count("hipGraphAddEmptyNode") == 2 + 2  # with both roots
    monkeypatch.setenv("HIPGRAPH_CB_JOIN", "")
    wide(device, join=None)
    monkeypatch.setenv("HIPGRAPH_CB_JOIN", "magic")
    with pytest.raises(InvalidArgumentError) as caught:
        device.command_buffer()
    assert str(caught.value) == (
        "unknown join policy\n"
        "  where: the environment variable HIPGRAPH_CB_JOIN\n"
        "  found: 'magic'\n"
        "  allowed: 'edges', 'empty', 'kernel', 'auto'"
    )


@pytest.mark.parametrize(
    ("device", "file"),
    [
        ("gfx942:sramecc+:xnack-", "gfx942"),
        ("gfx90a:sramecc-:xnack+", "gfx90a"),
        ("gfx908", "gfx908"),
        ("gfx906:sramecc+:xnack-", "gfx9-generic"),
        ("gfx900", "gfx9-generic"),
        ("gfx1010", "gfx10-1-generic"),
        ("gfx1030", "gfx10-3-generic"),
        ("gfx1036", "gfx10-3-generic"),
        ("gfx1100", "gfx1100"),
        ("gfx1103", "gfx11-generic"),
        ("gfx1151", "gfx11-generic"),
        ("gfx1200", "gfx12-generic"),
        ("gfx1201", "gfx1201"),
    ],
)
def test_there_is_a_code_object_for_every_family(device, file):
    target = TargetId.parse(device)
    data = code_for(target)
    assert data == (KERNELS / f"join.{file}.hsaco").read_bytes()
    export = verify(data, target=target).exports["join"]
    assert (export.parameters, export.kernarg_size, export.private_segment_size) == ((), 0, 0)


def test_each_file_is_what_its_name_says():
    files = list(KERNELS.glob("join.*.hsaco"))
    assert len(files) == 10
    for file in files:
        assert str(verify(file.read_bytes()).target).split(":")[0] == file.name.split(".")[1]
        assert file.stat().st_size < 4096
    assert Path(KERNELS / "join.c").exists()


def test_amd_s_runtime_finds_the_kernel_because_its_symbols_are_protected():
    """hipModuleGetFunction of AMD's 6.4.3 answers 500 for a kernel of default visibility."""
    for file in KERNELS.glob("join.*.hsaco"):
        symbols = ELFFile(io.BytesIO(file.read_bytes())).get_section_by_name(".dynsym")
        found = {symbol.name: symbol["st_other"]["visibility"] for symbol in symbols.iter_symbols()}
        assert (found["join"], found["join.kd"]) == ("STV_PROTECTED", "STV_PROTECTED"), file.name


def test_a_family_without_one_is_refused_by_name():
    with pytest.raises(UnavailableError) as caught:
        code_for(TargetId.parse("gfx1250"))
    assert str(caught.value) == (
        "program: there is no join kernel for this target\n"
        "  found: gfx1250\n"
        "  allowed: gfx1100, gfx1201, gfx908, gfx90a, gfx942, gfx10-1-generic, gfx10-3-generic, gfx11-generic, "
        "gfx12-generic, gfx9-generic\n"
        "  next: use join='edges', 'empty' or 'auto'"
    )
