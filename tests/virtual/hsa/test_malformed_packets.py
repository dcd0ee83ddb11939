"""A malformed packet reaches the queue's error callback with a status; the queue then does nothing more."""

from __future__ import annotations

import ctypes
import time
from pathlib import Path

import pytest
from support.hsa_client import CORPUS, barrier, barrier_value, dispatch, out

GRID = WORKGROUP = (64, 1, 1)
DEAD = 0x1234500

INVALID_ARGUMENT, INVALID_ALLOCATION, INVALID_SIGNAL, OUT_OF_RESOURCES = 0x1001, 0x1003, 0x1006, 0x1008
INVALID_PACKET_FORMAT, INCOMPATIBLE_ARGUMENTS, INVALID_CODE_OBJECT = 0x1009, 0x100D, 0x1010

DISPATCHES = {
    "an agent dispatch": ({"kind": 4}, INVALID_PACKET_FORMAT),
    "an unknown type": ({"kind": 99}, INVALID_PACKET_FORMAT),
    "reserved bits of the setup": ({"dimensions": 7}, INVALID_PACKET_FORMAT),
    "a reserved field": ({"reserved0": 1}, INVALID_PACKET_FORMAT),
    "reserved bits of the header": ({"header_bits": 1 << 13}, INVALID_PACKET_FORMAT),
    "no dimensions": ({"dimensions": 0}, INCOMPATIBLE_ARGUMENTS),
    "a grid of 0": ({"grid": (64, 0, 1)}, INCOMPATIBLE_ARGUMENTS),
    "a workgroup of 0": ({"workgroup": (64, 1, 0)}, INCOMPATIBLE_ARGUMENTS),
    "a grid beyond its dimensions": ({"dimensions": 1, "grid": (64, 2, 1)}, INCOMPATIBLE_ARGUMENTS),
    "a workgroup of 2048": ({"workgroup": (1024, 2, 1)}, INVALID_ARGUMENT),
    "no kernel": ({"kernel_object": 0}, INVALID_CODE_OBJECT),
    "too much LDS": ({"group_segment_size": 65537}, INVALID_ALLOCATION),
    "too much scratch": ({"private_segment_size": 1 << 20}, OUT_OF_RESOURCES),
    "arguments at an odd place": ({"kernarg": 8}, INVALID_ARGUMENT),
    "an invalid completion signal": ({"completion": DEAD}, INVALID_SIGNAL),
}
BARRIERS = {
    "a barrier for an invalid signal": (barrier(DEAD), INVALID_SIGNAL),
    "an OR for an invalid signal": (barrier(DEAD, kind=5), INVALID_SIGNAL),
    "reserved fields of a barrier": (barrier()[:2] + b"\1" + barrier()[3:], INVALID_PACKET_FORMAT),
    "a barrier value for an invalid signal": (barrier_value(DEAD, 0, 0), INVALID_SIGNAL),
    "a barrier value with condition 4": (barrier_value(0, 4, 0), INVALID_PACKET_FORMAT),
    "a vendor-specific packet of another format": (bytes((0, 0, 1)) + bytes(61), INVALID_PACKET_FORMAT),
}


@pytest.mark.parametrize("what", DISPATCHES)
def test_a_malformed_dispatch_is_reported(client, module, queue, what):
    changes, status = DISPATCHES[what]
    fields = {"kernarg": 0, "grid": GRID, "workgroup": WORKGROUP, **module.kernel("saxpy"), **changes}
    queue.submit(dispatch(**fields))
    assert queue.wait_for_error() == (status, queue.address, 77)


@pytest.mark.parametrize("what", BARRIERS)
def test_a_malformed_barrier_is_reported(client, queue, what):
    packet, status = BARRIERS[what]
    queue.submit(packet)
    assert queue.wait_for_error() == (status, queue.address, 77)


FAULTS = (Path(__file__).resolve().parents[2] / "fixtures" / "virtual" / "faults.gfx942.hsaco").read_bytes()


def test_a_kernel_gets_at_least_the_lds_and_scratch_it_was_compiled_for(client, module):
    other = client.load(FAULTS)
    for owner, name, field in ((module, "hist", "group_segment_size"), (other, "private_at", "private_segment_size")):
        queue = client.queue()
        fields = owner.kernel(name)
        assert fields[field] > 0
        queue.submit(dispatch(0, GRID, WORKGROUP, **{**fields, field: fields[field] - 4}))
        assert queue.wait_for_error()[0] == INVALID_ALLOCATION


def test_a_kernel_of_an_executable_that_is_not_frozen_is_invalid(client, queue):
    code = (CORPUS / "clang/k_cl.gfx942.hsaco").read_bytes()
    reader = out(client.hsa.hsa_code_object_reader_create_from_memory, code, len(code))
    executable = out(client.hsa.hsa_executable_create_alt, 1, 0, None)
    assert client.hsa.hsa_executable_load_agent_code_object(executable, client.gpu, reader, None, None) == 0
    agent = ctypes.c_uint64(client.gpu)
    symbol = out(client.hsa.hsa_executable_get_symbol_by_name, executable, b"saxpy.kd", ctypes.byref(agent))
    kernel = out(client.hsa.hsa_executable_symbol_get_info, symbol, 22)
    queue.submit(dispatch(0, GRID, WORKGROUP, kernel_object=kernel))
    assert queue.wait_for_error()[0] == INVALID_CODE_OBJECT
    assert client.hsa.hsa_executable_destroy(executable) == 0
    assert client.hsa.hsa_code_object_reader_destroy(reader) == 0


def test_the_report_names_queue_packet_and_what_is_wrong(client, module, queue, library):
    queue.submit(barrier(), dispatch(0, (64, 0, 1), WORKGROUP, **module.kernel("saxpy"), barrier=True))
    queue.wait_for_error()
    line = library.fault_report()
    assert line.startswith("queue ")
    assert line.endswith(
        ", packet 1: kernel saxpy: 3 dimensions, grid (64, 0, 1), workgroup (64, 1, 1): a size or the number of "
        "dimensions is 0"
    )


def test_after_a_failure_the_queue_stops_at_that_packet(client, queue):
    before, failing, behind = client.signal(), client.signal(), client.signal()
    bad = bytes((99,)) + barrier(completion=failing, bit=True)[1:]
    queue.submit(barrier(completion=before), bad, barrier(completion=behind, bit=True))
    queue.wait_for_error()
    client.let_work_pass()
    queue.submit(barrier(completion=behind))
    client.let_work_pass()
    assert [client.value(signal) for signal in (before, failing, behind)] == [0, 1, 1]
    assert (queue.read_index, len(queue.errors)) == (1, 1)


def test_the_read_index_names_the_packet_that_failed_also_when_it_overtook_others(client, library):
    indices = set()
    for seed in range(8):
        library.reseed(seed)
        queue = client.queue()
        bad = [bytes((90 + place,)) + bytes(63) for place in range(6)]
        queue.submit(*bad)
        queue.wait_for_error()
        indices.add(queue.read_index)
        assert library.fault_report().endswith(
            f"packet {queue.read_index}: packet type {90 + queue.read_index} is not one that a kernel queue takes"
        )
    library.reseed(0)
    assert len(indices) > 1


def test_the_other_queues_and_new_ones_go_on(client, queue):
    other = client.queue()
    queue.submit(bytes((99,)) + bytes(63))
    queue.wait_for_error()
    queue.destroy()
    for working in (other, client.queue()):
        done = client.signal()
        working.submit(barrier(completion=done))
        assert client.wait(done) == 0


def test_a_queue_without_a_callback_only_stops(client, library):
    address = out(client.hsa.hsa_queue_create, client.gpu, 64, 0, None, None, 0, 0)
    base, doorbell = (ctypes.c_uint64 * 2).from_address(address + 8)
    ctypes.c_uint16.from_address(base).value = 99
    client.hsa.hsa_queue_add_write_index_relaxed(address, 1)
    client.hsa.hsa_signal_store_relaxed(doorbell, 0)
    deadline = time.monotonic() + 300
    while "packet type 99" not in (library.fault_report() or "") and time.monotonic() < deadline:
        time.sleep(0.01)
    assert library.fault_report().endswith("packet 0: packet type 99 is not one that a kernel queue takes")
    assert client.hsa.hsa_queue_destroy(address) == 0


def test_an_inactivated_queue_does_nothing_more(client, queue):
    done = client.signal()
    assert client.hsa.hsa_queue_inactivate(queue.address) == 0
    queue.submit(barrier(completion=done))
    client.let_work_pass()
    assert (client.value(done), queue.errors) == (1, [])
