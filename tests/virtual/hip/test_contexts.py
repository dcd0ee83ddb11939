"""Contexts, limits and peer queries."""

from __future__ import annotations

import ctypes
import threading

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
    assert code_of(hip.hipDeviceCanAccessPeer(0, 64)) == 101


def test_the_current_context_can_be_replaced_and_left(hip):
    first, second = done(hip.hipCtxCreate(0, 0)), done(hip.hipCtxCreate(0, 0))
    done(hip.hipCtxSetCurrent(first))
    assert int(done(hip.hipCtxGetCurrent())) == int(first)
    assert int(done(hip.hipCtxPopCurrent())) == int(first)
    assert int(done(hip.hipCtxPopCurrent())) == int(first)
    assert code_of(hip.hipCtxPopCurrent()) == 201
    done(hip.hipCtxDestroy(second))
    done(hip.hipCtxDestroy(first))


def test_contexts_tell_their_flags_and_version(raw):
    context, value = raw.made("hipCtxCreate", 4, 0), ctypes.c_int()
    assert raw.hipCtxGetFlags(value) == 0
    assert value.value == 4
    assert raw.hipCtxGetApiVersion(context, value) == 0
    assert value.value == 4
    assert raw.hipCtxDestroy(context) == 0


def test_the_primary_context_is_counted(raw):
    flags, active = ctypes.c_uint(9), ctypes.c_int(9)
    raw.made("hipDevicePrimaryCtxRetain", 0)
    assert raw.hipDevicePrimaryCtxGetState(0, flags, active) == 0
    assert (flags.value, active.value) == (0, 1)
    assert raw.hipDevicePrimaryCtxRelease(0) == 0
    assert raw.hipDevicePrimaryCtxReset(0) == 0
    assert raw.hipDevicePrimaryCtxSetFlags(0, 1) == 216
    assert raw.hipDevicePrimaryCtxSetFlags(64, 1) == 101


def test_each_thread_has_its_own_stack(raw):
    context, seen = raw.made("hipCtxCreate", 0, 0), []
    thread = threading.Thread(target=lambda: seen.append(raw.made("hipCtxGetCurrent")))
    thread.start()
    thread.join()
    assert seen == [raw.made("hipDevicePrimaryCtxRetain", 0)] != [context]
    assert raw.hipCtxDestroy(context) == 0
