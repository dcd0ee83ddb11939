"""Replays from several threads, streams of hip-python, and memory that runs out."""

import threading

import numpy as np
import pytest

from hipgraph_cb.errors import HipError, HsaError, ResourceExhaustedError
from hipgraph_cb.opening import process_choice, virtual_runtime

OUT_OF_MEMORY = {
    "hip": ("hipMalloc", 2, "hipErrorOutOfMemory"),
    "hsa": ("hsa_amd_memory_pool_allocate", 0x1008, "HSA_STATUS_ERROR_OUT_OF_RESOURCES"),
}


def test_replays_of_one_program_from_several_threads_all_run(device, kernels):
    """Each replay counts up by ten; 4 threads replay 25 times each."""
    counter, out = kernels.global_("counter"), device.from_host(np.zeros(1, np.uint32))
    counter.write(np.zeros(1, np.uint32))
    with device.command_buffer() as cb:
        cb.dispatch(kernels["count_up"], 1, args=[out])
        cb.execution_barrier()
        cb.fill_buffer(out, 0)
    threads = [threading.Thread(target=lambda: [cb.replay() for _ in range(25)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.to_host(np.uint32).tolist() == [1000]


def test_threads_that_bind_their_own_memory_do_not_mix(device, kernels, zeros):
    from hipgraph_cb import Slot

    with device.command_buffer(binding_capacity=1) as cb:
        cb.dispatch(kernels["workgroup_ids"], 16, bindings=[Slot(0)])
    targets = [zeros(64) for _ in range(8)]
    threads = [threading.Thread(target=lambda t=target: cb.replay(bindings=[t])) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for target in targets:
        assert target.to_host(np.uint32).tolist() == list(range(16))


@pytest.mark.parametrize("as_address", [False, True])
def test_a_stream_of_hip_python_takes_a_replay_and_is_waited_for(device, kernels, zeros, as_address):
    if device.backend != "hip":
        pytest.skip("streams of hip-python belong to HIP")
    from hip import hip

    error, stream = hip.hipStreamCreateWithFlags(1)
    assert error == hip.hipError_t.hipSuccess
    target = zeros(4 * 64)
    with device.command_buffer() as cb:
        cb.dispatch(kernels["workgroup_ids"], 64, args=[target])
    cb.replay(stream=int(stream) if as_address else stream)
    assert target.to_host(np.uint32).tolist() == list(range(64))
    hip.hipStreamDestroy(stream)


def test_memory_that_runs_out_is_a_memory_error_and_the_device_works_on(device, zeros):
    if not process_choice().is_virtual:
        pytest.skip("memory can be made to run out in the virtual library only")
    buffer = zeros(16, "kept")
    function, code, name = OUT_OF_MEMORY[device.backend]
    with virtual_runtime(device.backend).inject(function, 1, code), pytest.raises(MemoryError) as caught:
        device.allocate(64, "more")
    assert isinstance(caught.value, (HipError, HsaError))
    assert isinstance(caught.value, ResourceExhaustedError)
    assert str(caught.value).startswith(f"{function} returned {code} ({name})\n  where: buffer `more` of 64 bytes")
    assert buffer.to_host().tolist() == [0] * 16
    assert zeros(16).to_host().tolist() == [0] * 16
