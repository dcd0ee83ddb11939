"""What HIP is given of options of dispatches."""

import ctypes

import pytest
from support.counting_hip import hip

from hipgraph_cb import Slot
from hipgraph_cb.errors import HipError


@pytest.fixture
def attributes(counting, monkeypatch):
    """The attributes that nodes get, in order: (node, number of the attribute, value)."""
    given = []

    def note(node, attribute, value):
        given.append((node, int(attribute), ctypes.c_int.from_address(value).value))
        return (0,)

    monkeypatch.setitem(counting, "hipGraphKernelNodeSetAttribute", note)
    monkeypatch.setitem(counting, "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", lambda *_: (0, 8))
    return given


def test_nodes_get_their_attributes_and_the_graph_its_flag(counting, device, code_object, attributes):
    kernels = device.load(code_object)
    with device.command_buffer() as cb:
        cb.dispatch(kernels["nothing"], 2, args=[], cooperative=True)
        cb.dispatch(kernels["nothing"], 2, args=[])
        cb.dispatch(kernels["nothing"], 2, args=[], priority=-5)
    assert [each[1:] for each in attributes] == [(2, 1), (8, -5)]
    assert attributes[0][0] != attributes[1][0]
    assert "hipGraphInstantiateWithFlags" in counting.calls
    assert "hipGraphInstantiate" not in counting.calls


def test_without_options_nothing_is_asked(counting, device, code_object, attributes):
    kernels = device.load(code_object)
    with device.command_buffer() as cb:
        cb.dispatch(kernels["nothing"], 2, args=[])
    assert attributes == []
    assert "hipGraphInstantiate" in counting.calls


def test_a_rebind_leaves_them(counting, device, code_object, attributes):
    kernels = device.load(code_object)
    x, y = device.allocate(64), device.allocate(64)
    with device.command_buffer(binding_capacity=1) as cb:
        cb.dispatch(kernels["workgroup_ids"], 1, args=[Slot(0)], priority=1)
    for buffer in (x, y):
        cb.replay(bindings=[buffer])
    assert [each[1:] for each in attributes] == [(8, 1)]
    assert counting.calls.count("hipGraphExecKernelNodeSetParams") == 1


def test_call_by_call_a_cooperative_launch_is_one(counting, device, code_object, attributes):
    kernels = device.load(code_object)
    with device.command_buffer() as cb:
        cb.dispatch(kernels["nothing"], 2, args=[], cooperative=True)
    counting.calls.clear()
    cb.replay(mode="stream")
    assert [name for name in counting.calls if "Launch" in name] == ["hipModuleLaunchCooperativeKernel"]


def test_a_runtime_without_priorities_of_nodes_takes_the_program(counting, device, code_object, monkeypatch):
    kernels = device.load(code_object)
    monkeypatch.setitem(counting, "hipGraphKernelNodeSetAttribute", lambda *_: (hip.hipError_t.hipErrorInvalidValue,))
    with device.command_buffer() as cb:
        cb.dispatch(kernels["nothing"], 2, args=[], priority=-5)
    cb.replay()
    assert counting.calls.count("hipGraphLaunch") == 1


@pytest.mark.parametrize(("options", "code"), [({"cooperative": True}, 1), ({"priority": 3}, 999)])
def test_any_other_refusal_of_an_option_is_an_error(
    counting, device, code_object, attributes, monkeypatch, options, code
):
    kernels = device.load(code_object)
    monkeypatch.setitem(counting, "hipGraphKernelNodeSetAttribute", lambda *_: (hip.hipError_t(code),))
    cb = device.command_buffer()
    cb.begin()
    cb.dispatch(kernels["nothing"], 2, args=[], **options)
    with pytest.raises(HipError, match="hipGraphKernelNodeSetAttribute returned"):
        cb.end()
