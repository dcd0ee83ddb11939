"""What every backend's buffers and views do: 64-bit ranges, sizes, closing; whole messages compared."""

import numpy as np
import pytest
from support.host_device import HostDevice

from hipgraph_cb.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError, OutOfRangeError


@pytest.fixture
def device():
    return HostDevice()


def test_a_buffer_is_its_own_whole_range(device):
    buffer = device.allocate(64)
    assert buffer.buffer is buffer
    assert (buffer.offset, buffer.length, buffer.size) == (0, 64, 64)


def test_views_of_views_add_up_and_share_the_root(device):
    buffer = device.allocate(4096)
    view = buffer.view(256, 512).view(16, 32)
    assert view.buffer is buffer
    assert (view.offset, view.length) == (272, 32)
    assert view.address == buffer.address + 272


def test_a_view_without_a_length_takes_the_rest(device):
    assert device.allocate(100).view(36).length == 64


def test_a_view_may_be_empty_at_the_very_end(device):
    assert device.allocate(8).view(8).length == 0


def test_a_view_past_the_end_is_refused(device):
    with pytest.raises(OutOfRangeError) as caught:
        device.allocate(64, "x").view(60, 8)
    assert str(caught.value) == (
        "view: the range is outside\n"
        "  where: buffer `x` of 64 bytes\n"
        "  found: offset 60, length 8: bytes 60 to 68\n"
        "  allowed: bytes 0 to 64"
    )


def test_an_offset_near_two_to_the_64_does_not_wrap_round(device):
    with pytest.raises(OutOfRangeError):
        device.allocate(64).view((1 << 64) - 4, 8)


def test_a_view_cannot_leave_the_view_it_was_made_from(device):
    with pytest.raises(OutOfRangeError) as caught:
        device.allocate(64, "x").view(16, 16).view(8, 16)
    assert caught.value.where == "bytes 16 to 32 of buffer `x` of 64 bytes"


@pytest.mark.parametrize("offset", [-1, 1.0, True, "4", None])
def test_an_offset_is_a_number_of_bytes(device, offset):
    with pytest.raises(InvalidArgumentError) as caught:
        device.allocate(64).view(offset)
    assert str(caught.value) == (f"view: bad offset\n  found: {offset!r}\n  allowed: a number of bytes, 0 or more")


def test_numpy_integers_are_numbers_of_bytes(device):
    assert device.allocate(np.int64(64)).view(np.uint8(4), np.int16(8)).length == 8


@pytest.mark.parametrize("size", [0, -1, 2.5, True])
def test_a_buffer_has_at_least_one_byte(device, size):
    with pytest.raises(InvalidArgumentError):
        device.allocate(size)


def test_what_was_written_is_read_back_with_any_type(device):
    buffer = device.from_host(np.arange(6, dtype=np.int16))
    assert buffer.size == 12
    assert buffer.to_host(np.int16).tolist() == [0, 1, 2, 3, 4, 5]
    assert buffer.view(4, 4).to_host("<i2").tolist() == [2, 3]
    assert buffer.to_host().dtype == np.uint8


def test_a_view_writes_its_own_bytes_only(device):
    buffer = device.from_host(np.zeros(8, np.uint8))
    buffer.view(2, 3).write(b"\x01\x02\x03")
    assert buffer.to_host().tolist() == [0, 0, 1, 2, 3, 0, 0, 0]


def test_data_of_another_size_is_refused(device):
    with pytest.raises(InvalidArgumentError) as caught:
        device.allocate(16, "x").write(np.zeros(3, np.float32))
    assert str(caught.value) == (
        "write: the data has another size than the range\n"
        "  where: buffer `x` of 16 bytes\n"
        "  found: 12 bytes\n"
        "  allowed: 16 bytes\n"
        "  next: write to a part with .view(offset, length).write(...)"
    )


def test_strided_data_is_refused_with_the_reason(device):
    with pytest.raises(InvalidArgumentError) as caught:
        device.from_host(np.zeros((4, 4), np.float32)[:, 1])
    assert str(caught.value) == (
        "from_host: the array is not contiguous\n"
        "  found: shape (4,), strides (16,)\n"
        "  allowed: elements one after the other, last axis fastest\n"
        "  next: numpy.ascontiguousarray(array) makes a contiguous copy"
    )


@pytest.mark.parametrize("data", [[1.0, 2.0], 5, "text", None])
def test_what_has_no_bytes_of_its_own_is_no_host_data(device, data):
    with pytest.raises(InvalidArgumentError) as caught:
        device.from_host(data)
    assert caught.value.found == type(data).__name__


def test_python_objects_are_no_host_data(device):
    with pytest.raises(InvalidArgumentError, match="holds Python objects"):
        device.from_host(np.array([object()]))


def test_a_type_that_does_not_divide_the_range_is_refused(device):
    with pytest.raises(InvalidArgumentError) as caught:
        device.allocate(10, "x").to_host(np.float32)
    assert str(caught.value) == (
        "to_host: the range is not a whole number of float32 elements\n"
        "  where: buffer `x` of 10 bytes\n"
        "  found: 10 bytes\n"
        "  allowed: a multiple of 4 bytes\n"
        "  next: read a part with .view(offset, length).to_host(...)"
    )


def test_a_closed_buffer_refuses_every_use_and_closing_again_does_nothing(device):
    buffer = device.allocate(16, "x")
    view = buffer.view(4)
    with buffer:
        pass
    buffer.close()
    assert buffer.releases == 1
    for use in (view.to_host, buffer.to_host, buffer.view, view.view, lambda: buffer.write(bytes(16))):
        with pytest.raises(FailedPreconditionError, match=r"^\w+: buffer `x` of 16 bytes is closed"):
            use()


def test_a_closed_device_makes_nothing_more(device):
    device.close()
    with pytest.raises(FailedPreconditionError) as caught:
        device.allocate(16)
    assert str(caught.value) == (
        "allocate: host device 0 is closed\n  next: use the device before its close(), or make another one"
    )


def test_a_missing_file_is_not_found(device, tmp_path):
    with pytest.raises(NotFoundError) as caught:
        device.load(tmp_path / "no.hsaco")
    path = tmp_path / "no.hsaco"
    assert str(caught.value) == f"load: the file cannot be read\n  found: {path}: No such file or directory"
    assert isinstance(caught.value, FileNotFoundError)
