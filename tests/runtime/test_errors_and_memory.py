"""The last error, allocations, and what is freed."""

from __future__ import annotations

from hipgraph_cb.hip.api import HipApi
from hipgraph_cb.hip.joins import auto_join
from hipgraph_cb.recording.dependencies import AUTO_ON_AMD


def test_a_good_call_cleared_the_last_error_in_6_4(hip, profile):
    assert hip.hipSetDevice(9)[0] == 101
    assert hip.hipPeekAtLastError()[0] == 101
    hip.done("hipGetDeviceCount")
    assert hip.hipPeekAtLastError()[0] == {"6.4": 0, "7.2": 101}[profile]
    assert hip.hipGetLastError()[0] == {"6.4": 0, "7.2": 101}[profile]
    assert hip.hipGetLastError()[0] == 0


def test_an_allocation_of_nothing_is_null(hip):
    assert hip.hipMalloc(0) == (0, 0)


def test_an_allocation_that_is_too_big_is_out_of_memory(hip):
    assert hip.hipMalloc(1 << 50)[0] == 2


def test_null_is_freed_and_junk_is_not_and_nothing_twice(hip):
    address = hip.done("hipMalloc", 16)
    assert [hip.hipFree(each)[0] for each in (0, 0x1234, address, address)] == [0, 1, 0, 1]


def test_an_interior_address_frees_the_whole_allocation(hip):
    address = hip.done("hipMalloc", 1024)
    assert hip.hipFree(address + 100)[0] == 0
    assert hip.hipFree(address)[0] == 1


def test_the_version_is_that_of_the_profile(hip, profile):
    assert hip.done("hipRuntimeGetVersion") == {"6.4": 60443484, "7.2": 70253211}[profile]


def test_asking_which_runtime_it_is_leaves_the_last_error_of_the_thread(hip):
    assert hip.hipFree(0x1234)[0] == 1
    assert auto_join(HipApi()) == AUTO_ON_AMD
    assert hip.hipGetLastError()[0] == 1
