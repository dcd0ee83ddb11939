"""Contexts, limits and peer queries."""

from __future__ import annotations

from support.hip_program import code_of, done


def test_the_primary_context_is_current_from_the_start(hip):
    context = done(hip.hipDevicePrimaryCtxRetain(0))
    assert int(done(hip.hipCtxGetCurrent())) == int(context)
    assert done(hip.hipCtxGetDevice()) == 0
    done(hip.hipDevicePrimaryCtxRelease(0))


def test_a_new_context_is_current_until_it_is_destroyed(hip):
    before = int(done(hip.hipCtxGetCurrent()))
    context = done(hip.hipCtxCreate(0, 0))
    assert int(done(hip.hipCtxGetCurrent())) == int(context) != before
    done(hip.hipCtxDestroy(context))
    assert int(done(hip.hipCtxGetCurrent())) == before
    assert code_of(hip.hipCtxDestroy(context)) == 201


def test_contexts_are_a_stack(hip):
    first, second = done(hip.hipCtxCreate(0, 0)), done(hip.hipCtxCreate(0, 0))
    assert int(done(hip.hipCtxPopCurrent())) == int(second)
    assert int(done(hip.hipCtxPopCurrent())) == int(first)
    assert code_of(hip.hipCtxPopCurrent()) == 201
    done(hip.hipCtxPushCurrent(second))
    assert int(done(hip.hipCtxGetCurrent())) == int(second)
    done(hip.hipCtxDestroy(second))
    done(hip.hipCtxDestroy(first))


def test_limits_are_kept(hip):
    heap = hip.hipLimit_t.hipLimitMallocHeapSize
    before = done(hip.hipDeviceGetLimit(heap))
    done(hip.hipDeviceSetLimit(heap, 1 << 20))
    assert done(hip.hipDeviceGetLimit(heap)) == 1 << 20
    done(hip.hipDeviceSetLimit(heap, before))
    assert code_of(hip.hipDeviceGetLimit(hip.hipLimit_t.hipExtLimitScratchMin)) == 215


def test_a_device_has_no_peer_access_to_itself(hip):
    assert done(hip.hipDeviceCanAccessPeer(0, 0)) == 0
    assert code_of(hip.hipDeviceEnablePeerAccess(0, 0)) == 101
    assert code_of(hip.hipDeviceCanAccessPeer(0, 3)) == 101
