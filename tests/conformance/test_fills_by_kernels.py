"""`fill="kernel"`: no memset of the runtime is called, and the bytes are those of numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.collection import collect

from hipgraph_cb import Slot
from hipgraph_cb.errors import InvalidArgumentError
from hipgraph_cb.opening import process_choice, virtual_runtime

SIZE = 96


@st.composite
def fills(draw):
    """A pattern, and a range of whole patterns at a multiple of its length."""
    width = draw(st.sampled_from([1, 2, 4, 8, 16]))
    start = draw(st.integers(0, SIZE // width - 1))
    count = draw(st.integers(0, SIZE // width - start))
    return draw(st.binary(min_size=width, max_size=width)), start * width, count * width


@pytest.fixture(scope="module")
def buffers(device):
    return [device.from_host(np.zeros(SIZE, np.uint8)) for _ in range(3)]


@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_random_fills_direct_bound_and_nested_agree_with_numpy(device, buffers, data):
    if device.backend != "hip":
        pytest.skip("the HSA backend fills by kernels anyway")
    direct, first, second = buffers
    cases = data.draw(st.lists(st.tuples(st.sampled_from("dsn"), fills()), min_size=1, max_size=6))
    mode = data.draw(st.sampled_from(["graph", "stream"]))
    with device.command_buffer(binding_capacity=1, fill="kernel") as cb:
        cb.fill_buffer(Slot(0, 0, SIZE), 0)
        for kind, (pattern, offset, length) in cases:
            cb.execution_barrier()
            if kind == "n":
                with device.command_buffer(binding_capacity=1) as inner:
                    inner.fill_buffer(Slot(0), pattern, offset=offset, length=length)
                cb.execute_commands(inner, bindings=[Slot(0)])
            else:
                cb.fill_buffer(direct if kind == "d" else Slot(0), pattern, offset=offset, length=length)
    expected = {"d": direct.to_host(), "s": np.zeros(SIZE, np.uint8)}
    for kind, (pattern, offset, length) in cases:
        target = expected["d" if kind == "d" else "s"]
        target[offset : offset + length] = np.tile(np.frombuffer(pattern, np.uint8), length // len(pattern))
    for buffer in (first, second):
        cb.replay(bindings=[buffer], mode=mode)
    assert np.array_equal(direct.to_host(), expected["d"])
    assert np.array_equal(first.to_host(), expected["s"])
    assert np.array_equal(second.to_host(), expected["s"])


def test_no_memset_is_called_and_a_rebind_changes_kernel_nodes(device, zeros):
    if device.backend != "hip" or not process_choice().is_virtual:
        pytest.skip("calls can be counted in the virtual HIP library only")
    first, second, third = zeros(16), zeros(16), zeros(16)
    with virtual_runtime("hip").count_calls() as count:
        with device.command_buffer(fill="kernel") as inner:
            inner.fill_buffer(third, 9)
        with device.command_buffer(binding_capacity=1, fill="kernel") as cb:
            cb.fill_buffer(Slot(0, 0, 16), 7)
            cb.execute_commands(inner.recording)
        for mode in ("graph", "stream"):
            for buffer in (first, second):
                cb.replay(bindings=[buffer], mode=mode)
        cb.program.profile(1)
        cb.replay(bindings=[first], check=lambda output: True)
        device.synchronize()
    assert not [name for name in count if "Memset" in name]
    assert count["hipGraphExecKernelNodeSetParams"] == 1
    assert first.to_host(np.uint32).tolist() == second.to_host(np.uint32).tolist() == [7] * 4


def test_addresses_that_are_no_multiple_of_anything(device, zeros):
    """A view of a buffer is aligned in the buffer only; the memory itself may be imported at any address."""
    if device.backend != "hip":
        pytest.skip("the HSA backend fills by kernels anyway")
    whole = zeros(64)
    target = device.import_buffer(whole.address + 3, size=40)
    with device.command_buffer(fill="kernel") as cb:
        cb.fill_buffer(target, 0x0201, pattern_length=2, offset=2, length=34)
    cb.replay()
    assert whole.to_host().tolist() == [0] * 5 + [1, 2] * 17 + [0] * 25


def test_the_kernel_stays_as_long_as_a_program_that_uses_it(device, zeros):
    target = zeros(1 << 20)
    with device.command_buffer(fill="kernel") as cb:
        cb.fill_buffer(target, 0x01020304)
    other = device.program(cb.recording, fill="kernel")
    cb.program.close()
    collect()
    other.replay()
    assert (target.to_host(np.uint32) == 0x01020304).all()


def test_an_unknown_way_to_fill_is_refused(device):
    with pytest.raises(InvalidArgumentError) as caught:
        device.command_buffer(fill="slowly")
    assert str(caught.value) == "unknown way to fill\n  found: 'slowly'\n  allowed: 'memset', 'kernel'"
