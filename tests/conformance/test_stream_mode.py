"""mode="stream": the same recording launched call by call leaves the same bytes, errors and lifetimes."""

import weakref

import numpy as np
import pytest
from support.collection import collect

from hipgraph_cb import Slot
from hipgraph_cb.errors import HipGraphError, InvalidArgumentError


def all_verbs(cb, kernels, source, middle, target):
    """A few of each verb, with what each leaves behind depending on the order."""
    cb.fill_buffer(target, 0xAB, pattern_length=1, length=3)
    cb.fill_buffer(target, 0xFFFE, pattern_length=2, offset=4, length=6)
    cb.fill_buffer(target, 0xDEADCAFE, offset=12, length=4)
    cb.update_buffer(source, np.arange(1, 5, dtype=np.uint32))
    cb.execution_barrier()
    cb.dispatch(kernels["scale_and_offset"], 1, bindings=[source, middle], constants=[3, 10])
    cb.execution_barrier()
    cb.copy_buffer(middle, target, target_offset=16, length=16)


EXPECTED = (
    bytes([0xAB] * 3 + [0] + [0xFE, 0xFF] * 3 + [0, 0] + [0xFE, 0xCA, 0xAD, 0xDE])
    + np.array([13, 16, 19, 22], np.uint32).tobytes()
)


@pytest.mark.parametrize("mode", ["graph", "stream"])
def test_both_modes_leave_the_same_bytes(device, kernels, zeros, run, mode):
    places = zeros(16), zeros(16), zeros(32)
    run(lambda cb, *locations: all_verbs(cb, kernels, *locations), *places, mode=mode)
    assert places[2].to_host().tobytes() == EXPECTED


def test_slots_keep_what_a_replay_in_the_other_mode_bound(device, zeros):
    x, y = zeros(4), zeros(4)
    with device.command_buffer(binding_capacity=1) as cb:
        cb.fill_buffer(Slot(0, 0, 4), 7)
    for bound, mode, other in ((x, "stream", "graph"), (y, "graph", "stream"), (x, "stream", "graph")):
        for buffer in (x, y):
            buffer.write(np.zeros(1, np.uint32))
        cb.replay(bindings=[bound], mode=mode)
        assert bound.to_host(np.uint32).tolist() == [7]
        bound.write(np.zeros(1, np.uint32))
        cb.replay(mode=other)
        assert bound.to_host(np.uint32).tolist() == [7]
        assert sorted(buffer.to_host(np.uint32)[0] for buffer in (x, y)) == [0, 7]


def test_a_stream_of_ones_own_is_taken(device, zeros):
    x = zeros(16)
    with device.command_buffer() as cb:
        cb.fill_buffer(x, 5)
    with device.stream() as stream:
        cb.replay(stream=stream, mode="stream")
        stream.synchronize()
        assert x.to_host(np.uint32).tolist() == [5] * 4


def test_host_bytes_are_those_of_the_recording(device, zeros):
    x, data = zeros(1 << 16), np.full(1 << 14, 9, np.uint32)
    with device.command_buffer() as cb:
        cb.update_buffer(x, data)
    data[:] = 1
    cb.replay(mode="stream")
    cb.program.close()
    del cb, data
    collect()
    assert set(x.to_host(np.uint32)) == {9}


def test_memory_is_kept_until_the_calls_are_done(device, kernels):
    x = device.from_host(np.arange(1, 5, dtype=np.uint32))
    y = device.from_host(np.zeros(4, np.uint32))
    with device.command_buffer() as cb:
        cb.dispatch(kernels["scale_and_offset"], 1, bindings=[x, y], constants=[2, 1])
    alive = weakref.ref(x)
    del x
    cb.replay(mode="stream")
    cb.program.close()
    assert y.to_host(np.uint32).tolist() == [3, 5, 7, 9]
    del cb
    collect()
    assert alive() is None


def test_an_unknown_mode_is_refused(device, zeros):
    x = zeros(4)
    with device.command_buffer() as cb:
        cb.fill_buffer(x, 5)
    with pytest.raises(InvalidArgumentError) as caught:
        cb.replay(mode="queue")
    assert str(caught.value) == "replay: unknown mode\n  found: 'queue'\n  allowed: 'graph', 'stream'"
    device.synchronize()
    assert x.to_host(np.uint32).tolist() == [0]


@pytest.mark.parametrize("mode", ["graph", "stream"])
def test_a_bad_table_is_the_same_error_in_both_modes(device, zeros, mode):
    with device.command_buffer(label="step", binding_capacity=1) as cb:
        cb.fill_buffer(Slot(0, 0, 8), 7, label="eight")
    with pytest.raises(HipGraphError) as caught:
        cb.replay(bindings=[zeros(4)], mode=mode)
    assert str(caught.value) == (
        "the binding in slot 0 is too small\n"
        "  where: slot 0, first used by command 0 'eight' in 'step'\n"
        "  found: 4 bytes\n"
        "  allowed: 8 bytes or more, the end of the largest range used"
    )
