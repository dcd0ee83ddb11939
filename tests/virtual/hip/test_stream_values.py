"""Writing values in the order of a stream, and waiting for values that other streams or the host write."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

GREATER_OR_EQUAL, EQUAL, AND, NOR = range(4)


@pytest.fixture
def streams(raw):
    made = [raw.made("hipStreamCreateWithFlags", 1) for _ in range(2)]
    yield made
    for stream in made:
        assert raw.hipStreamDestroy(stream) == 0


@pytest.fixture
def block(program):
    return program.upload(np.zeros(16, np.uint8))


@pytest.mark.parametrize("bits, value", [(32, 0x12345678), (64, 0x123456789ABCDEF0)])
def test_a_stream_waits_until_another_writes(raw, program, streams, block, bits, value):
    write, wait = getattr(raw, f"hipStreamWriteValue{bits}"), getattr(raw, f"hipStreamWaitValue{bits}")
    assert wait(streams[0], block, value, EQUAL, (1 << bits) - 1) == 0
    assert raw.hipMemsetAsync(block + 8, 7, 8, streams[0]) == 0
    assert raw.hipStreamQuery(streams[0]) == 600
    assert write(streams[1], block, value, 0) == 0
    assert raw.hipStreamSynchronize(streams[0]) == 0
    assert program.download(block, 16, np.uint8)[8:].tolist() == [7] * 8
    assert int(program.download(block, 1, f"<u{bits // 8}")[0]) == value


@pytest.mark.parametrize(
    "condition, wanted, mask, short, enough",
    [
        (GREATER_OR_EQUAL, 5, 0xFFFFFFFF, 4, 6),
        (EQUAL, 5, 0xF, 0x16, 0x25),
        (AND, 6, 0xFFFFFFFF, 1, 2),
        (NOR, 0xFFFFFFF0, 0xFFFFFFFF, 0xF, 0x7),
    ],
)
def test_conditions_are_those_of_hip(raw, streams, block, condition, wanted, mask, short, enough):
    assert raw.hipStreamWriteValue32(streams[1], block, short, 0) == 0
    assert raw.hipStreamSynchronize(streams[1]) == 0
    assert raw.hipStreamWaitValue32(streams[0], block, wanted, condition, mask) == 0
    assert raw.hipStreamWriteValue32(streams[1], block + 8, 0, 0) == 0
    assert raw.hipStreamSynchronize(streams[1]) == 0  # the worker has looked at the value meanwhile
    assert raw.hipStreamQuery(streams[0]) == 600
    assert raw.hipStreamWriteValue32(streams[1], block, enough, 0) == 0
    assert raw.hipStreamSynchronize(streams[0]) == 0


def test_the_host_may_write_the_value(raw, streams):
    flag = raw.made("hipHostMalloc", 4, 0)
    ctypes.c_uint32.from_address(flag).value = 0
    assert raw.hipStreamWaitValue32(streams[0], flag, 1, EQUAL, 0xFFFFFFFF) == 0
    assert raw.hipStreamQuery(streams[0]) == 600
    ctypes.c_uint32.from_address(flag).value = 1
    assert raw.hipStreamSynchronize(streams[0]) == 0
    assert raw.hipHostFree(flag) == 0


def test_addresses_are_checked(raw, streams, block):
    for bad in (0, block + 2, block + 16):
        assert raw.hipStreamWriteValue32(streams[0], bad, 1, 0) == 1
        assert raw.hipStreamWaitValue32(streams[0], bad, 1, EQUAL, 1) == 1
    assert raw.hipStreamWaitValue32(streams[0], block, 1, 7, 1) == 1


@pytest.mark.parametrize("form", ["hipStreamAddCallback", "hipStreamAddCallback_spt"])
def test_callbacks_get_the_stream_and_the_status(raw, streams, form):
    seen = []
    kind = ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_int, ctypes.c_size_t)
    function = kind(lambda *arguments: seen.append(arguments))
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert getattr(raw, form)(streams[0], address, 5, 0) == 0
    assert raw.hipStreamSynchronize(streams[0]) == 0
    assert seen == [(streams[0], 0, 5)]
    assert raw.hipStreamAddCallback(streams[0], address, 5, 1) == 1
    assert raw.hipStreamAddCallback(streams[0], 0, 5, 0) == 1


def test_streams_have_numbers_of_their_own(raw, streams):
    numbers = [ctypes.c_ulonglong() for _ in range(3)]
    for stream, number in zip([*streams, 0], numbers, strict=True):
        assert raw.hipStreamGetId(stream, number) == 0
    assert len({number.value for number in numbers}) == 3
