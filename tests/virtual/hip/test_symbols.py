"""Device variables and kernels by the host symbols that compiled code registers."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from support.hip_callers import handles, structure

from hipgraph_cb.abi.hip.structures import Dim3, KernelNodeParams, LaunchConfig


def value_of(raw, symbol):
    value = ctypes.c_uint()
    assert raw.hipMemcpyFromSymbol(value, symbol, 4, 0, 2) == 0
    return value.value


def test_a_variable_has_an_address_and_a_size(raw, registered):
    assert raw.made("hipGetSymbolSize", registered["counter"]) == 4
    assert raw.made("hipGetSymbolAddress", registered["counter"])
    assert raw.hipGetSymbolSize(ctypes.c_size_t(), 0x1234) == 13


@pytest.mark.parametrize("suffix", ["", "_spt"])
def test_a_variable_is_copied_to_and_from(raw, registered, suffix):
    assert getattr(raw, "hipMemcpyToSymbol" + suffix)(registered["counter"], ctypes.c_uint(99), 4, 0, 1) == 0
    value = ctypes.c_uint()
    assert getattr(raw, "hipMemcpyFromSymbol" + suffix)(value, registered["counter"], 4, 0, 2) == 0
    assert value.value == 99
    assert raw.hipMemcpyToSymbol(registered["counter"], ctypes.c_uint(99), 4, 1, 1) == 1


def test_graphs_copy_to_and_from_variables(raw, registered):
    counter, given, got = registered["counter"], (ctypes.c_uint * 2)(5, 6), (ctypes.c_uint * 2)()
    graph = raw.made("hipGraphCreate", 0)
    write = raw.made("hipGraphAddMemcpyNodeToSymbol", graph, 0, 0, counter, given, 4, 0, 1)
    read = raw.made("hipGraphAddMemcpyNodeFromSymbol", graph, handles(write), 1, got, counter, 4, 0, 2)
    assert raw.hipGraphAddMemcpyNodeToSymbol(ctypes.c_size_t(), graph, 0, 0, counter, given, 8, 0, 1) == 1
    executable = raw.made("hipGraphInstantiateWithFlags", graph, 0)
    launch(raw, executable)
    assert list(got) == [5, 0]
    second_given, second_got = ctypes.addressof(given) + 4, ctypes.addressof(got) + 4
    assert raw.hipGraphExecMemcpyNodeSetParamsToSymbol(executable, write, counter, second_given, 4, 0, 1) == 0
    assert raw.hipGraphExecMemcpyNodeSetParamsFromSymbol(executable, read, second_got, counter, 4, 0, 2) == 0
    launch(raw, executable)
    assert list(got) == [5, 6]
    assert raw.hipGraphMemcpyNodeSetParamsToSymbol(write, counter, second_given, 4, 0, 1) == 0
    assert raw.hipGraphMemcpyNodeSetParamsFromSymbol(read, got, counter, 4, 0, 2) == 0
    again = raw.made("hipGraphInstantiateWithFlags", graph, 0)
    launch(raw, again)
    assert list(got) == [6, 6]
    for made in (executable, again):
        assert raw.hipGraphExecDestroy(made) == 0
    assert raw.hipGraphDestroy(graph) == 0


def launch(raw, executable):
    assert raw.hipGraphLaunch(executable, 0) == 0
    assert raw.hipDeviceSynchronize() == 0


class Call:
    """Arguments of scale_and_offset: four numbers times `scale` plus `offset`."""

    def __init__(self, program):
        self.program = program
        self.source = program.upload(np.arange(4, dtype=np.uint32))
        self.target = program.upload(np.zeros(4, np.uint32))
        self.values = (
            ctypes.c_void_p(self.source), ctypes.c_void_p(self.target), ctypes.c_uint(3), ctypes.c_uint(1),
        )  # fmt: skip
        self.table = (ctypes.c_void_p * 4)(*[ctypes.addressof(value) for value in self.values])

    def result(self):
        return self.program.download(self.target, 4, np.uint32).tolist()


@pytest.fixture
def call(program):
    return Call(program)


def test_a_launch_by_configuration(raw, registered, call):
    config = structure(LaunchConfig, gridDim=(1, 1, 1), blockDim=(4, 1, 1))
    assert raw.hipLaunchKernelExC(config, registered["scale_and_offset"], call.table) == 0
    assert call.result() == [1, 4, 7, 10]
    cooperative = (ctypes.c_uint * 18)(2, 0, 1)
    config.attrs, config.numAttrs = ctypes.addressof(cooperative), 1
    assert raw.hipLaunchKernelExC(config, registered["scale_and_offset"], call.table) == 0
    assert raw.hipDeviceSynchronize() == 0


def test_a_launch_with_events_round_it(raw, registered, call):
    start, stop = raw.made("hipEventCreate"), raw.made("hipEventCreate")
    native = ctypes.CDLL("libamdhip64.so").hipExtLaunchKernel
    numbers = [ctypes.c_size_t(each) for each in (0, 0, start, stop)]
    symbol = ctypes.c_size_t(registered["scale_and_offset"])
    assert native(symbol, Dim3(1, 1, 1), Dim3(4, 1, 1), call.table, *numbers, 0) == 0
    assert call.result() == [1, 4, 7, 10]
    elapsed = ctypes.c_float(-1)
    assert raw.hipEventElapsedTime(elapsed, start, stop) == 0
    assert elapsed.value >= 0


def test_a_launch_in_the_steps_of_the_oldest_interface(raw, registered, call):
    library = ctypes.CDLL("libamdhip64.so")
    assert library.hipConfigureCall(Dim3(1, 1, 1), Dim3(4, 1, 1), ctypes.c_size_t(0), None) == 0
    for value, offset in zip(call.values, (0, 8, 16, 20), strict=True):
        assert raw.hipSetupArgument(ctypes.addressof(value), ctypes.sizeof(value), offset) == 0
    assert raw.hipLaunchByPtr(registered["scale_and_offset"]) == 0
    assert call.result() == [1, 4, 7, 10]
    assert raw.hipLaunchByPtr(registered["scale_and_offset"]) == 52


def test_a_kernel_node_by_host_function(raw, registered, call):
    params = structure(
        KernelNodeParams, func=registered["scale_and_offset"], gridDim=(1, 1, 1), blockDim=(4, 1, 1),
        kernelParams=ctypes.addressof(call.table),
    )  # fmt: skip
    graph = raw.made("hipGraphCreate", 0)
    raw.made("hipGraphAddKernelNode", graph, 0, 0, params)
    executable = raw.made("hipGraphInstantiateWithFlags", graph, 0)
    launch(raw, executable)
    assert call.result() == [1, 4, 7, 10]


def test_a_function_handle_for_a_symbol(raw, registered):
    name = ctypes.CDLL("libamdhip64.so").hipKernelNameRefByPtr
    name.restype = ctypes.c_char_p
    assert name(ctypes.c_size_t(registered["nothing"]), None) == b"nothing"
    handle = raw.made("hipGetFuncBySymbol", registered["nothing"])
    by_handle = ctypes.CDLL("libamdhip64.so").hipKernelNameRef
    by_handle.restype = ctypes.c_char_p
    assert by_handle(ctypes.c_size_t(handle)) == b"nothing"
    assert raw.hipGetFuncBySymbol(ctypes.c_size_t(), 0x1234) == 98


def test_a_kernel_node_tells_the_host_function_that_it_was_given(raw, registered):
    graph = raw.made("hipGraphCreate", 0)
    given = structure(KernelNodeParams, func=registered["nothing"], gridDim=(1, 1, 1), blockDim=(1, 1, 1))
    node, reported = raw.made("hipGraphAddKernelNode", graph, 0, 0, given), KernelNodeParams()
    assert raw.hipGraphKernelNodeGetParams(node, reported) == 0
    assert reported.func == registered["nothing"]
    assert raw.hipGraphDestroy(graph) == 0
