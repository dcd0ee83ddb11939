"""Device memory with a shape and an element type."""

import ml_dtypes
import numpy as np
import pytest

from hipgraph_cb import Array, samples
from hipgraph_cb.errors import FailedPreconditionError, InvalidArgumentError, NoSuchIndexError


@pytest.fixture(scope="module")
def saxpy(device):
    return device.load(samples.path("saxpy", device.target))["saxpy"]


@pytest.fixture
def grid(device):
    values = np.arange(24, dtype=np.float32).reshape(4, 3, 2)
    return values, device.asarray(values)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float16, np.float32, np.float64, np.complex64, bool])
def test_an_array_comes_back_as_numpy_gave_it(device, dtype):
    values = np.arange(12).reshape(3, 4).astype(dtype)
    array = device.asarray(values)
    back = array.to_host()
    assert (array.shape, array.dtype, array.nbytes, len(array), array.ndim) == (
        (3, 4),
        values.dtype,
        values.nbytes,
        3,
        2,
    )
    assert back.dtype == values.dtype
    np.testing.assert_array_equal(back, values)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_types_of_ml_dtypes_are_taken_and_given(device, dtype):
    values = np.array([[1.5, -2.0], [0.25, 448.0]], dtype)
    array = device.asarray(values)
    assert array.to_host().dtype == values.dtype
    np.testing.assert_array_equal(array.to_host().view(np.uint8), values.view(np.uint8))
    assert device.full(2, 0.5, dtype).to_host().astype(np.float32).tolist() == [0.5, 0.5]
    assert device.zeros(3, dtype).to_host().astype(np.float32).tolist() == [0, 0, 0]


def test_arrays_that_are_made_hold_what_their_name_says(device):
    assert device.zeros((2, 3)).to_host().tolist() == [[0, 0, 0], [0, 0, 0]]
    assert device.ones(3, np.int64).to_host().tolist() == [1, 1, 1]
    assert device.full((2, 2), [7, 8], np.uint16).to_host().tolist() == [[7, 8], [7, 8]]
    assert device.empty(5).shape == (5,)
    like = device.empty_like(np.zeros((3, 1), np.float64))
    assert (like.shape, like.dtype) == ((3, 1), np.float64)
    assert device.asarray([[1, 2], [3, 4]], np.float32).to_host().tolist() == [[1, 2], [3, 4]]


def test_asarray_of_an_array_of_the_device_is_that_array(device):
    array = device.zeros(4)
    assert device.asarray(array) is array
    assert device.asarray(array, np.float32) is array


@pytest.mark.parametrize("key", [0, 3, -1, slice(1, 3), slice(None), slice(-2, None), slice(2, 2), slice(0, 99)])
def test_parts_of_the_first_axis_are_those_of_numpy(grid, key):
    values, array = grid
    assert array[key].shape == values[key].shape
    np.testing.assert_array_equal(array[key].to_host(), values[key])


def test_parts_of_parts_reach_a_single_element(grid):
    values, array = grid
    assert array[2][1][0].to_host() == values[2, 1, 0]
    assert [part.to_host().tolist() for part in array[1]] == values[1].tolist()


def test_a_part_is_the_same_memory(grid):
    values, array = grid
    array[1].write(-1.0)
    values[1] = -1
    np.testing.assert_array_equal(array.to_host(), values)


@pytest.mark.parametrize("shape", [(24,), (2, -1), (-1, 1, 4), (6, 4)])
def test_reshaping_keeps_the_elements_in_order(grid, shape):
    values, array = grid
    np.testing.assert_array_equal(array.reshape(shape).to_host(), values.reshape(shape))
    np.testing.assert_array_equal(array.reshape(*shape).to_host(), values.reshape(shape))


@pytest.mark.parametrize("dtype", [np.uint32, np.uint16, np.float64, "V8"])
def test_a_view_as_another_type_is_that_of_numpy(grid, dtype):
    values, array = grid
    viewed = array.view(dtype)
    assert viewed.shape == values.view(dtype).shape
    np.testing.assert_array_equal(viewed.to_host(), values.view(dtype))


def test_a_host_copy_goes_where_it_is_asked_to(device, grid):
    values, array = grid
    out = np.empty_like(values)
    assert array.to_host(out=out) is out
    np.testing.assert_array_equal(out, values)
    with device.stream() as stream:
        np.testing.assert_array_equal(array.to_host(stream=stream), values)


def test_numpy_takes_an_array_by_copying_it(grid):
    values, array = grid
    np.testing.assert_array_equal(np.asarray(array), values)
    assert np.asarray(array[0], dtype=np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="has to be copied"):
        np.asarray(array, copy=False)


def test_an_array_is_taken_wherever_a_buffer_is(device, saxpy):
    y, x = device.ones((4, 64)), device.asarray(np.arange(256, dtype=np.float32))
    target = device.empty((2, 64))
    with device.command_buffer() as cb:
        cb.dispatch(saxpy, 4, 64, args=[y, x, np.float64(2), np.int64(256)])
        cb.execution_barrier()
        cb.copy_buffer(y[1:3], target)
        cb.fill_buffer(y[0], np.float32(9))
    cb.replay()
    expected = 1 + 2 * np.arange(256, dtype=np.float32).reshape(4, 64)
    np.testing.assert_array_equal(target.to_host(), expected[1:3])
    expected[0] = 9
    np.testing.assert_array_equal(y.to_host(), expected)


def test_an_array_of_another_element_type_than_the_kernel_names_is_refused(device, saxpy):
    y, x = device.zeros(64, np.float64), device.zeros(64)
    with device.command_buffer() as cb:
        with pytest.raises(InvalidArgumentError) as caught:
            cb.dispatch(saxpy, 1, 64, args=[y, x, 2.0, 64])
        cb.dispatch(saxpy, 1, 64, args=[y.view(np.float32), x, 2.0, 64])
        cb.dispatch(saxpy, 1, 64, args=[y.bytes, x, 2.0, 64])
    assert str(caught.value) == (
        "saxpy: argument 0 (arg0: float*) does not fit\n"
        "  where: command 0\n"
        "  found: an array of float64 (given: Array, Array, 2.0, 64)\n"
        "  allowed: float32 elements; .view('float32') takes the bytes as such\n"
        "  next: pass a value of the parameter's type\n"
        "signature of saxpy:\n"
        "  arg0: float* (pointer, 8 bytes at offset 0)\n"
        "  arg1: float* (pointer, 8 bytes at offset 8)\n"
        "  arg2: float (value, 4 bytes at offset 16)\n"
        "  arg3: uint (value, 4 bytes at offset 20)"
    )


def test_the_element_type_is_looked_at_in_every_dispatch(device, saxpy):
    """Arrays of all types have one class, and what is known of a dispatch is known by classes."""
    right, wrong = device.zeros(64), device.zeros(64, np.int32)
    with device.command_buffer() as cb:
        cb.dispatch(saxpy, 1, 64, args=[right, right, 2.0, 64])
        with pytest.raises(InvalidArgumentError, match="an array of int32"):
            cb.dispatch(saxpy, 1, 64, args=[right, wrong, 2.0, 64])
    assert len(cb.recording) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda device, array: device.empty(0), "empty: an array needs at least one element\n  found: shape (0,)"),
        (lambda device, array: device.empty((2, -1)), "empty: bad shape\n  found: (2, -1)"),
        (lambda device, array: device.empty("2"), "empty: bad shape\n  found: '2'"),
        (lambda device, array: device.empty(2, "float33"), "empty: numpy has no such element type\n  found: 'float33'"),
        (lambda device, array: device.empty(2, object), "empty: no element type for device memory\n  found: object"),
        (lambda device, array: device.asarray([object()]), "asarray: no element type for device memory"),
        (lambda device, array: device.asarray([[1], [2, 3]]), "asarray: numpy makes no array of this"),
        (lambda device, array: device.asarray(array, "f8"), "asarray: device memory is not converted"),
        (lambda device, array: device.empty_like(3), "empty_like: not an array\n  found: int"),
        (lambda device, array: array[::2], "array: this part is not one range of memory"),
        (lambda device, array: array[0, 0], "array: this part is not one range of memory"),
        (lambda device, array: array[0][0][0][0], "array: this part is not one range of memory"),
        (lambda device, array: array.reshape(5, -1), "reshape: another number of elements"),
        (lambda device, array: array.reshape(-1, -1), "reshape: another number of elements"),
        (lambda device, array: array.view("V7"), "view: the last axis is not a whole number of void56 elements"),
        (lambda device, array: array.write([1, 2, 3]), "write: the values do not fit the array"),
        (lambda device, array: array.write("text"), "write: the values do not fit the array"),
        (lambda device, array: array.view("i4").write(0.5), "write: the values do not fit the array"),
        (lambda device, array: array.view("u4").write(-1), "write: the values do not fit the array"),
        (lambda device, array: array.to_host(out=np.zeros(3)), "to_host: out does not fit"),
        (lambda device, array: array.to_host(stream=3), "to_host: not a stream of this device"),
    ],
)
def test_what_fits_no_array_is_refused(device, grid, call, message):
    with pytest.raises(InvalidArgumentError) as caught:
        call(device, grid[1])
    assert str(caught.value).startswith(message)


def test_an_index_outside_is_refused_as_in_a_list(grid):
    with pytest.raises(NoSuchIndexError) as caught:
        grid[1][4]
    assert isinstance(caught.value, IndexError)
    assert str(caught.value) == (
        "array: the index is outside the first axis\n"
        "  where: <array of float32, shape (4, 3, 2), in buffer of 96 bytes>\n"
        "  found: 4\n"
        "  allowed: -4 to 3"
    )


def test_an_array_refuses_to_be_used_when_its_buffer_is_closed(device):
    array = device.zeros(4)
    array.buffer.close()
    for call in (array.to_host, lambda: array.write(0), lambda: array.__cuda_array_interface__, array.__dlpack__):
        with pytest.raises(FailedPreconditionError, match="is closed"):
            call()


def test_a_failed_write_leaves_no_buffer_behind(device):
    with pytest.raises(InvalidArgumentError):
        device.full(4, [1, 2, 3])
    assert isinstance(device.full(4, 1), Array)


def test_buffers_and_arrays_may_take_turns_in_one_dispatch(device, saxpy):
    y, x, bytes_ = device.zeros(64), device.ones(64), device.from_host(np.ones(64, np.float32))
    wrong = device.zeros(64, np.float64)
    with device.command_buffer() as cb:
        for first, second in ((bytes_, bytes_), (y, x), (bytes_, x), (y, bytes_)):
            cb.dispatch(saxpy, 1, 64, args=[first, second, 1.0, 64])
            cb.execution_barrier()
            with pytest.raises(InvalidArgumentError, match="an array of float64"):
                cb.dispatch(saxpy, 1, 64, args=[first, wrong, 1.0, 64])
    cb.replay()
    assert y.to_host()[0] == 1 + 3  # x, then what the bytes hold: 1 + 1 + 1
