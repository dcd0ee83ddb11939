"""Dispatches whose workgroup counts lie in memory."""

import pytest
from support.fakes import FakeBuffer, FakeLimits, saxpy
from support.kernels import clang_kernels

from hipgraph_cb.errors import InvalidArgumentError, OutOfRangeError
from hipgraph_cb.recording.accesses import AccessReader
from hipgraph_cb.recording.command_buffer import CommandBuffer
from hipgraph_cb.recording.commands import Dispatch, DispatchIndirect, Range, SlotRange
from hipgraph_cb.recording.resources import Slot


@pytest.fixture
def counts():
    return FakeBuffer(32, "counts")


def test_the_counts_are_twelve_bytes_of_memory(cb, x, y, counts):
    cb.dispatch_indirect(saxpy(), counts, 64, args=[y, x, 1.0, 5], label="late")
    cb.dispatch_indirect(saxpy(), counts.view(16, 12), 64, args=[y, x, 1.0, 5])
    cb.dispatch_indirect(saxpy(), Slot(0, 4), 64, args=[y, x, 1.0, 5])
    cb.end()
    first, second, third = cb.recording
    assert type(first) is DispatchIndirect
    assert (first.workgroup_count, first.workgroup_size, first.label) == (Range(0, 0, 12), (64, 1, 1), "late")
    assert second.workgroup_count == Range(0, 16, 12)
    assert third.workgroup_count == SlotRange(0, 4, 12)
    use = cb.recording.slots[0]
    assert (use.end, use.alignment, use.commands) == (16, 4, (2,))


def test_the_counts_are_read(cb, x, y, counts):
    cb.dispatch_indirect(clang_kernels()["saxpy"], counts, 64, args=[y, x, 1.0, 5])
    cb.end()
    assert AccessReader(cb.recording).of(0)[0] == (Range(0, 0, 12), True, False, True)


def test_with_the_counts_it_is_the_dispatch_that_was_meant(x, y, counts):
    with CommandBuffer() as cb:
        cb.dispatch_indirect(saxpy(), counts, 64, args=[y, x, 1.0, 5], dynamic_lds=8, label="late")
    with CommandBuffer() as direct:
        direct.fill_buffer(counts, 0)
        direct.dispatch(saxpy(), (2, 3), 64, args=[y, x, 1.0, 5], dynamic_lds=8, label="late")
    dispatch, wanted = cb.recording[0].with_count((2, 3, 1)), direct.recording[1]
    assert type(dispatch) is Dispatch
    ids = {"executable": wanted.executable, "pointers": wanted.pointers}
    assert dispatch._replace(**ids) == wanted


@pytest.mark.parametrize("style", ["bindings", "push_constants"])
def test_all_styles_of_arguments_are_taken(cb, x, y, counts, style):
    if style == "push_constants":
        cb.push_descriptor_set(0, [y, x])
        cb.push_constants(0, [7, 5])
        cb.dispatch_indirect(saxpy(), counts, 64)
    else:
        cb.dispatch_indirect(saxpy(), counts, 64, bindings=[y, x], constants=[7, 5])
    cb.end()
    assert [offset for offset, _ in cb.recording[0].pointers] == [0, 8]
    assert cb.recording[0].kernarg[20:24] == bytes([5, 0, 0, 0])


@pytest.mark.parametrize(
    ("place", "kind", "message"),
    [
        (
            lambda counts: counts.view(2, 12),
            InvalidArgumentError,
            "workgroup_count is misaligned\n"
            "  where: command 0 in 'step'\n"
            "  found: offset 2\n"
            "  allowed: a multiple of 4",
        ),
        (
            lambda counts: counts.view(0, 8),
            OutOfRangeError,
            "workgroup_count is too small for three 32-bit numbers\n"
            "  where: command 0 in 'step'\n"
            "  found: 8 bytes\n"
            "  allowed: 12 bytes or more",
        ),
        (
            lambda counts: 4,
            InvalidArgumentError,
            "workgroup_count is no device memory\n"
            "  where: command 0 in 'step'\n"
            "  found: 4 (int)\n"
            "  allowed: a Buffer, a BufferView or a Slot",
        ),
    ],
)
def test_counts_that_cannot_be_read_are_refused(cb, x, y, counts, place, kind, message):
    with pytest.raises(kind) as caught:
        cb.dispatch_indirect(saxpy(), place(counts), 64, args=[y, x, 1.0, 5])
    assert str(caught.value) == message
    cb.end()
    assert not cb.recording.resources.buffers


def test_size_and_lds_are_checked_when_it_is_recorded(x, y, counts):
    cb = CommandBuffer(limits=FakeLimits()).begin()
    with pytest.raises(OutOfRangeError, match="larger than kernel `saxpy` was compiled for"):
        cb.dispatch_indirect(saxpy(), counts, 512, args=[y, x, 1.0, 5])
    with pytest.raises(OutOfRangeError, match="needs more LDS"):
        cb.dispatch_indirect(saxpy(), counts, 64, args=[y, x, 1.0, 5], dynamic_lds=1 << 20)
    with pytest.raises(InvalidArgumentError, match="workgroup_size is missing"):
        cb.dispatch_indirect(saxpy(), counts, args=[y, x, 1.0, 5])
