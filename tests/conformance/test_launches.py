"""Kernels that are launched at once, without a recording."""

import numpy as np
import pytest
from support.collection import collect

from hipgraph_cb import samples
from hipgraph_cb.errors import FailedPreconditionError, HipGraphError, InvalidArgumentError, UnimplementedError


@pytest.fixture(scope="module")
def saxpy(device):
    return device.load(samples.path("saxpy", device.target))["saxpy"]


def test_a_kernel_is_called_like_a_function(device, saxpy):
    y, x = device.ones(256), device.asarray(np.arange(256, dtype=np.float32))
    launch = saxpy(4, 64, y, x, 2.0, 256)
    launch.synchronize()
    assert launch.is_done
    np.testing.assert_array_equal(y.to_host(), 1 + 2 * np.arange(256, dtype=np.float32))


def test_launches_of_one_stream_run_in_order(device, saxpy):
    y, x = device.zeros(64), device.ones(64)
    with device.stream() as stream:
        for _ in range(20):
            launch = device.launch(saxpy, 1, 64, [y, x, 1.0, 64], stream=stream)
        launch.synchronize()
        np.testing.assert_array_equal(y.to_host(), np.full(64, 20, np.float32))


def test_memory_of_a_launch_is_kept_until_it_has_ended(device, saxpy):
    y = device.zeros(64)
    launch = saxpy(1, 64, y, device.ones(64), 3.0, 64)
    collect()
    launch.synchronize()
    assert y.to_host().tolist() == [3.0] * 64


def test_a_launch_without_workgroups_does_nothing(device, saxpy):
    y = device.zeros(64)
    saxpy(0, 64, y, y, 3.0, 64).synchronize()
    assert y.to_host().tolist() == [0.0] * 64


def test_a_wrong_argument_is_refused_as_in_a_recording(device, saxpy):
    y = device.zeros(64)
    with pytest.raises(InvalidArgumentError, match="saxpy: too few arguments"):
        saxpy(1, 64, y)
    with pytest.raises(InvalidArgumentError):
        device.launch("saxpy", 1, 64, [y])


def test_a_closed_device_launches_nothing(device):
    from hipgraph_cb import open_device

    with open_device(device.backend, device=device.ordinal) as other:
        kernel = other.load(samples.path("saxpy", other.target))["saxpy"]
        y = other.zeros(64)
    with pytest.raises(FailedPreconditionError):
        kernel(1, 64, y, y, 1.0, 64)


def test_the_kernel_says_what_it_takes(device, saxpy):
    """As `llvm-readobj --notes` shows the file."""
    registers = {"gfx942": (6, 12), "gfx1100": (4, 18), "gfx1201": (4, 10)}
    assert (saxpy.registers.vgprs, saxpy.registers.sgprs) == registers[device.target.processor]
    assert (saxpy.lds_size, saxpy.scratch_size, saxpy.max_workgroup_size) == (0, 0, 256)


def test_occupancy_is_what_the_runtime_says_or_refused(device, saxpy):
    if device.backend == "hip":
        assert saxpy.occupancy(256) == 8  # 2 048 work-items of a compute unit
        assert saxpy.occupancy(64, dynamic_lds=32768) == 2  # 64 KiB of LDS
        with pytest.raises(HipGraphError):
            saxpy.occupancy(1024)
    else:
        with pytest.raises(UnimplementedError, match="occupancy: the hsa backend has no runtime that answers"):
            saxpy.occupancy(256)
