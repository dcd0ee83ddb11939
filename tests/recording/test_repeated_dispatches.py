"""A dispatch like one before takes a short way; what it records and refuses is the same as on the long one."""

import gc
import struct

import numpy as np
import pytest
from support.fakes import FakeBuffer
from support.kernels import clang_kernels

from hipgraph_cb.errors import HipGraphError, InvalidArgumentError
from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.commands import Range
from hipgraph_cb.recording.dispatch_plan import MOST_SIZES
from hipgraph_cb.recording.resources import Slot


@pytest.fixture
def saxpy():
    return clang_kernels()["saxpy"]


def refused(call):
    with pytest.raises(HipGraphError) as caught:
        call()
    return str(caught.value)


def test_it_records_what_a_first_one_records(saxpy, x, y):
    calls = [
        ((4, 256), {"args": [x, y, 1.0, 7]}),
        ((4, 256), {"args": [x, y, 2.0, 8], "label": "same"}),
        ((4, 256), {"args": [y, x, 2.0, 8]}),
        ((4, 256), {"args": [y, None, 2.0, 8]}),
        ((4, 256), {"args": [y, None, 3, 8]}),
        ((4, 256), {"args": [y, 0, 3, 8]}),
        ((4, 256), {"args": [y, x.view(16, 64), 3.5, 8]}),
        ((4, 256), {"args": [Slot(0), x, 3.5, 8]}),
        ((5, 256), {"args": [x, y, 1.0, 7]}),
        ((5, 128), {"args": [x, y, 1.0, 7], "dynamic_lds": 64}),
        (((4, 2, 1), (16, 4)), {"args": [x, y, 1.0, 7]}),
    ]
    with CommandBuffer(binding_capacity=1) as together:
        for shape, arguments in calls + calls:
            together.dispatch(saxpy, *shape, **arguments)
    for index, (shape, arguments) in enumerate(calls):
        with CommandBuffer(binding_capacity=1) as alone:
            # give the resources the same ids
            alone.dispatch(saxpy, 1, 1, args=[x, y, 0.0, 0])
            alone.execution_barrier()
            alone.dispatch(saxpy, *shape, **arguments)
        assert together.recording[index] == together.recording[index + len(calls)] == alone.recording[1]


def test_it_refuses_what_a_first_one_refuses(cb, saxpy, x, y):
    wrong = [
        ((4, 256), {"args": [x, y, 1.0, 1 << 40]}),
        ((4, 256), {"args": [x, y, 1.0, -(1 << 40)]}),
        ((4, 256), {"args": [x, y, 1e300, 7]}),
        ((4, 256), {"args": [x, y, 1.0]}),
        ((4, 256), {"args": [x, y, 1.0, 7, 8]}),
        ((4, 256), {"args": [x, y, 1.0, 7.5]}),
        ((4, 256), {"args": [x, y, x, 7]}),
        ((4, 256), {"args": [x, 5, 1.0, 7]}),
        ((4, 256), {"args": [x, [], 1.0, 7]}),
        ((4, 256), {"args": [x, y, 1.0, 7], "label": 5}),
        ((4, 4096), {"args": [x, y, 1.0, 7]}),
        ((True, 256), {"args": [x, y, 1.0, 7]}),
        ((4.0, 256), {"args": [x, y, 1.0, 7]}),
    ]
    first = [refused(lambda s=shape, a=arguments: cb.dispatch(saxpy, *s, **a)) for shape, arguments in wrong]
    cb.dispatch(saxpy, 4, 256, args=[x, y, 1.0, 7])
    for (shape, arguments), message in zip(wrong, first, strict=True):
        again = refused(lambda s=shape, a=arguments: cb.dispatch(saxpy, *s, **a))
        assert again == message.replace("command 0", "command 1")
    cb.end()
    assert len(cb.recording) == 1


def test_a_buffer_that_a_failed_call_brought_is_not_taken_for_another_one_at_its_address(
    cb, saxpy, x, quick_collection
):
    for _ in range(50):
        stranger = FakeBuffer(64)
        with pytest.raises(InvalidArgumentError):
            cb.dispatch(saxpy, 4, 256, args=[x, stranger, 1.0, 7], reads=[object()])
        del stranger
        gc.collect()
        cb.dispatch(saxpy, 4, 256, args=[x, FakeBuffer(128), 1.0, 7])
    cb.end()
    assert [command.pointers[1][1].length for command in cb.recording] == [128] * 50
    assert len({command.pointers[1][1].resource for command in cb.recording}) == 50


def test_numbers_are_those_of_their_own_call(cb, saxpy, x, y):
    for index in range(100):
        cb.dispatch(saxpy, 4, 256, args=[x, y, index / 2, index])
    cb.end()
    for index, command in enumerate(cb.recording):
        assert command.kernarg[16:24] == struct.pack("<fI", index / 2, index)
        assert command.pointers == ((0, Range(0, 0, 4096)), (8, Range(1, 0, 4096)))


def test_many_like_one_another_are_nothing_to_the_garbage_collector(cb, saxpy, x, y):
    """Full collections look at every container: with one for each command, each costs what the recording is long."""
    cb.dispatch(saxpy, 4, 256, args=[x, y, 0.5, 0])
    gc.collect()
    before = len(gc.get_objects())
    for index in range(1000):
        cb.dispatch(saxpy, 4, 256, args=[x, y, index / 2, index])
        cb.execution_barrier()
    cb.end()
    assert len(gc.get_objects()) - before < 100


def test_a_kernarg_block_is_whole_however_it_is_kept(cb, saxpy, x, y):
    for index in range(3):
        cb.dispatch(saxpy, 4, 256, args=[x, y, 0.0, index])
    cb.end()
    assert {len(command.kernarg) for command in cb.recording} == {saxpy.verified.layout.size}
    assert cb.recording[0].kernarg == bytes(len(cb.recording[0].kernarg))


def test_a_new_shape_holds_for_buffers_that_came_with_another_one(cb, saxpy, x, y):
    counts = [count for count in (4, 5, 4, 6) for _ in range(3)]
    for index, count in enumerate(counts):
        cb.dispatch(saxpy, count, 256, args=[(x, y)[index % 2], y, 1.0, 7])
    cb.end()
    assert [command.workgroup_count[0] for command in cb.recording] == counts


def test_shapes_are_right_whether_they_are_remembered_or_not(cb, saxpy, x, y):
    shapes = 2 * [(count, size, lds) for count in (1, 9) for size in range(1, 257) for lds in (0, 4, 8, 12, 16)]
    assert len(set(shapes)) > 2 * MOST_SIZES
    for count, size, lds in shapes:
        cb.dispatch(saxpy, count, size, args=[x, y, 1.0, 7], dynamic_lds=lds)
    cb.end()
    found = [(command.workgroup_count[0], command.workgroup_size[0], command.dynamic_lds) for command in cb.recording]
    assert found == shapes


def test_types_that_change_between_calls_are_looked_at_each_time(cb, saxpy, x, y):
    for number in (1.5, 2, 2.5, 3):
        cb.dispatch(saxpy, 4, 256, args=[x, y, number, 7])
        for wrong in ([np.zeros(2, np.float32), 7], [number, np.uint64(1 << 40)], [number, 7.0]):
            with pytest.raises(InvalidArgumentError, match="does not fit"):
                cb.dispatch(saxpy, 4, 256, args=[x, y, *wrong])
    cb.end()
    assert [struct.unpack_from("<f", command.kernarg, 16) for command in cb.recording] == [(1.5,), (2,), (2.5,), (3,)]
