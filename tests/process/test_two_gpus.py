"""A process with two virtual GPUs: peers, copies between devices, and work on both."""

from __future__ import annotations

from support.child import result_of, run

SETUP = """
import ctypes
import numpy as np
from hipgraph_cb.virtual.install import install
install(["gfx942", "gfx1100"])
from hip import hip
from support.hip_callers import RawLibrary
from support.hip_program import Program, code_of, done
raw, program = RawLibrary(), Program(hip)
number = ctypes.c_int()
"""


def output(code: str) -> str:
    status, out, errors = result_of(run(SETUP + code))
    assert (status, errors) == (0, "")
    return out


def test_each_device_has_its_facts_and_is_current_for_a_thread():
    code = """
names = [done(hip.hipGetDeviceProperties(each)).gcnArchName.split(":")[0] for each in (0, 1)]
print(done(hip.hipGetDeviceCount()), names)
done(hip.hipSetDevice(1))
block = int(done(hip.hipMalloc(64)))
owner = done(hip.hipPointerGetAttributes(block)).device
print(done(hip.hipGetDevice()), owner, done(hip.hipMemGetInfo())[0] - (16 << 30))
done(hip.hipSetDevice(0))
print(done(hip.hipMemGetInfo())[0] - (16 << 30), int(done(hip.hipDeviceGetByPCIBusId(b"0000:02:00.0"))))
"""
    assert output(code).splitlines() == ["2 ['gfx942', 'gfx1100']", "1 1 -64", "0 1"]


def test_peers_are_enabled_and_disabled_once():
    code = """
print([done(hip.hipDeviceCanAccessPeer(0, peer)) for peer in (0, 1)])
print([raw.hipDeviceEnablePeerAccess(1, 0) for _ in range(2)], raw.hipDeviceEnablePeerAccess(1, 5))
print([raw.hipDeviceDisablePeerAccess(1) for _ in range(2)], raw.hipDeviceDisablePeerAccess(7))
context = raw.made("hipDevicePrimaryCtxRetain", 1)
print([raw.hipCtxEnablePeerAccess(context, 0) for _ in range(2)])
print([raw.hipCtxDisablePeerAccess(context) for _ in range(2)])
print([(raw.hipDeviceGetP2PAttribute(number, which, 0, 1), number.value) for which in range(4)])
print(raw.hipDeviceGetP2PAttribute(number, 0, 0, 0), raw.hipDeviceGetP2PAttribute(number, 9, 0, 1))
kind, hops = ctypes.c_uint(), ctypes.c_uint()
print(raw.hipExtGetLinkTypeAndHopCount(0, 1, kind, hops), kind.value, hops.value)
print(raw.hipExtGetLinkTypeAndHopCount(0, 0, kind, hops))
"""
    expected = ["[0, 1]", "[0, 704] 1", "[0, 705] 101", "[0, 704]", "[0, 705]", "[(0, 0), (0, 1), (0, 1), (0, 0)]"]
    assert output(code).splitlines() == [*expected, "101 1", "0 2 1", "101"]


def test_bytes_go_from_device_to_device_and_contexts_switch_between_them():
    code = """
source = program.upload(np.arange(64, dtype=np.uint8))
context = raw.made("hipCtxCreate", 0, 1)
print(done(hip.hipGetDevice()))
target = program.upload(np.zeros(64, np.uint8))
print(raw.hipMemcpyPeer(target, 1, source, 0, 32), raw.hipMemcpyPeerAsync(target + 32, 1, source + 32, 0, 32, 0))
print((program.download(target, 64, np.uint8) == np.arange(64)).all())
print(raw.hipCtxDestroy(context), done(hip.hipGetDevice()))
"""
    assert output(code).splitlines() == ["1", "0 0", "True", "0 0"]


def test_code_for_one_device_is_refused_on_the_other():
    code = """
from support.hip_program import KERNELS
done(hip.hipSetDevice(1))
print(code_of(hip.hipModuleLoadData(KERNELS.read_bytes())))
done(hip.hipSetDevice(0))
print(code_of(hip.hipModuleLoadData(KERNELS.read_bytes())))
"""
    assert output(code).splitlines() == ["209", "0"]
