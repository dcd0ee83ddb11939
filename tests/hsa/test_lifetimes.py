"""What a program of the HSA backend takes is released when the program is dropped, without any close."""

import weakref

import numpy as np
import pytest
from support.collection import collect

from hipgraph_cb import Slot
from hipgraph_cb.opening import virtual_runtime


def program_with(device, kernels, kind):
    x = device.from_host(np.arange(4, dtype=np.uint32))
    with device.command_buffer(binding_capacity=1) as cb:
        cb.update_buffer(x, np.arange(4, dtype=np.uint32))
        cb.execution_barrier()
        cb.dispatch(kernels["negate"], 1, args=[x, Slot(0) if kind == "slots" else x])
    return cb, x


@pytest.mark.parametrize("kind", ["direct", "slots"])
def test_a_program_that_is_dropped_goes_at_once_and_its_memory_when_its_launches_are_done(small, kernels, kind):
    collect()
    with virtual_runtime("hsa").count_calls() as count:
        cb, x = program_with(small, kernels, kind)
        for _ in range(5):
            cb.replay(bindings=[x] if kind == "slots" else None)
        alive = weakref.ref(cb.program)
        del cb, x
        collect()
        assert alive() is None
        small.synchronize()
        small.allocate(16).close()  # sweeps what is done
    assert count["hsa_amd_memory_pool_free"] == count["hsa_amd_memory_pool_allocate"] > 2


def test_a_buffer_that_was_bound_before_goes_when_another_one_is_bound(small, kernels):
    cb, _x = program_with(small, kernels, "slots")
    first, second = small.allocate(16), small.allocate(16)
    cb.replay(bindings=[first])
    handle = weakref.ref(first.handle)
    first.close()
    del first
    small.synchronize()
    assert handle() is not None
    cb.replay(bindings=[second])
    small.synchronize()
    assert handle() is None
    assert second.to_host(np.int32).tolist() == [0, -1, -2, -3]


def test_the_loader_says_where_the_code_is(small, kernels):
    (code,) = kernels.code_ranges
    assert code.address <= kernels.kernel("negate").object < code.address + code.size
