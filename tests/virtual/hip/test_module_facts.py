"""Modules in their other forms, and what functions say and take."""

from __future__ import annotations

import ctypes

import pytest
from support.hip_program import CORPUS

from hipgraph_cb.abi.hip.structures import Dim3, FunctionAttributes

CONFORMANCE = (CORPUS.parent / "conformance" / "conformance.gfx942.hsaco").read_bytes()
MAX_THREADS, SHARED_SIZE, MAX_DYNAMIC = 0, 1, 8


@pytest.fixture
def module(raw):
    made = raw.made("hipModuleLoadData", CONFORMANCE)
    yield made
    assert raw.hipModuleUnload(made) == 0


def test_the_other_ways_to_load(raw):
    for name, options in (("hipModuleLoadFatBinary", ()), ("hipModuleLoadDataEx", (0, 0, 0))):
        made = raw.made(name, CONFORMANCE, *options)
        assert raw.made("hipModuleGetFunction", made, b"nothing")
        assert raw.hipModuleUnload(made) == 0


def test_a_module_counts_its_kernels_and_finds_its_variables(raw, module):
    count = ctypes.c_uint()
    assert raw.hipModuleGetFunctionCount(count, module) == 0
    assert count.value >= 10
    address, size = ctypes.c_size_t(), ctypes.c_size_t()
    assert raw.hipModuleGetGlobal(address, size, module, b"counter") == 0
    assert size.value == 4
    assert raw.hipMemcpyHtoD(address.value, ctypes.c_uint(41), 4) == 0
    out = raw.made("hipMalloc", 64)
    count_up = raw.made("hipModuleGetFunction", module, b"count_up")
    assert raw.hipMemsetD32(out, 1, 1) == 0
    argument = ctypes.c_void_p(out)
    values = (ctypes.c_void_p * 1)(ctypes.addressof(argument))
    assert raw.hipModuleLaunchKernel(count_up, 1, 1, 1, 1, 1, 1, 0, 0, values, 0) == 0
    reported = ctypes.c_uint()
    assert raw.hipMemcpyDtoH(reported, address.value, 4) == 0
    assert reported.value == 41 + 20  # the kernel adds the entry of its table that the output names
    assert raw.hipModuleGetGlobal(address, size, module, b"missing") == 500
    assert raw.hipFree(out) == 0


def test_dynamic_lds_of_a_function_can_be_limited(raw, module):
    function, value = raw.made("hipModuleGetFunction", module, b"saxpby"), ctypes.c_int()
    assert raw.hipFuncSetAttribute(function, MAX_DYNAMIC, 4096) == 0
    assert raw.hipFuncGetAttribute(value, MAX_DYNAMIC, function) == 0
    assert value.value == 4096
    assert raw.hipFuncSetAttribute(function, MAX_DYNAMIC, 65537) == 1
    assert raw.hipFuncSetAttribute(function, MAX_THREADS, 64) == 0
    assert raw.hipFuncSetAttribute(function, 9, 64) == 1
    assert raw.hipFuncGetAttribute(value, 99, function) == 1
    assert (raw.hipFuncSetCacheConfig(function, 1), raw.hipFuncSetCacheConfig(function, 9)) == (0, 1)
    assert (raw.hipFuncSetSharedMemConfig(function, 1), raw.hipFuncSetSharedMemConfig(function, 9)) == (0, 1)


def test_all_attributes_of_a_host_function_at_once(raw, registered):
    reported = FunctionAttributes()
    assert raw.hipFuncGetAttributes(reported, registered["scale_and_offset"]) == 0
    assert (reported.maxThreadsPerBlock, reported.sharedSizeBytes, reported.binaryVersion) == (4, 0, 94)
    assert raw.hipFuncGetAttributes(reported, 0x1234) == 98


@pytest.mark.parametrize("form", ["hipLaunchKernel", "hipLaunchKernel_spt"])
def test_a_launch_by_host_function(raw, registered, form):
    native = getattr(ctypes.CDLL("libamdhip64.so"), form)
    symbol = ctypes.c_size_t(registered["nothing"])
    assert native(symbol, Dim3(1, 1, 1), Dim3(1, 1, 1), None, ctypes.c_size_t(0), None) == 0
    assert raw.hipDeviceSynchronize() == 0
    assert native(ctypes.c_size_t(0x1234), Dim3(1, 1, 1), Dim3(1, 1, 1), None, ctypes.c_size_t(0), None) == 98


def test_call_configurations_are_pushed_and_popped(raw):
    library = ctypes.CDLL("libamdhip64.so")
    push, pop = library.__getattr__("__hipPushCallConfiguration"), library.__getattr__("__hipPopCallConfiguration")
    assert push(Dim3(1, 2, 3), Dim3(4, 5, 6), ctypes.c_size_t(7), ctypes.c_size_t(8)) == 0
    grid, block, lds, stream = Dim3(), Dim3(), ctypes.c_size_t(), ctypes.c_size_t()
    answers = [ctypes.byref(each) for each in (grid, block, lds, stream)]
    assert pop(*answers) == 0
    assert (grid.values, block.values, lds.value, stream.value) == ((1, 2, 3), (4, 5, 6), 7, 8)
    assert pop(*answers) == 52


def test_managed_variables_are_reached_through_a_pointer(raw):
    register = ctypes.CDLL("libamdhip64.so").__getattr__("__hipRegisterManagedVar")
    register.restype = None
    pointer, initial = ctypes.c_size_t(), ctypes.c_int(55)
    register(None, ctypes.byref(pointer), ctypes.byref(initial), b"variable", ctypes.c_size_t(4), 4)
    assert ctypes.c_int.from_address(pointer.value).value == 55
    assert raw.hipFree(pointer.value) == 0
