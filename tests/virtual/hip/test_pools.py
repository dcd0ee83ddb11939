"""Pools and stream-ordered allocation."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from support.hip_program import code_of, done


@pytest.fixture
def library(runtime):
    return ctypes.CDLL("libamdhip64.so")


def test_stream_ordered_memory_lives_until_the_stream_gets_to_its_end(hip, program):
    stream = done(hip.hipStreamCreate())
    address = int(done(hip.hipMallocAsync(64, stream)))
    done(hip.hipMemsetAsync(address, 5, 64, stream))
    done(hip.hipStreamSynchronize(stream))
    assert (program.download(address, 64, np.uint8) == 5).all()
    done(hip.hipFreeAsync(address, stream))
    assert code_of(hip.hipFree(address)) == 1
    done(hip.hipStreamDestroy(stream))


def test_a_device_has_a_default_pool_that_stays(hip, library):
    pool = done(hip.hipDeviceGetDefaultMemPool(0))
    assert int(done(hip.hipDeviceGetMemPool(0))) == int(pool)
    assert code_of(hip.hipMemPoolDestroy(pool)) == 1
    address = int(done(hip.hipMallocFromPoolAsync(32, pool, None)))
    done(hip.hipFree(address))


def test_attributes_of_a_pool_are_kept(hip, library):
    pool = ctypes.c_void_p(int(done(hip.hipDeviceGetDefaultMemPool(0))))
    threshold = ctypes.c_uint64(1 << 20)
    assert library.hipMemPoolSetAttribute(pool, 4, ctypes.byref(threshold)) == 0
    reported = ctypes.c_uint64()
    assert library.hipMemPoolGetAttribute(pool, 4, ctypes.byref(reported)) == 0
    assert reported.value == 1 << 20
    assert library.hipMemPoolGetAttribute(pool, 99, ctypes.byref(reported)) == 1
