"""Device memory may be given for a 64-bit by-value argument: libraries of kernels declare their pointers so."""

import weakref
from pathlib import Path

import numpy as np
import pytest
from support.collection import collect
from support.patched import with_addresses_by_value

from hipgraph_cb import Recording, Slot, load_recording
from hipgraph_cb.errors import InvalidArgumentError

FIXTURES = Path(__file__).parent.parent / "fixtures" / "conformance"
VALUES = np.arange(4, dtype=np.uint32)


@pytest.fixture(scope="module")
def kernel(device):
    """`target[i] = source[i] * scale + offset` of four elements, with both addresses by value."""
    data = (FIXTURES / f"conformance.{device.target.processor}.hsaco").read_bytes()
    return device.load(with_addresses_by_value(data, value_type="u64"))["scale_and_offset"]


def test_a_buffer_and_a_view_stand_for_addresses(device, kernel, zeros):
    source, target = device.from_host(VALUES), zeros(32)
    with device.command_buffer() as cb:
        cb.dispatch(kernel, 1, args=[source, target.view(16, 16), 3, 1])
        cb.dispatch(kernel, 1, args=[source, target, 2, 0])
    cb.replay()
    assert target.to_host(np.uint32).tolist() == [*(2 * VALUES), *(3 * VALUES + 1)]


def test_a_number_is_still_an_address_of_its_own(device, kernel, zeros):
    """The same kernel in one recording with numbers and with buffers, in both orders."""
    source, target, other = device.from_host(VALUES), zeros(16), zeros(16)
    with device.command_buffer() as cb:
        cb.dispatch(kernel, 1, args=[source.address, target, 1, 5])
        cb.dispatch(kernel, 1, args=[source, other.address, 1, 6])
        cb.dispatch(kernel, 1, args=[source, target, 1, 5])
    cb.replay()
    assert target.to_host(np.uint32).tolist() == (VALUES + 5).tolist()
    assert other.to_host(np.uint32).tolist() == (VALUES + 6).tolist()


def test_a_slot_is_bound_at_each_replay(device, kernel, zeros):
    with device.command_buffer(binding_capacity=2) as cb:
        cb.dispatch(kernel, 1, args=[Slot(0), Slot(1), 1, 1])
    for factor in (1, 10):
        target = zeros(16)
        cb.replay(bindings=[device.from_host(VALUES * np.uint32(factor)), target])
        assert target.to_host(np.uint32).tolist() == (VALUES * factor + 1).tolist()


def test_the_buffer_lives_as_long_as_the_recording(device, kernel, zeros):
    source, target = device.from_host(VALUES), zeros(16)
    with device.command_buffer() as cb:
        cb.dispatch(kernel, 1, args=[source, target, 1, 2])
    held = weakref.ref(source)
    del source
    collect()
    assert held() is not None
    cb.replay()
    assert target.to_host(np.uint32).tolist() == (VALUES + 2).tolist()


def test_a_saved_recording_is_loaded_with_its_memory(device, kernel, tmp_path):
    source, target = device.from_host(VALUES, label="source"), device.allocate(16, label="target")
    with device.command_buffer() as cb:
        cb.dispatch(kernel, 1, args=[source, target, 1, 7])
    cb.recording.save(tmp_path / "shift.hgcb", contents={"source": VALUES})
    loaded = Recording.load(tmp_path / "shift.hgcb")
    assert [offset for offset, _ in loaded[0].pointers] == [0, 8]
    program = load_recording(tmp_path / "shift.hgcb", device)
    program.replay()
    assert program.recording.resources["target"].to_host(np.uint32).tolist() == (VALUES + 7).tolist()
    program.close()


def test_listings_show_the_memory_and_hazards_count_it_as_read_and_written(device, kernel, zeros):
    source, target = device.from_host(VALUES), zeros(16)
    with device.command_buffer(label="missing barrier") as cb:
        cb.dispatch(kernel, 1, args=[source, target, 1, 1])
        cb.dispatch(kernel, 1, args=[target, source, 1, 1])
    assert "arg0: ulong = " in cb.recording.to_dot()
    findings = list(cb.recording.hazards())
    assert findings
    assert not any(finding.certain for finding in findings)


@pytest.mark.parametrize("value", [np.zeros(3, np.uint64), None, [1], "text", b"12345"])
def test_host_values_that_do_not_fit_are_refused_as_before(device, kernel, value):
    with device.command_buffer() as cb, pytest.raises(InvalidArgumentError, match=r"argument 0 .* does not fit"):
        cb.dispatch(kernel, 1, args=[value, 0, 1, 1])


def test_a_float_of_64_bits_takes_no_memory(device, zeros):
    data = (FIXTURES / f"conformance.{device.target.processor}.hsaco").read_bytes()
    kernel = device.load(with_addresses_by_value(data, value_type="f64"))["scale_and_offset"]
    with device.command_buffer() as cb, pytest.raises(InvalidArgumentError, match=r"argument 0 .* does not fit"):
        cb.dispatch(kernel, 1, args=[zeros(16), zeros(16), 1, 1])
