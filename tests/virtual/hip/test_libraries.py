"""Libraries and kernels: the newer names for modules and functions."""

from __future__ import annotations

import ctypes

import pytest
from support.hip_program import CORPUS, KERNELS

CONFORMANCE = CORPUS.parent / "conformance" / "conformance.gfx942.hsaco"


@pytest.fixture
def library(raw):
    made = raw.made("hipLibraryLoadData", CONFORMANCE.read_bytes(), 0, 0, 0, 0, 0, 0)
    yield made
    raw.hipLibraryUnload(made)


def test_kernels_are_found_counted_and_listed(raw, library):
    count = ctypes.c_uint()
    assert raw.hipLibraryGetKernelCount(count, library) == 0
    kernels = (ctypes.c_size_t * (count.value + 1))(*[77] * (count.value + 1))
    assert raw.hipLibraryEnumerateKernels(kernels, len(kernels), library) == 0
    assert kernels[count.value] == 0
    names = set()
    for kernel in kernels[: count.value]:
        names.add(ctypes.string_at(raw.made("hipKernelGetName", kernel)))
        assert raw.made("hipKernelGetLibrary", kernel) == library
    assert {b"saxpby", b"nothing", b"count_up"} < names
    assert raw.made("hipLibraryGetKernel", library, b"nothing") in kernels
    assert raw.hipLibraryGetKernel(ctypes.c_size_t(), library, b"missing") == 500


def test_a_kernel_becomes_a_function_that_can_be_launched(raw, library):
    kernel = raw.made("hipLibraryGetKernel", library, b"nothing")
    function = raw.made("hipKernelGetFunction", kernel)
    assert raw.hipModuleLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0) == 0
    assert raw.hipDeviceSynchronize() == 0


def test_a_kernel_tells_its_parameters_and_attributes(raw, library):
    kernel = raw.made("hipLibraryGetKernel", library, b"scale_and_offset")
    reported = []
    for index in range(4):
        offset, size = ctypes.c_size_t(), ctypes.c_size_t()
        assert raw.hipKernelGetParamInfo(kernel, index, offset, size) == 0
        reported.append((offset.value, size.value))
    assert reported == [(0, 8), (8, 8), (16, 4), (20, 4)]
    assert raw.hipKernelGetParamInfo(kernel, 4, ctypes.c_size_t(), 0) == 1
    threads = ctypes.c_int()
    assert raw.hipKernelGetAttribute(threads, 0, kernel, 0) == 0
    assert threads.value == 4
    assert raw.hipKernelSetAttribute(8, 1024, kernel, 0) == 0
    assert raw.hipKernelGetAttribute(threads, 8, kernel, 0) == 0
    assert threads.value == 1024


def test_variables_are_found(raw, library):
    size = ctypes.c_size_t()
    address = ctypes.c_size_t()
    assert raw.hipLibraryGetGlobal(address, size, library, b"counter") == 0
    assert size.value == 4
    assert address.value
    assert raw.hipLibraryGetGlobal(address, size, library, b"missing") == 500


def test_a_library_is_loaded_from_a_file_and_unloaded_once(raw):
    library = raw.made("hipLibraryLoadFromFile", str(KERNELS).encode(), 0, 0, 0, 0, 0, 0)
    kernel = raw.made("hipLibraryGetKernel", library, b"saxpy")
    assert [raw.hipLibraryUnload(library) for _ in range(2)] == [0, 400]
    assert raw.hipKernelGetFunction(ctypes.c_size_t(), kernel) == 400
    assert raw.hipLibraryLoadFromFile(ctypes.c_size_t(), b"/no/such/file", 0, 0, 0, 0, 0, 0) == 301
    assert raw.hipLibraryLoadData(ctypes.c_size_t(), b"nothing that is code" * 20, 0, 0, 0, 0, 0, 0) == 200
