"""Host memory that the program registers: kernels reach it by its device pointer."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from support.hip_program import code_of, done


@pytest.fixture
def memory(raw):
    """64 floats of the host, registered."""
    array = np.arange(64, dtype=np.float32)
    assert raw.hipHostRegister(array, array.nbytes, 0) == 0
    yield array
    raw.hipHostUnregister(array)


def test_a_kernel_reads_and_writes_registered_memory(raw, program, memory):
    device = raw.made("hipHostGetDevicePointer", memory, 0)
    assert device != memory.ctypes.data
    x = program.upload(np.ones(64, np.float32))
    saxpy = program.function()
    for round_ in (1, 2):
        done(program.launch(saxpy, program.saxpy(device, x, 2.0, 64)))
        assert raw.hipDeviceSynchronize() == 0
        assert (memory == np.arange(64) + 2 * round_).all()
    memory[:] = 5
    done(program.launch(saxpy, program.saxpy(device, x, 1.0, 64)))
    assert raw.hipDeviceSynchronize() == 0
    assert (memory == 6).all()


def test_the_host_pointer_itself_is_out_of_reach_for_kernels(raw, program, memory, runtime):
    x = program.upload(np.ones(64, np.float32))
    done(program.launch(program.function(), program.saxpy(memory.ctypes.data, x, 2.0, 64)))
    assert raw.hipDeviceSynchronize() == 700
    assert "memory access fault" in runtime.fault_report()


def test_copies_and_fills_take_either_pointer(raw, program, memory):
    device = raw.made("hipHostGetDevicePointer", memory, 0)
    assert raw.hipMemset(memory, 0, 4) == 0
    assert raw.hipMemset(device + 4, 0, 4) == 0
    assert memory[:3].tolist() == [0, 0, 2]
    assert raw.hipMemcpy(memory.ctypes.data + 8, device + 12, 4, 4) == 0
    assert memory[2] == 3
    target = program.upload(np.zeros(4, np.float32))
    assert raw.hipMemcpyDtoD(target, device + 16, 16) == 0
    assert program.download(target, 4).tolist() == [4, 5, 6, 7]


def test_it_counts_as_pinned(raw, hip, memory):
    attributes = done(hip.hipPointerGetAttributes(memory))
    assert (int(attributes.type), int(attributes.hostPointer)) == (1, memory.ctypes.data)
    assert int(attributes.devicePointer) == raw.made("hipHostGetDevicePointer", memory, 0)
    flags = ctypes.c_uint(77)
    assert raw.hipHostGetFlags(flags, memory) == 1
    assert flags.value == 77
    assert raw.hipMemset(memory.ctypes.data + 250, 0, 10) == 1


def test_a_range_that_is_registered_again_is_unregistered_once(raw, memory):
    assert raw.hipHostRegister(memory, memory.nbytes, 0) == 0
    assert raw.hipHostRegister(memory.ctypes.data + 100, 4, 0) == 712
    assert raw.hipHostUnregister(memory) == 0
    assert raw.hipHostUnregister(memory) == 713
    assert raw.hipHostGetDevicePointer(ctypes.c_size_t(), memory, 0) == 1


def test_arguments_are_checked(raw, hip):
    array = np.zeros(4)
    assert [raw.hipHostRegister(0, 8, 0), raw.hipHostRegister(array, 0, 0), raw.hipHostRegister(array, 8, 64)] == [
        1,
        1,
        1,
    ]
    block = done(hip.hipMalloc(64))
    assert raw.hipHostRegister(int(block), 64, 0) == 1
    assert code_of(hip.hipFree(block)) == 0
