"""Collectives are in order on their streams, become nodes of graphs, and wait for every rank."""

from __future__ import annotations

import ctypes
import threading

import numpy as np
import pytest
from support.rccl_client import MAX, SUM, TYPE_NUMBERS

F32 = TYPE_NUMBERS["float32"]
POINTER = ctypes.c_size_t


class Sums:
    """A program whose ranks sum up vectors in place."""

    def __init__(self, program, count=64):
        self.program, self.count = program, count
        self.values = [np.full(count, rank + 1, np.float32) for rank in range(program.ranks)]
        self.memory = [program.upload(rank, each) for rank, each in enumerate(self.values)]

    def call(self, rank, reduction=SUM):
        program = self.program
        memory = POINTER(self.memory[rank])
        handles = POINTER(program.communicators[rank]), POINTER(program.streams[rank])
        return program.call("ncclAllReduce", memory, memory, POINTER(self.count), F32, reduction, *handles)

    def result(self, rank):
        return self.program.download(self.memory[rank], self.values[rank])[0]


def captured(program, record, origin=0):
    """The executable graph of what `record` enqueues on the stream of one rank."""
    stream, graph, executable = POINTER(program.streams[origin]), POINTER(), POINTER()
    program.check(program.hip.hipStreamBeginCapture(stream, 2))
    record()
    program.check(program.hip.hipStreamEndCapture(stream, ctypes.byref(graph)))
    program.check(program.hip.hipGraphInstantiate(ctypes.byref(executable), graph, None, None, POINTER(0)))
    program.check(program.hip.hipGraphDestroy(graph))
    return executable


def test_collectives_of_one_rank_run_one_after_the_other(client):
    sums = Sums(client((0, 3)))
    for _ in range(3):
        sums.program.group(sums.call)
    sums.program.synchronize()
    assert [sums.result(rank) for rank in range(2)] == [12, 12]


def test_ranks_need_no_group_where_each_has_a_thread(client):
    sums = Sums(client((0, 3, 4)))
    threads = [threading.Thread(target=sums.call, args=(rank,)) for rank in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sums.program.synchronize()
    assert [sums.result(rank) for rank in range(3)] == [6, 6, 6]


def test_a_rank_waits_for_the_others(client):
    sums = Sums(client((0, 3)))
    sums.program.check(sums.call(0))
    assert sums.program.hip.hipStreamQuery(POINTER(sums.program.streams[0])) == 600
    sums.program.check(sums.call(1))
    sums.program.synchronize()
    assert [sums.result(rank) for rank in range(2)] == [3, 3]


def test_a_device_does_other_work_while_a_rank_waits(client):
    sums = Sums(client((0, 3)))
    program = sums.program
    program.check(sums.call(0))
    target, stream = program.allocate(0, 64), program._new_stream(0)
    program.check(program.hip.hipMemsetAsync(POINTER(target), 7, POINTER(64), POINTER(stream)))
    program.check(program.hip.hipStreamSynchronize(POINTER(stream)))
    assert program.download(target, np.zeros(64, np.uint8)).tolist() == [7] * 64
    program.check(sums.call(1))
    program.synchronize()
    program.check(program.hip.hipStreamDestroy(POINTER(stream)))


def test_each_rank_may_have_a_graph_that_is_launched_again_and_again(client):
    sums = Sums(client((0, 3, 5)))
    program = sums.program
    graphs = []
    for rank in range(3):
        graphs.append(captured(program, lambda rank=rank: program.check(sums.call(rank)), rank))
    for _ in range(3):
        for rank, graph in enumerate(graphs):
            program.check(program.hip.hipGraphLaunch(graph, POINTER(program.streams[rank])))
    program.synchronize()
    assert [sums.result(rank) for rank in range(3)] == [54, 54, 54]
    for graph in graphs:
        program.check(program.hip.hipGraphExecDestroy(graph))


def test_all_ranks_may_be_in_one_graph(client):
    sums = Sums(client((0, 3, 5)))
    program, hip = sums.program, sums.program.hip
    events = [POINTER() for _ in range(4)]
    for event in events:
        program.check(hip.hipEventCreate(ctypes.byref(event)))

    def record():
        streams = list(map(POINTER, program.streams))
        program.check(hip.hipEventRecord(events[0], streams[0]))
        for stream in streams[1:]:
            program.check(hip.hipStreamWaitEvent(stream, events[0], 0))
        program.group(sums.call)
        program.group(lambda rank: sums.call(rank, MAX))
        for event, stream in zip(events[1:], streams[1:], strict=False):
            program.check(hip.hipEventRecord(event, stream))
            program.check(hip.hipStreamWaitEvent(streams[0], event, 0))

    graph = captured(program, record)
    for _ in range(2):
        program.check(hip.hipGraphLaunch(graph, POINTER(program.streams[0])))
    program.synchronize()
    assert [sums.result(rank) for rank in range(3)] == [18, 18, 18]
    program.check(hip.hipGraphExecDestroy(graph))
    for event in events:
        program.check(hip.hipEventDestroy(event))


def test_sends_and_receives_of_one_group_do_not_wait_for_each_other(client):
    program = client((0, 3, 4))
    values = [np.arange(5, dtype=np.int32) + 10 * rank for rank in range(3)]
    sent = [program.upload(rank, each) for rank, each in enumerate(values)]
    got = [program.allocate(rank, 20) for rank in range(3)]

    def around(rank):
        handles = POINTER(program.communicators[rank]), POINTER(program.streams[rank])
        code = program.call("ncclSend", POINTER(sent[rank]), POINTER(5), 2, (rank + 1) % 3, *handles)
        return code or program.call("ncclRecv", POINTER(got[rank]), POINTER(5), 2, (rank + 2) % 3, *handles)

    program.group(around)
    program.synchronize()
    for rank in range(3):
        assert program.download(got[rank], values[0]).tolist() == values[(rank + 2) % 3].tolist()


def test_streams_of_one_group_go_on_when_its_operations_are_done(client):
    sums = Sums(client((0, 3)))
    program = sums.program
    other = program._new_stream(0)
    second = Sums(program)
    first_stream = program.streams[0]

    def both(rank):
        code = sums.call(rank)
        if rank == 0:
            program.streams[0] = other
        code = code or second.call(rank)
        program.streams[0] = first_stream
        return code

    program.group(both)
    program.check(program.hip.hipStreamSynchronize(POINTER(other)))
    assert (sums.result(0), second.result(0)) == (3, 3)
    program.synchronize()
    program.check(program.hip.hipStreamDestroy(POINTER(other)))


def test_ranks_that_do_not_agree_are_reported_by_each(client, library):
    sums = Sums(client((0, 3)))
    program = sums.program
    program.group(lambda rank: sums.call(rank, (SUM, MAX)[rank]))
    codes = [program.hip.hipStreamSynchronize(POINTER(stream)) for stream in program.streams]
    text = "the ranks do not agree: rank 0 calls all_reduce sum of 64 f32, rank 1 calls all_reduce max of 64 f32"
    other = "the ranks do not agree: rank 1 calls all_reduce max of 64 f32, rank 0 calls all_reduce sum of 64 f32"
    assert codes == [719, 719]
    assert any(each in library.fault_report() for each in (text, other))
    state = ctypes.c_int()
    program.check(program.rccl.ncclCommGetAsyncError(POINTER(program.communicators[0]), ctypes.byref(state)))
    assert state.value == 5


def test_a_fault_of_one_rank_is_reported_by_every_rank(client, library):
    sums = Sums(client((0, 3)))
    program = sums.program
    sums.memory[1] = 0x10000
    program.group(sums.call)
    codes, reports = [], []
    for stream in program.streams:
        codes.append(program.hip.hipStreamSynchronize(POINTER(stream)))
        reports.append(library.fault_report())
    assert sorted({0, *codes} - {0}) in ([700], [700, 719])
    assert 0 not in codes
    assert any("kernel: reduce_f32" in report for report in reports)


@pytest.mark.parametrize("leaves", ["ncclCommAbort", "ncclCommDestroy"])
def test_what_waits_for_a_rank_that_has_left_fails(client, library, leaves):
    sums = Sums(client((0, 3)))
    program = sums.program
    gone = program.communicators.pop()
    program.check(sums.call(0))
    program.check(program.call(leaves, POINTER(gone)))
    assert program.hip.hipStreamSynchronize(POINTER(program.streams[0])) == 719
    verb = {"ncclCommAbort": "aborted", "ncclCommDestroy": "destroyed"}[leaves]
    assert library.fault_report() == (f"all_reduce sum of 64 f32, rank 0 of 2: rank 1: the communicator was {verb}")


def test_an_aborted_rank_stops_waiting(client):
    sums = Sums(client((0, 3)))
    program = sums.program
    program.check(sums.call(0))
    program.check(program.call("ncclCommAbort", POINTER(program.communicators.pop(0))))
    assert program.hip.hipStreamSynchronize(POINTER(program.streams[0])) == 719
