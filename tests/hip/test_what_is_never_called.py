"""What AMD's runtime ends the process for, or does wrong, is never asked of it."""

import ast
import ctypes
import inspect
import weakref

import pytest
from support.every_verb import every_verb

from hipgraph_cb import Slot
from hipgraph_cb.errors import FailedPreconditionError, InvalidArgumentError, OutOfRangeError
from hipgraph_cb.hip.device import HipDevice

NEVER = {
    "hipGraphAddMemcpyNode",  # a wrong direction is accepted and ends the process at the launch
    "hipDrvGraphAddMemcpyNode",
    "hipDrvGraphAddMemsetNode",
    "hipGraphAddMemAllocNode",
    "hipGraphAddMemFreeNode",
    "hipMemset2DAsync",
}


def test_copies_and_fills_are_one_dimensional(counting, code_object):
    every_verb(HipDevice, code_object)
    assert not NEVER & set(counting.calls)


def test_a_memset_block_has_one_row(counting, device, monkeypatch):
    blocks = []

    def add(_graph, _dependencies, _count, parameters):
        blocks.append((parameters.height, parameters.elementSize, parameters.width, parameters.pitch))
        return 0, 0x5000

    monkeypatch.setitem(counting, "hipGraphAddMemsetNode", add)
    buffer = device.allocate(64)
    with device.command_buffer() as cb:
        cb.fill_buffer(buffer, 1, pattern_length=1, length=3)
        cb.fill_buffer(buffer, 1, pattern_length=2, offset=4, length=6)
        cb.fill_buffer(buffer, 1, offset=12, length=8)
    assert blocks == [(1, 1, 3, 0), (1, 2, 3, 0), (1, 4, 2, 0)]


def test_memory_of_a_node_is_there_as_long_as_the_program(counting, device):
    buffer = device.allocate(64)
    with device.command_buffer() as cb:
        cb.fill_buffer(buffer, 1)
    handle = weakref.ref(buffer.handle)
    buffer.close()
    cb.replay()
    assert handle() is not None
    assert counting.kinds["allocation"] == 1
    with pytest.raises(FailedPreconditionError):
        device.program(cb.recording)


def test_a_module_of_a_node_is_there_as_long_as_the_program(counting, device, code_object):
    executable = device.load(code_object)
    with device.command_buffer() as cb:
        cb.dispatch(executable["nothing"], 1)
    executable.close()
    cb.replay()
    assert counting.kinds["module"] == 1
    with pytest.raises(FailedPreconditionError):
        device.program(cb.recording)


def test_a_view_that_goes_frees_nothing(counting, device):
    buffer = device.allocate(64)
    view = buffer.view(16, 16)
    assert not hasattr(view, "close")
    del view
    assert counting.kinds["allocation"] == 1


def test_a_closed_program_launches_nothing(counting, device):
    buffer = device.allocate(64)
    with device.command_buffer() as cb:
        cb.fill_buffer(buffer, 1)
    cb.program.close()
    counting.calls.clear()
    for mode in ("graph", "stream"):
        with pytest.raises(FailedPreconditionError):
            cb.replay(mode=mode)
    assert counting.calls == []


def test_only_kernels_of_loaded_code_become_nodes(counting, device):
    for export in (object(), 5, None, "saxpy", 0x7000):
        with pytest.raises(InvalidArgumentError, match="export is no kernel"), device.command_buffer() as cb:
            cb.dispatch(export, 1)
    assert "hipGraphAddKernelNode" not in counting.calls


def test_a_truncated_code_object_never_reaches_the_runtime(counting, device, code_object):
    for length in (0, 3, 63, 64, 500, len(code_object) // 2, len(code_object) - 1000):
        with pytest.raises((InvalidArgumentError, OutOfRangeError)):
            device.load(code_object[:length])
    assert "hipModuleLoadData" not in counting.calls


def test_a_node_never_waits_twice_for_the_same(counting, device, monkeypatch):
    lists = []

    def add(_graph, dependencies, count, _parameters):
        lists.append(list((ctypes.c_uint64 * count).from_address(int(dependencies))) if count else [])
        return 0, 0x5000 + 16 * len(lists)

    monkeypatch.setitem(counting, "hipGraphAddMemsetNode", add)
    buffer = device.allocate(256)
    for options in ({"join": "edges"}, {"join": "empty"}, {"dependencies": "inferred"}):
        lists.clear()
        with device.command_buffer(**options) as cb:
            for layer in range(4):
                for index in range(5):
                    cb.fill_buffer(buffer, layer, offset=16 * index, length=32)
                cb.execution_barrier()
        for each in lists:
            assert len(each) == len(set(each))
            assert 0 not in each


def test_after_a_failed_node_the_graph_is_given_up(counting, device):
    buffer = device.allocate(64)
    counting.calls.clear()
    counting.failing = 3
    with pytest.raises(Exception, match="hipGraphAddMemsetNode"), device.command_buffer() as cb:
        cb.fill_buffer(buffer, 1)
        cb.fill_buffer(buffer, 2)
    added = ["hipGraphAddEmptyNode", "hipGraphAddMemsetNode", "hipGraphAddMemsetNode"]
    assert counting.calls == ["hipGraphCreate", *added, "hipGraphDestroy"]


@pytest.mark.parametrize("is_slot", [False, True])
def test_no_offset_is_cut_to_32_bits(counting, device, code_object, monkeypatch, is_slot):
    """Addresses 2^32 bytes and more behind the start of a buffer that is only said to be there."""
    start, far = 0x7000_0000_0000, (1 << 33) + 8
    monkeypatch.setattr(
        type(counting), "hipMalloc", lambda self, _size: (self.live.update({start: "allocation"}), (0, start))[1]
    )
    nodes = []

    def memset(_graph, _dependencies, _count, parameters):
        nodes.append((int(parameters.dst), parameters.width * parameters.elementSize))
        return 0, 0x5000

    def memcpy(_graph, _dependencies, _count, target, source, count, _kind):
        nodes.append((int(target), source if isinstance(source, bytes) else int(source), count))
        return 0, 0x5000

    def kernel(_graph, _dependencies, _count, parameters):
        table = int(parameters.kernelParams)
        first = ctypes.c_uint64.from_address(ctypes.c_uint64.from_address(table).value).value
        nodes.append(first)
        return 0, 0x5000

    monkeypatch.setitem(counting, "hipGraphAddMemsetNode", memset)
    monkeypatch.setitem(counting, "hipGraphAddMemcpyNode1D", memcpy)
    monkeypatch.setitem(counting, "hipGraphAddKernelNode", kernel)
    buffer, executable = device.allocate(1 << 40), device.load(code_object)
    place = Slot(0) if is_slot else buffer
    with device.command_buffer(binding_capacity=1) as cb:
        cb.fill_buffer(place, 1, offset=far, length=(1 << 32) + 4)
        cb.update_buffer(place, b"12", offset=far)
        cb.copy_buffer(place, place, source_offset=far, target_offset=2 * far, length=(1 << 32) + 1)
        cb.dispatch(executable["workgroup_ids"], 1, args=[Slot(0, far, 4) if is_slot else buffer.view(far, 4)])
    if is_slot:
        cb.replay(bindings=[buffer])
    address = start + far
    assert nodes == [
        (address, (1 << 32) + 4),
        (address, b"12", 2),
        (start + 2 * far, address, (1 << 32) + 1),
        address,
    ]


def test_parameters_of_many_dispatches_take_the_memory_of_one(counting, device, code_object):
    import tracemalloc

    executable, buffer = device.load(code_object), device.allocate(64)
    with device.command_buffer() as cb:
        for index in range(5000):
            cb.dispatch(executable["scale_and_offset"], 1, args=[buffer, buffer, index, 1])
            cb.execution_barrier()
    device.program(cb.recording).close()  # what is imported or remembered at the first one does not count
    tracemalloc.start()
    try:
        program = device.program(cb.recording)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 5000 * 200, f"{peak // 5000} bytes for each dispatch"
    program.close()


def test_zero_lengths_and_counts_never_reach_the_runtime(counting, device, code_object):
    buffer, executable = device.allocate(64), device.load(code_object)
    counting.calls.clear()
    with device.command_buffer(binding_capacity=1) as cb:
        cb.fill_buffer(buffer, 1, length=0)
        cb.update_buffer(buffer, b"")
        cb.copy_buffer(buffer, Slot(0), length=0)
        for nothing in (buffer.view(64), buffer.view(8, 0)):
            cb.fill_buffer(nothing, 1)
            cb.copy_buffer(nothing, buffer.view(0, 0))
        cb.fill_buffer(buffer, 1, offset=64)
        cb.fill_buffer(Slot(0, 4, 0), 1)
        cb.copy_buffer(Slot(0, 4, 0), buffer.view(0, 0))
        cb.dispatch(executable["nothing"], (1, 0, 1))
    assert counting.calls == ["hipGraphCreate", "hipGraphInstantiate", "hipGraphDestroy"]


def test_nobody_in_the_backend_names_a_call_that_is_never_to_be_made():
    import pkgutil

    import hipgraph_cb.hip

    named = set()
    for module in pkgutil.iter_modules(hipgraph_cb.hip.__path__, "hipgraph_cb.hip."):
        tree = ast.parse(inspect.getsource(__import__(module.name, fromlist=["x"])))
        named |= {
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
    assert not NEVER & named
