"""One GPU, two libraries: what was made through HIP is there for HSA, and vice versa."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from support.devices import VIRTUAL_GPUS
from support.hsa_client import CORPUS, dispatch, out

from hipgraph_cb.errors import FailedPreconditionError
from hipgraph_cb.virtual.install import install, install_hsa

COUNT = 1000
GRID, WORKGROUP = (1024, 1, 1), (256, 1, 1)


@pytest.fixture
def hip():
    install(VIRTUAL_GPUS)
    from hip import hip

    return hip


def run_saxpy(client, module, queue, y, x):
    done = client.signal()
    kernarg = module.kernargs("saxpy", GRID, WORKGROUP, "QQfI", y, x, 3.0, COUNT)
    queue.submit(dispatch(kernarg, GRID, WORKGROUP, **module.kernel("saxpy"), completion=done))
    assert client.wait(done) == 0


def test_both_libraries_lead_to_the_same_machine(hip, library):
    assert install(VIRTUAL_GPUS).machine is library.machine
    assert install_hsa(VIRTUAL_GPUS) is library


def test_other_devices_are_refused_by_either_library(hip):
    with pytest.raises(FailedPreconditionError, match="this process already has virtual GPUs"):
        install_hsa(["gfx1100"])


def test_a_hip_allocation_is_used_by_an_hsa_dispatch(hip, client, module, queue):
    x = np.arange(COUNT, dtype=np.float32)
    at_y, at_x = int(hip.hipMalloc(x.nbytes)[1]), client.upload(x)
    assert int(hip.hipMemcpy(at_y, np.ones_like(x), x.nbytes, hip.hipMemcpyKind.hipMemcpyHostToDevice)[0]) == 0
    run_saxpy(client, module, queue, at_y, at_x)
    result = np.empty_like(x)
    assert int(hip.hipMemcpy(result, at_y, x.nbytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost)[0]) == 0
    np.testing.assert_array_equal(result, 3 * x + 1)
    assert int(hip.hipFree(at_y)[0]) == 0


def test_an_hsa_allocation_is_used_by_a_hip_kernel_and_freed_by_hsa_only(hip, client):
    code = (CORPUS / "clang/k_cl.gfx942.hsaco").read_bytes()
    function = hip.hipModuleGetFunction(hip.hipModuleLoadData(code)[1], b"saxpy")[1]
    x = np.arange(COUNT, dtype=np.float32)
    at_y, at_x = client.upload(np.ones_like(x)), client.upload(x)
    values = [ctypes.c_uint64(at_y), ctypes.c_uint64(at_x), ctypes.c_float(3.0), ctypes.c_uint32(COUNT)]
    table = (ctypes.c_void_p * 4)(*[ctypes.addressof(value) for value in values])
    assert int(hip.hipModuleLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, None, table, None)[0]) == 0
    assert int(hip.hipDeviceSynchronize()[0]) == 0
    np.testing.assert_array_equal(client.read(at_y, COUNT, np.float32), 3 * x + 1)
    assert int(hip.hipFree(at_y)[0]) != 0


def test_a_failing_queue_leaves_hip_working(hip, client, module, queue):
    queue.submit(dispatch(0, GRID, WORKGROUP, **module.kernel("saxpy")))
    assert queue.wait_for_error()[0] == 43
    assert int(hip.hipDeviceSynchronize()[0]) == 0


def test_a_failing_hip_kernel_leaves_queues_working(hip, client, module, queue):
    code = (CORPUS / "clang/k_cl.gfx942.hsaco").read_bytes()
    function = hip.hipModuleGetFunction(hip.hipModuleLoadData(code)[1], b"saxpy")[1]
    values = [ctypes.c_uint64(0), ctypes.c_uint64(0), ctypes.c_float(3.0), ctypes.c_uint32(COUNT)]
    table = (ctypes.c_void_p * 4)(*[ctypes.addressof(value) for value in values])
    assert int(hip.hipModuleLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, None, table, None)[0]) == 0
    assert int(hip.hipDeviceSynchronize()[0]) == 700
    y = client.upload(np.ones(COUNT, np.float32))
    run_saxpy(client, module, queue, y, y)
    assert set(client.read(y, COUNT, np.float32)) == {4.0}


def test_work_of_both_libraries_is_interleaved_on_one_worker(hip, client, module, queue, library):
    y = client.upload(np.zeros(COUNT, np.float32))
    for _ in range(10):
        run_saxpy(client, module, queue, y, y)
        assert int(hip.hipMemsetAsync(y, 0, 4, None)[0]) == 0
    assert int(hip.hipDeviceSynchronize()[0]) == 0
    assert len(library.machine.gpus) == len(VIRTUAL_GPUS)


def test_calls_are_counted_and_failed_in_their_own_library(client, library):
    with library.count_calls() as count, library.inject("hsa_signal_create", 2, 0x1008) as injection:
        out(client.hsa.hsa_signal_create, 1, 0, None)
        handle = ctypes.c_uint64()
        assert client.hsa.hsa_signal_create(1, 0, None, ctypes.byref(handle)) == 0x1008
        assert client.hsa.hsa_signal_load_relaxed(client.signal(-4)) == -4
    assert injection.has_fired
    assert dict(count) == {"hsa_signal_create": 3, "hsa_signal_load_relaxed": 1}
    assert client.hsa.hsa_signal_load_relaxed(client.signal(-4)) == -4
