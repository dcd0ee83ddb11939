"""Updates carry host bytes that were copied when they were recorded."""

import numpy as np
from support.collection import collect

SOURCE = bytes([*range(1, 9), *range(0xA1, 0xA9)])


def test_a_whole_buffer_is_updated(run, zeros):
    target = zeros(16)
    run(lambda cb, a: cb.update_buffer(a, SOURCE), target)
    assert target.to_host().tobytes() == SOURCE


def test_a_larger_payload_arrives_whole(run, zeros):
    payload, target = bytes(index ^ 0xA5 for index in range(256)), zeros(256)
    run(lambda cb, a: cb.update_buffer(a, payload), target)
    assert target.to_host().tobytes() == payload


def test_a_payload_of_more_than_64_kib_arrives_whole(run, zeros):
    payload = np.random.default_rng(1).integers(0, 256, (1 << 20) + 3, dtype=np.uint8)
    target = zeros(payload.size)
    run(lambda cb, a: cb.update_buffer(a, payload), target)
    assert np.array_equal(target.to_host(), payload)


def test_offsets_on_both_sides(run, zeros):
    target = zeros(16)
    run(lambda cb, a: cb.update_buffer(a, SOURCE[4:12], offset=4), target)
    assert target.to_host().tobytes() == bytes(4) + SOURCE[4:12] + bytes(4)


def test_an_update_of_a_view_lands_in_the_buffer_behind_it(run, zeros):
    target = zeros(16)
    run(lambda cb, a: cb.update_buffer(a, SOURCE[4:8], offset=4), target.view(4, 8))
    assert target.to_host().tobytes() == bytes(8) + bytes([5, 6, 7, 8]) + bytes(4)


def test_host_bytes_are_copied_when_they_are_recorded(device, zeros):
    host, target = np.arange(16, dtype=np.uint8), zeros(16)
    with device.command_buffer() as cb:
        cb.update_buffer(target, host)
    host[:] = 0xFF
    del host
    collect()
    for _ in range(2):
        target.write(bytes(16))
        cb.replay()
        assert target.to_host().tolist() == list(range(16))
