"""Allocations, copies and fills through hip-python."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from support.hip_program import code_of, done


@pytest.fixture
def block(hip):
    """1024 bytes of device memory."""
    address = int(done(hip.hipMalloc(1024)))
    yield address
    hip.hipFree(address)


def test_more_than_there_is_is_out_of_memory(hip, runtime):
    assert code_of(hip.hipMalloc(1 << 40)) == 2
    assert "bytes are in use" in runtime.fault_report()


def test_fresh_memory_is_not_zero(hip, program, block):
    assert (program.download(block, 1024, np.uint8) == 0xCD).all()


def test_memory_in_use_is_reported(hip):
    before = done(hip.hipMemGetInfo())
    address = done(hip.hipMalloc(1 << 20))
    assert done(hip.hipMemGetInfo()) == (before[0] - (1 << 20), before[1])
    hip.hipFree(address)
    assert done(hip.hipMemGetInfo()) == before


def test_bytes_come_back_as_they_went(hip, program, block):
    data = np.random.default_rng(1).integers(0, 256, 1024, np.uint8)
    done(hip.hipMemcpyHtoD(block, data, 1024))
    assert (program.download(block, 1024, np.uint8) == data).all()


def test_device_ranges_may_overlap(hip, program):
    block = program.upload(np.arange(16, dtype=np.uint8))
    done(hip.hipMemcpyDtoD(block + 4, block, 8))
    assert program.download(block, 16, np.uint8).tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 14, 15]


@pytest.mark.parametrize("offset, size", [(0, 1025), (1000, 25), (1023, 2)])
def test_a_copy_past_the_end_is_refused_on_either_side(hip, block, offset, size):
    host = np.zeros(2048, np.uint8)
    assert code_of(hip.hipMemcpyHtoD(block + offset, host, size)) == 1
    assert code_of(hip.hipMemcpyDtoH(host, block + offset, size)) == 1


def test_a_copy_of_nothing_succeeds_and_a_null_pointer_does_not(hip, block):
    kind = hip.hipMemcpyKind.hipMemcpyDefault
    assert code_of(hip.hipMemcpy(None, None, 0, kind)) == 0
    assert code_of(hip.hipMemcpy(block, None, 4, kind)) == 1


def test_a_direction_that_is_none_is_refused(block):
    library = ctypes.CDLL("libamdhip64.so")
    host = ctypes.create_string_buffer(8)
    assert library.hipMemcpy(ctypes.c_void_p(block), host, ctypes.c_size_t(8), 7) == 21
    assert library.hipMemcpy(ctypes.c_void_p(block), host, ctypes.c_size_t(8), 1024) == 0


def test_use_after_free_is_refused_and_explained(hip, runtime):
    address = int(done(hip.hipMalloc(64)))
    done(hip.hipFree(address))
    assert code_of(hip.hipMemcpyDtoH(np.zeros(4, np.uint8), address, 4)) == 1
    assert f"{address:#x} is not device memory any more: 0 bytes into" in runtime.fault_report()


@pytest.mark.parametrize(
    "name, value, count, expected",
    [
        ("hipMemset", 0x1FF, 5, b"\xff" * 5),
        ("hipMemsetD8", 0xAB, 3, b"\xab" * 3),
        ("hipMemsetD16", 0x1234, 2, b"\x34\x12" * 2),
        ("hipMemsetD32", 0x01020304, 2, b"\x04\x03\x02\x01" * 2),
    ],
)
def test_fills_write_exactly_their_elements(hip, program, block, name, value, count, expected):
    done(getattr(hip, name)(block + 1, value, count))
    written = program.download(block, 16, np.uint8).tobytes()
    assert written == b"\xcd" + expected + b"\xcd" * (15 - len(expected))


def test_a_fill_of_host_memory_is_refused_unless_it_is_pinned(hip):
    pageable, pinned = np.zeros(8, np.uint8), done(hip.hipHostMalloc(8, 0))
    assert code_of(hip.hipMemset(pageable, 1, 8)) == 1
    assert code_of(hip.hipMemset(pinned, 1, 8)) == 0
    assert ctypes.string_at(int(pinned), 8) == b"\1" * 8
    done(hip.hipHostFree(pinned))


def test_rows_are_filled_and_the_pitch_between_them_is_left(hip, program, block):
    done(hip.hipMemset2D(block, 8, 7, 3, 4))
    rows = program.download(block, 40, np.uint8).reshape(5, 8)
    assert (rows[:4, :3] == 7).all()
    assert (rows[:4, 3:] == 0xCD).all()
    assert (rows[4] == 0xCD).all()


def test_pointer_attributes_tell_kind_and_device(hip, block):
    attributes = done(hip.hipPointerGetAttributes(block + 8))
    assert (int(attributes.type), attributes.device, attributes.isManaged) == (2, 0, 0)
    of_host = done(hip.hipPointerGetAttributes(np.zeros(4, np.uint8)))
    assert (int(of_host.type), of_host.device) == (0, -2)


def test_an_asynchronous_copy_from_pageable_memory_takes_the_bytes_at_the_call(hip, program, block):
    stream = done(hip.hipStreamCreate())
    data = np.arange(8, dtype=np.uint8)
    done(hip.hipMemcpyAsync(block, data, 8, hip.hipMemcpyKind.hipMemcpyHostToDevice, stream))
    data[:] = 99
    done(hip.hipStreamSynchronize(stream))
    assert program.download(block, 8, np.uint8).tolist() == list(range(8))
    done(hip.hipStreamDestroy(stream))
